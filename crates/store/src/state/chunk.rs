//! Chunks: a header page, and the records it describes. In memory until they are written.

use frostline_log::{ChunkFill, ChunkShape, Extent};
use frostline_placement::Hotness;
use frostline_zone::AlignedBuf;

use crate::format::head::{BODY, ChunkHead, Head, HeadKind};
use crate::format::records::{ROW, Record, Sizes};
use crate::format::{BESIDE_ROWS, Form, Group, PAGE, Row, Witness, rows};

/// A chunk that is being filled, or is on its way to the device.
pub(crate) struct Chunk {
    /// Zone of the volume.
    pub zone: u32,
    /// Offset of its first page among the zone's pages.
    pub first: u32,
    /// Page of the device's zone where its header goes.
    pub start: u32,
    /// The sizes of the store's records.
    sizes: Sizes,
    shape: ChunkShape,
    /// The header's row of each record.
    pub records: Vec<Record>,
    /// The records' hotness records, if the store has them. Those of deltas and tails stay in
    /// memory.
    pub hotness: Option<Vec<Hotness>>,
    /// Number of the chunk, once it is sealed.
    pub seq: u64,
    /// The sum of the records.
    fill: ChunkFill,
    /// Units of `bytes` before the records: a page, until the chunk is sealed.
    before: u32,
    bytes: AlignedBuf,
}

impl Chunk {
    /// An empty chunk; `bytes` has room for the header and as many pages as it may have records.
    pub(crate) fn new(
        (zone, first, start): (u32, u32, u32),
        sizes: Sizes,
        shape: ChunkShape,
        hotness: bool,
        bytes: AlignedBuf,
    ) -> Self {
        let records = Vec::with_capacity(shape.pages as usize);
        let hotness = hotness.then(Vec::new);
        Chunk {
            zone,
            first,
            start,
            sizes,
            shape,
            records,
            hotness,
            seq: 0,
            fill: ChunkFill::default(),
            before: sizes.page_units(),
            bytes,
        }
    }

    /// Units of its header, as the records are now.
    pub(crate) fn header(&self) -> u32 {
        self.shape.header(&self.fill)
    }

    /// The offset in the zone of the next record.
    pub(crate) fn next(&self) -> u32 {
        self.first * self.sizes.page_units() + self.fill.units
    }

    /// Appends a record: its bytes, and zeroes up to the end of a unit.
    pub(crate) fn push(&mut self, record: Record, hotness: Hotness, bytes: &[u8]) {
        let (bytes, slot) = (&bytes[..record.bytes.into()], self.sizes.unit() as usize);
        assert_eq!(self.seq, 0, "a sealed chunk takes no more records");
        assert!(!bytes.is_empty(), "a record has a byte at least");
        let at = (self.before + self.fill.units) as usize * slot;
        let units = self.sizes.units_of(record.bytes.into());
        let (place, rest) = self.bytes[at..at + units as usize * slot].split_at_mut(bytes.len());
        place.copy_from_slice(bytes);
        rest.fill(0);
        self.fill.add(units, self.sizes.is_delta(record.lba));
        self.records.push(record);
        debug_assert_eq!(self.records.len(), self.fill.records as usize, "each has a row");
        if let Some(all) = &mut self.hotness {
            all.push(hotness);
        }
    }

    /// The content of a record, in whole units.
    pub(crate) fn content(&self, extent: Extent) -> Option<&[u8]> {
        let slot = self.sizes.unit() as usize;
        let from = extent.slot.offset.checked_sub(self.first * self.sizes.page_units())?;
        let ours = extent.slot.zone == self.zone && from + extent.units <= self.fill.units;
        let at = (self.before + from) as usize * slot;
        let len = extent.units as usize * slot;
        ours.then(|| &self.bytes[at..at + len])
    }

    /// Its records and their extents.
    pub(crate) fn extents(&self) -> impl Iterator<Item = (Extent, &Record)> {
        self.sizes.extents(self.zone, self.first, &self.records)
    }

    /// Pages behind the one where its header begins.
    pub(crate) fn pages(&self) -> u32 {
        self.shape.pages_behind(&self.fill)
    }

    /// The page of the device's zone behind it.
    pub(crate) fn end(&self) -> u32 {
        self.start + 1 + self.pages()
    }

    /// Units that are left of its last page.
    pub(crate) fn padding(&self) -> u32 {
        self.shape.padding(&self.fill)
    }

    /// Writes the header. All chunks up to `durable`, and all notes before `noted`, are durable,
    /// and a group may not be. The witness is what it tells of other zones and logs.
    pub(crate) fn seal(
        &mut self,
        store: u64,
        (device_zone, opening): (u32, u64),
        (durable, noted): (u64, u64),
        group: Option<Group>,
        witness: Witness,
    ) {
        assert_ne!(self.seq, 0, "a chunk is sealed that has no number");
        assert!(durable < self.seq, "chunk {} is durable before it is written", self.seq);
        assert_ne!(opening, 0, "openings are counted from 1");
        let with_hotness = self.hotness.as_ref().map_or(self.records.len(), Vec::len);
        assert_eq!(with_hotness, self.records.len(), "each record has a hotness record");
        let (unit, header) = (self.sizes.unit(), self.header());
        let group = Group { unit, ..group.unwrap_or_default() };
        let mut body = Vec::with_capacity(PAGE);
        body.extend_from_slice(bytemuck::bytes_of(&group));
        body.extend_from_slice(bytemuck::bytes_of(&witness));
        for record in &self.records {
            body.extend_from_slice(bytemuck::bytes_of(&record.row(self.sizes)));
        }
        for record in &self.records {
            body.extend_from_slice(bytemuck::bytes_of(&record.form(self.sizes)));
        }
        for (record, hotness) in self.records.iter().zip(self.hotness.iter().flatten()) {
            if !self.sizes.is_delta(record.lba) {
                body.extend_from_slice(bytemuck::bytes_of(hotness));
            }
        }
        self.move_records(header);
        let slot = self.sizes.unit() as usize;
        let room = header as usize * slot - (PAGE - BODY);
        assert!(body.len() <= room, "a header has room for the rows of its records");
        // The sum of the page is over the records in it as well.
        body.resize(room, 0);
        body.extend_from_slice(&self.bytes[header as usize * slot..PAGE]);
        let head = HeadKind::Chunk(ChunkHead {
            seq: self.seq,
            records: self.records.len() as u32,
            pages: self.pages(),
            first: self.first,
            opening,
            durable,
            noted: noted as u32,
            header,
        });
        Head::new(store, device_zone, self.start, head).seal(&mut self.bytes[..PAGE], &body);
    }

    /// Moves the records to right behind the header, and fills the last page up with zeroes.
    fn move_records(&mut self, header: u32) {
        let slot = self.sizes.unit() as usize;
        let [from, to, len] =
            [self.before, header, self.fill.units].map(|slots| slots as usize * slot);
        if from != to {
            self.bytes.copy_within(from..from + len, to);
            self.before = header;
        }
        let end = (1 + self.pages()) as usize * PAGE;
        assert!(to + len <= end && end - to - len < PAGE, "the last page is begun");
        self.bytes[to + len..end].fill(0);
    }

    /// Header and pages, as they go to the device.
    pub(crate) fn bytes(&self) -> &[u8] {
        assert_ne!(self.seq, 0, "a chunk is written that is not sealed");
        &self.bytes[..(1 + self.pages() as usize) * PAGE]
    }

    /// The memory, for another chunk.
    pub(crate) fn into_bytes(self) -> AlignedBuf {
        self.bytes
    }
}

impl ChunkHead {
    /// The records behind the head, and their hotness records if the store has them; those of
    /// deltas and tails are blank. None if they do not fill as many pages as the head says.
    pub(crate) fn records(
        &self,
        body: &[u8],
        sizes: Sizes,
        hotness: bool,
    ) -> Option<(Vec<Record>, Option<Vec<Hotness>>)> {
        let count = self.records as usize;
        let body = &body[BESIDE_ROWS..];
        let behind = |columns: usize| &body[(count.saturating_mul(columns)).min(body.len())..];
        let forms = rows::<Form>(behind(size_of::<Row>()), count);
        let all = rows(body, count).into_iter().zip(forms);
        let all = all.map(|(row, form)| Record::of(row, form, sizes));
        let records = all.collect::<Option<Vec<_>>>()?;
        let units: u32 = records.iter().map(|r| sizes.units_of(r.bytes.into())).sum();
        let hotness = hotness.then(|| {
            let mut of_images = rows(behind(ROW), count).into_iter();
            let of_record = |record: &Record| match sizes.is_delta(record.lba) {
                true => Hotness::default(),
                false => of_images.next().unwrap_or_default(),
            };
            records.iter().map(of_record).collect()
        });
        let pages = self.header.saturating_add(units).div_ceil(sizes.page_units());
        (pages == self.pages.saturating_add(1)).then_some((records, hotness))
    }
}
