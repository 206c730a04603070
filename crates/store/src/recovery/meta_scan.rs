//! Records of the metadata log are found again.

use frostline_zone::{AlignedBuf, Device, ZoneState};

use crate::StoreError;
use crate::engine::meta::MetaLog;
use crate::engine::other_copy::read_verified;
use crate::format::head::{Head, HeadKind, MetaHead, MetaKind};
use crate::format::layout::{Layout, NOTES};
use crate::format::{Note, PAGE, VERSION, rows};

/// A record as it was found.
#[derive(Clone, Debug)]
pub(super) struct MetaRecord {
    /// Its head.
    pub head: MetaHead,
    /// Version of the format that it was written in.
    pub version: u32,
    /// Zone of the device where it lies.
    pub zone: u32,
    /// Page in it.
    pub page: u32,
    /// The bytes behind the head.
    pub body: Vec<u8>,
    /// Place of the payload, counted in pages through all metadata zones.
    pub payload: u32,
}

impl MetaRecord {
    /// The notes in it, if it is one of notes.
    pub(super) fn notes(&self) -> Vec<Note> {
        match self.head.record {
            MetaKind::Notes(_) => {
                let mut notes = rows(&self.body, (self.head.rows as usize).min(NOTES));
                notes.retain(Note::is_possible);
                notes
            }
            _ => Vec::new(),
        }
    }
}

/// The content of a metadata zone.
pub(super) struct MetaZoneScan {
    /// Its place in the ring.
    pub place: usize,
    /// Its records in order, the superblock first.
    pub records: Vec<MetaRecord>,
    /// The page of its next record; none if it takes no more.
    pub next: Option<u32>,
    /// The largest number that stands in it, that of a torn record included.
    pub last_seq: u64,
}

/// Reads the records of a metadata zone, and passes over what a crash tore.
///
/// A torn record may have a whole head, and later ones may have been appended where its payload
/// should be. So a payload is trusted if the record behind it has the next number, which
/// recovery never gives to the first record that it appends; otherwise its sum decides.
pub(super) fn scan(
    device: &dyn Device,
    layout: &Layout,
    store: u64,
    place: usize,
) -> Result<MetaZoneScan, StoreError> {
    let info = device.zone(layout.meta[place])?;
    let pages = match info.state {
        ZoneState::Offline => 0,
        _ => (info.write_pointer / PAGE as u64) as u32,
    };
    let scanner = Scanner { device, layout, store, place, pages };
    let (mut at, mut last_seq, mut records) = (0, 0, Vec::<MetaRecord>::new());
    while at < pages {
        let record = scanner.record_at(at, last_seq)?;
        let Some(record) = record else {
            at += 1;
            continue;
        };
        if record.version > VERSION {
            return Err(StoreError::Newer { found: record.version, known: VERSION });
        }
        last_seq = record.head.seq;
        let whole = scanner.is_whole(at, &record)?;
        at += 1 + if whole { record.head.payload } else { 0 };
        if whole {
            records.push(record);
        }
    }
    let even = info.write_pointer.is_multiple_of(PAGE as u64) && pages > 0;
    let next = (info.state.is_writable() && even).then_some(pages);
    Ok(MetaZoneScan { place, records, next, last_seq })
}

struct Scanner<'a> {
    device: &'a dyn Device,
    layout: &'a Layout,
    store: u64,
    place: usize,
    pages: u32,
}

impl Scanner<'_> {
    /// The record whose head is this page, if it is one with a number after `last_seq`.
    fn record_at(&self, at: u32, last_seq: u64) -> Result<Option<MetaRecord>, StoreError> {
        let zone = self.layout.meta[self.place];
        let mut page = AlignedBuf::zeroed(PAGE);
        let is_head = |page: &[u8]| Head::at(page, self.store, zone, at).is_some();
        read_verified(self.device, zone, u64::from(at) * PAGE as u64, &mut page, &is_head)?;
        let payload = self.place as u32 * self.layout.fixed.device_pages + at + 1;
        Ok(match Head::at(&page, self.store, zone, at) {
            Some((Head { version, kind: HeadKind::Meta(head), .. }, body))
                if head.seq > last_seq =>
            {
                let body = body.to_vec();
                Some(MetaRecord { head, version, zone, page: at, body, payload })
            }
            _ => None,
        })
    }

    fn is_whole(&self, at: u32, record: &MetaRecord) -> Result<bool, StoreError> {
        let MetaHead { payload, seq, sum, .. } = record.head;
        if payload == 0 || payload >= self.pages - at {
            return Ok(payload == 0);
        }
        let behind = at + 1 + payload;
        if behind < self.pages
            && let Some(next) = self.record_at(behind, seq)?
            && next.head.seq == seq + 1
        {
            return Ok(true);
        }
        let sound = |bytes: &[u8]| crc32c::crc32c(bytes) == sum;
        let pages = payload as usize;
        let bytes = MetaLog::read(self.device, self.layout, record.payload, pages, &sound)?;
        Ok(sound(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use frostline_zone::{Shape, in_memory};

    use super::*;
    use crate::Format;
    use crate::format::SUPERBLOCKS;
    use crate::format::head::NotesHead;

    /// A power cut may leave the head of a record, and of its payload nothing. What recovery
    /// appended behind it was once taken for that payload, and lost at the next opening.
    #[test]
    fn records_behind_a_torn_one_are_found() {
        let shape = Shape { bytes: 8 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        let layout = Arc::new(Layout::divide(&*device, &Format::default()).unwrap());
        let empty = || (0..layout.meta.len()).collect();
        let log = |seq, current: Option<(usize, u32)>, empty| {
            let used = current.iter().map(|&(place, _)| place).collect();
            MetaLog::new(device.clone(), layout.clone(), 7, seq, current, used, empty)
        };
        let mut before = log(1, None, empty());
        let each = u64::from(layout.fixed.device_pages - SUPERBLOCKS);
        assert_eq!(before.free_pages(), layout.meta.len() as u64 * each);
        before.append::<u32>(MetaKind::Notes(NotesHead::default()), &[], &[]).unwrap();
        assert_eq!(before.free_pages(), layout.meta.len() as u64 * each - 1);
        let record = MetaKind::Leaves;
        let torn = HeadKind::Meta(MetaHead { seq: 4, rows: 0, payload: 3, sum: 1, record });
        let mut page = AlignedBuf::zeroed(PAGE);
        Head::new(7, layout.meta[0], 3, torn).seal(&mut page, &[]);
        device.append(layout.meta[0], 3 * PAGE as u64, &page).unwrap();

        let seqs =
            |found: &MetaZoneScan| found.records.iter().map(|r| r.head.seq).collect::<Vec<_>>();
        let found = scan(&*device, &layout, 7, 0).unwrap();
        assert_eq!((seqs(&found), found.last_seq, found.next), (vec![1, 2, 3], 4, Some(4)));
        for payload in 0..5 {
            let current = Some((0, scan(&*device, &layout, 7, 0).unwrap().next.unwrap()));
            let last = scan(&*device, &layout, 7, 0).unwrap().last_seq;
            let mut after = log(last + 2, current, VecDeque::new());
            let bytes = vec![payload; usize::from(payload) * PAGE];
            after.append::<u32>(MetaKind::Leaves, &[], &bytes).unwrap();
        }
        let found = scan(&*device, &layout, 7, 0).unwrap();
        assert_eq!(seqs(&found), [1, 2, 3, 6, 8, 10, 12, 14]);
    }
}
