//! Reading pages, and finding out which there are.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use arrayvec::ArrayVec;
use frostline_zone::{AlignedBuf, DeviceError, ZoneRead};

use crate::engine::core::Core;
use crate::engine::map_loader::MapLoader;
use crate::engine::other_copy::repair;
use crate::engine::runs::{Run, ToRead, runs_of};
use crate::error::of_zone;
use crate::format::PAGE;
use crate::format::delta::ChangedWords;
use crate::format::image::{is_foreign, unpack};
use crate::format::records::{RecordKind, Span};
use crate::state::mapped_page::{RecordAt, RecordLookup};
use crate::sync::thread_local;
use crate::{PageDelta, StoreError};

/// Bytes of the pages of the device that hold a record, at most.
const MOST: usize = 2 * PAGE;

/// Records of a page, at most: image, delta and tail.
const PARTS: usize = 3;

/// Pages that are read side by side, at most.
pub(crate) const TOGETHER: usize = 32;

/// Bytes of pages of the device that a thread keeps memory for, at most.
const KEPT: usize = 512 << 10;

thread_local! {
    /// The records of a page, while it is made of them.
    static RECORDS: RefCell<[Vec<u8>; PARTS]> = RefCell::new(room());
    /// Pages of the device that hold a record, or all of a page's.
    static PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(PARTS * MOST));
    /// The same of several pages.
    static TOGETHER_PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::default());
}

/// Memory for the records of a page.
fn room() -> [Vec<u8>; PARTS] {
    [(); PARTS].map(|()| vec![0; PAGE])
}

/// A page that is read together with others.
pub struct PageRead<'a> {
    /// Its LBA.
    pub lba: u32,
    /// Changes of it that were [kept apart](crate::Store::delta) and are not written.
    pub kept: Option<&'a PageDelta>,
    /// Where it goes to, 4,096 bytes.
    pub page: &'a mut [u8],
    /// The words in which it may differ from its base: the read finds them.
    pub changed: ChangedWords,
}

/// The records of a page, where they were found.
#[derive(Default)]
struct FoundParts {
    parts: [Option<RecordLookup>; PARTS],
    /// The contents of those that were in memory.
    copied: [Vec<u8>; PARTS],
    /// Where pages of the device that hold those that were not begin in memory.
    at: [usize; PARTS],
}

impl FoundParts {
    fn new(parts: [Option<RecordLookup>; PARTS], records: &[Vec<u8>; PARTS]) -> FoundParts {
        let copied = std::array::from_fn(|part| match parts[part] {
            Some(RecordLookup::Copied(bytes)) => records[part][..bytes].to_vec(),
            _ => Vec::new(),
        });
        FoundParts { parts, copied, at: [0; PARTS] }
    }

    /// Those that have to be read.
    fn on_device(&mut self) -> impl Iterator<Item = ToRead<'_>> {
        self.parts.iter().zip(&mut self.at).filter_map(|(part, at)| match part {
            Some(RecordLookup::At(record)) => {
                Some(ToRead { zone: record.zone, span: record.span, at })
            }
            _ => None,
        })
    }
}

/// The beginnings of records, of these lengths.
fn beginnings(records: &[Vec<u8>; PARTS], bytes: [usize; PARTS]) -> [&[u8]; PARTS] {
    std::array::from_fn(|part| &records[part][..bytes[part]])
}

/// Reads pages: their records, and those that only parity has.
pub(crate) struct Reader {
    core: Arc<Core>,
    loader: Arc<MapLoader>,
}

impl Reader {
    /// The reader of a store.
    pub(crate) fn new(core: Arc<Core>, loader: Arc<MapLoader>) -> Self {
        Reader { core, loader }
    }

    /// Reads a page, as changes of it make it that an engine kept if there are any, and finds the
    /// words in which it may differ from its base; false if it was never written, or was trimmed.
    pub(crate) fn read_page(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        self.core.check_page(lba, into)?;
        *changed = ChangedWords::NONE;
        RECORDS
            .with(|records| self.read_records(lba, kept, &mut records.borrow_mut(), into, changed))
    }

    /// Reads a page, which is made of its image, its delta and its tail.
    fn read_records(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        records: &mut [Vec<u8>; PARTS],
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let found = self.find_parts(lba, kept, records)?;
        let is_there = found[0].is_some();
        if is_there {
            let bytes = self.fetch_all(lba, found, records)?;
            *changed = self.put_together(lba, kept, beginnings(records, bytes), into)?;
        }
        Ok(is_there)
    }

    /// Finds the records of which a page is made. What was kept is in place of the tail, or of
    /// delta and tail.
    fn find_parts(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        records: &mut [Vec<u8>; PARTS],
    ) -> Result<[Option<RecordLookup>; PARTS], StoreError> {
        let needed = kept.map_or(PARTS, |kept| kept.kind() as usize);
        let mapped = self.loader.mapped(self.core.state()?, lba)?;
        let mut found = [const { None }; PARTS];
        for ((found, place), into) in
            found.iter_mut().zip(mapped.places()).zip(records).take(needed)
        {
            *found = mapped.find_at(place, into)?;
        }
        Ok(found)
    }

    /// Makes a page of its records, and returns the words in which it may differ from its base.
    fn put_together(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        [image, delta, tail]: [&[u8]; PARTS],
        into: &mut [u8],
    ) -> Result<ChangedWords, StoreError> {
        let whole = unpack(image, into);
        let parts = [delta, kept.map_or(tail, PageDelta::record)];
        match ChangedWords::read(parts, into).filter(|_| whole) {
            Some(changed) => Ok(changed),
            None => {
                into.fill(0);
                Err(match is_foreign(image) {
                    true => StoreError::BuiltWithoutZstd { lba },
                    false => StoreError::Lost { lba },
                })
            }
        }
    }

    /// Reads at most [`TOGETHER`] pages, as [`Self::read_page`] reads each, but all their records
    /// that are on the device side by side.
    pub(crate) fn read_pages(&self, reads: &mut [PageRead<'_>]) -> Vec<Result<bool, StoreError>> {
        TOGETHER_PAGES.with(|pages| {
            let pages = &mut *pages.borrow_mut();
            let results = self.read_pages_into(reads, pages);
            if pages.len() > KEPT {
                *pages = AlignedBuf::default();
            }
            results
        })
    }

    /// The same with memory for pages of the device, which grows as it is needed.
    fn read_pages_into(
        &self,
        reads: &mut [PageRead<'_>],
        pages: &mut AlignedBuf,
    ) -> Vec<Result<bool, StoreError>> {
        let find = |read: &PageRead<'_>| {
            self.core.check_page(read.lba, read.page)?;
            RECORDS.with(|records| {
                let records = &mut *records.borrow_mut();
                let found = self.find_parts(read.lba, read.kept, records)?;
                Ok(FoundParts::new(found, records))
            })
        };
        let mut found: Vec<Result<FoundParts, StoreError>> = reads.iter().map(find).collect();
        let on_device = found.iter_mut().flatten().flat_map(FoundParts::on_device);
        let runs = runs_of(on_device.collect());
        let needed = runs.iter().map(|run| run.bytes()).sum();
        if pages.len() < needed {
            *pages = AlignedBuf::zeroed(needed);
        }
        let arrived = self.read_runs(&runs, pages);
        let make = |(read, found): (&mut PageRead<'_>, Result<FoundParts, StoreError>)| {
            let found = found?;
            let is_there = found.parts[0].is_some();
            if is_there {
                read.changed = match arrived {
                    Ok(()) => self.make_of(read, found, pages)?,
                    // One that can't be read must not keep the others away.
                    Err(_) => self.make_alone(read, found)?,
                };
            }
            Ok(is_there)
        };
        reads.iter_mut().zip(found).map(make).collect()
    }

    /// Reads pages of the device, side by side.
    fn read_runs(&self, runs: &[Run], mut pages: &mut [u8]) -> Result<(), StoreError> {
        let mut reads = ArrayVec::<ZoneRead<'_>, { TOGETHER * PARTS }>::new();
        for run in runs {
            let (buffer, rest) = pages.split_at_mut(run.bytes());
            pages = rest;
            let offset = u64::from(run.first) * PAGE as u64;
            reads.push(ZoneRead { zone: run.zone, offset, buffer });
        }
        self.core.counters.count_reads(reads.len() as u64);
        match reads.is_empty() {
            true => Ok(()),
            false => Ok(self.core.device.read_all(&mut reads)?),
        }
    }

    /// Makes a page of its records, those on the device of the pages that were read.
    fn make_of(
        &self,
        read: &mut PageRead<'_>,
        found: FoundParts,
        pages: &mut [u8],
    ) -> Result<ChangedWords, StoreError> {
        let FoundParts { parts, copied, at } = found;
        let mut on_device = [const { None }; PARTS];
        for ((part, at), range) in parts.into_iter().zip(at).zip(&mut on_device) {
            if let Some(RecordLookup::At(record)) = part {
                let begin = at + record.span.skip;
                let own = begin..begin + record.span.bytes;
                self.compare(read.lba, record, &mut pages[own.clone()])?;
                *range = Some(own);
            }
        }
        let pages = &*pages;
        let records = std::array::from_fn(|part| match &on_device[part] {
            Some(own) => &pages[own.clone()],
            None => &copied[part][..],
        });
        self.put_together(read.lba, read.kept, records, read.page)
    }

    /// Makes a page of its records, those on the device read for it alone.
    fn make_alone(
        &self,
        read: &mut PageRead<'_>,
        found: FoundParts,
    ) -> Result<ChangedWords, StoreError> {
        RECORDS.with(|records| {
            let records = &mut *records.borrow_mut();
            for (record, copied) in records.iter_mut().zip(&found.copied) {
                record[..copied.len()].copy_from_slice(copied);
            }
            let bytes = self.fetch_all(read.lba, found.parts, records)?;
            self.put_together(read.lba, read.kept, beginnings(records, bytes), read.page)
        })
    }

    /// True if a page has a delta.
    pub(crate) fn has_delta(&self, lba: u32) -> Result<bool, StoreError> {
        self.core.layout.check_lba(lba)?;
        let mapped = self.loader.mapped(self.core.state()?, lba)?;
        Ok(mapped.place_of(RecordKind::Delta).is_some())
    }

    /// Reads the record of an LBA to the beginning of `into`, in whole units; returns its bytes, or
    /// none if there is none.
    pub(crate) fn read_record(
        &self,
        lba: u64,
        into: &mut [u8],
    ) -> Result<Option<usize>, StoreError> {
        let mapped = self.loader.mapped(self.core.state()?, lba)?;
        let found = mapped.find(into)?;
        drop(mapped);
        let page = self.core.layout.sizes.page_of(lba);
        found.map(|found| self.fetch(page, found, into)).transpose()
    }

    /// Reads a record that was found, unless it is copied already, and compares it with its sum;
    /// returns its bytes.
    pub(crate) fn fetch(
        &self,
        lba: u32,
        found: RecordLookup,
        into: &mut [u8],
    ) -> Result<usize, StoreError> {
        let at = match found {
            RecordLookup::Copied(bytes) => return Ok(bytes),
            RecordLookup::At(at) => at,
        };
        self.core.counters.count_reads(1);
        PAGES.with(|pages| {
            let record = &mut into[..at.span.bytes];
            self.read_span(at.zone, at.span, record, &mut pages.borrow_mut())
        })?;
        self.compare(lba, at, into)
    }

    /// The same for records of a page, those on the device side by side. Of a record that is not
    /// there no bytes are returned.
    pub(crate) fn fetch_all<const N: usize>(
        &self,
        lba: u32,
        found: [Option<RecordLookup>; N],
        into: &mut [Vec<u8>; N],
    ) -> Result<[usize; N], StoreError> {
        PAGES.with(|pages| {
            self.read_side_by_side(found.iter().zip(&mut *into), &mut pages.borrow_mut())
        })?;
        let mut bytes = [0; N];
        for ((bytes, found), into) in bytes.iter_mut().zip(found).zip(into) {
            *bytes = match found {
                None => 0,
                Some(RecordLookup::Copied(bytes)) => bytes,
                Some(RecordLookup::At(at)) => self.compare(lba, at, into)?,
            };
        }
        Ok(bytes)
    }

    /// Reads those of some records that are on the device, with memory for the pages that hold
    /// them.
    fn read_side_by_side<'r>(
        &self,
        records: impl Iterator<Item = (&'r Option<RecordLookup>, &'r mut Vec<u8>)>,
        pages: &mut [u8],
    ) -> Result<(), StoreError> {
        let on_device = records.filter_map(|(found, into)| match found {
            Some(RecordLookup::At(at)) => Some((at.zone, at.span, into)),
            _ => None,
        });
        let mut records: ArrayVec<_, PARTS> = on_device.collect();
        self.core.counters.count_reads(records.len() as u64);
        match &mut records[..] {
            [] => return Ok(()),
            [(zone, span, into)] => {
                return Ok(self.read_span(*zone, *span, &mut into[..span.bytes], pages)?);
            }
            _ => {}
        }
        let mut reads = ArrayVec::<ZoneRead<'_>, PARTS>::new();
        for (&(zone, span, _), pages) in records.iter().zip(pages.chunks_mut(MOST)) {
            let offset = u64::from(span.page) * PAGE as u64;
            reads.push(ZoneRead { zone, offset, buffer: &mut pages[..span.pages() * PAGE] });
        }
        self.core.device.read_all(&mut reads)?;
        drop(reads);
        for ((_, span, into), pages) in records.iter_mut().zip(pages.chunks(MOST)) {
            into[..span.bytes].copy_from_slice(&pages[span.skip..][..span.bytes]);
        }
        Ok(())
    }

    /// Compares a record that was read with its sum; returns its bytes.
    fn compare(&self, lba: u32, at: RecordAt, record: &mut [u8]) -> Result<usize, StoreError> {
        let RecordAt { zone, span, sum, pin } = at;
        let record = &mut record[..span.bytes];
        let sound = crc32c::crc32c(record) == sum || self.repair_record(zone, span, sum, record)?;
        drop(pin);
        if !sound {
            record.fill(0);
            return Err(StoreError::Checksum { lba, zone, page: span.page });
        }
        Ok(span.bytes)
    }

    /// Fills `record` with the content that has this sum, if another copy of one of its pages has
    /// it; false, and `record` is as it was, if not.
    pub(crate) fn repair_record(
        &self,
        zone: u32,
        span: Span,
        sum: u32,
        record: &mut [u8],
    ) -> Result<bool, StoreError> {
        let at = u64::from(span.page) * PAGE as u64;
        let mut pages = AlignedBuf::zeroed(span.pages() * PAGE);
        let within = span.skip..span.skip + span.bytes;
        if of_zone(self.core.device.read(zone, at, &mut pages))?.is_err() {
            return Ok(false);
        }
        let sound = |pages: &[u8]| crc32c::crc32c(&pages[within.clone()]) == sum;
        let found = repair(&*self.core.device, zone, at, &mut pages, &sound)?;
        if found {
            record.copy_from_slice(&pages[within]);
            self.core.counters.count_repaired();
        }
        Ok(found)
    }

    /// Reads a record of the device, with memory for the pages that hold it.
    fn read_span(
        &self,
        zone: u32,
        span: Span,
        into: &mut [u8],
        pages: &mut [u8],
    ) -> Result<(), DeviceError> {
        let at = u64::from(span.page) * PAGE as u64;
        if (span.skip, span.bytes) == (0, PAGE) {
            return self.core.device.read(zone, at, into);
        }
        // Devices read whole pages.
        let pages = &mut pages[..span.pages() * PAGE];
        self.core.device.read(zone, at, pages)?;
        into.copy_from_slice(&pages[span.skip..][..span.bytes]);
        Ok(())
    }

    /// Calls `visit` with every page of a range that there is, in order.
    pub(crate) fn mapped_pages(
        &self,
        range: Range<u32>,
        visit: &mut dyn FnMut(u32),
    ) -> Result<(), StoreError> {
        let leaves = self.leaves_of(&range);
        let mut next = leaves.start;
        while let Some(leaf) = self.loader.next_leaf(next)?.filter(|leaf| leaves.contains(leaf)) {
            let pages = self.loader.pages_of_leaf(leaf)?.into_iter();
            pages.filter(|page| range.contains(page)).for_each(&mut *visit);
            next = leaf + 1;
        }
        Ok(())
    }

    /// Calls `visit` with the part of a range that each leaf of the map has, in order, and with how
    /// many of its pages there are. Leaves that have other pages as well are read, and those whose
    /// pages were not counted.
    pub(crate) fn mapped_counts(
        &self,
        range: Range<u32>,
        visit: &mut dyn FnMut(Range<u32>, u32),
    ) -> Result<(), StoreError> {
        for (leaf, count) in self.loader.counts(self.leaves_of(&range))? {
            let of_leaf = self.core.layout.leaf.pages_of_leaf(leaf);
            let begin = of_leaf.start.max(range.start.into());
            let end = of_leaf.end.min(range.end.into());
            let part = begin as u32..end as u32;
            let count = match count.filter(|_| of_leaf == (begin..end)) {
                Some(count) => count,
                None => {
                    let pages = self.loader.pages_of_leaf(leaf)?;
                    pages.iter().filter(|page| part.contains(page)).count() as u32
                }
            };
            visit(part, count);
        }
        Ok(())
    }

    /// The leaves that have pages of a range.
    fn leaves_of(&self, range: &Range<u32>) -> Range<u32> {
        let of_leaf = self.core.layout.leaf.pages();
        range.start / of_leaf..range.end.div_ceil(of_leaf)
    }
}
