//! Reading pages, and finding out which there are.

use std::cell::RefCell;
use std::ops::Range;

use arrayvec::ArrayVec;
use frostline_zone::{AlignedBuf, DeviceError, ZoneRead};

use crate::delta::{ChangedWords, WordSet, apply};
use crate::error::of_zone;
use crate::format::PAGE;
use crate::image::unpack;
use crate::inner::Inner;
use crate::mapped_page::{RecordAt, RecordLookup};
use crate::other_copy::repair;
use crate::records::{RecordKind, Span};
use crate::sync::thread_local;
use crate::{PageDelta, StoreError};

/// Bytes of the pages of the device that hold a record, at most.
const MOST: usize = 2 * PAGE;

/// Records of a page, at most: image, delta and tail.
const PARTS: usize = 3;

thread_local! {
    /// The records of a page, while it is made of them.
    static RECORDS: RefCell<[Vec<u8>; PARTS]> = RefCell::new([(); PARTS].map(|()| vec![0; PAGE]));
    /// Pages of the device that hold a record, or all of a page's.
    static PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(PARTS * MOST));
}

impl Inner {
    /// Reads a page, as changes of it make it that an engine kept if there are any, and finds the words in which it
    /// may differ from its base; false if it was never written, or was trimmed.
    pub fn read_page(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        self.check_page(lba, into)?;
        *changed = ChangedWords::NONE;
        let found = match self.layout.sizes.unit() {
            None => self.read_record(lba, into)?.is_some(),
            Some(_) => RECORDS.with(|records| {
                self.read_records(lba, kept, &mut records.borrow_mut(), into, changed)
            })?,
        };
        self.shrink_map()?;
        Ok(found)
    }

    /// Reads a page of a store in units, which is made of its image, its delta and its tail. What was kept is in
    /// place of the tail, or of both.
    fn read_records(
        &self,
        lba: u32,
        kept: Option<&PageDelta>,
        records: &mut [Vec<u8>; PARTS],
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let kinds = [RecordKind::Image, RecordKind::Delta, RecordKind::Tail];
        let needed = kept.map_or(PARTS, |kept| kept.kind() as usize);
        let mapped = self.mapped(self.state()?, lba)?;
        let mut found = [const { None }; PARTS];
        for ((found, kind), into) in found.iter_mut().zip(kinds).zip(&mut *records).take(needed) {
            *found = mapped.find_part(kind, into)?;
        }
        drop(mapped);
        if found[0].is_none() {
            return Ok(false);
        }
        let bytes = self.fetch_all(lba, found, records)?;
        let [image, delta, tail] = std::array::from_fn(|part| &records[part][..bytes[part]]);
        let whole = unpack(image, into);
        let mut words_of = |record: &[u8]| match record {
            [] => Some(WordSet::NONE),
            record => apply(into, record),
        };
        // In this order: the tail is of both.
        let delta = words_of(delta);
        let tail = words_of(kept.map_or(tail, PageDelta::record));
        *changed = ChangedWords::read(delta.unwrap_or_default(), tail.unwrap_or_default());
        self.whole(lba, whole && delta.is_some() && tail.is_some(), into)
    }

    /// A page that was made, unless its records are not what they should be.
    fn whole(&self, lba: u32, is_whole: bool, page: &mut [u8]) -> Result<bool, StoreError> {
        match is_whole {
            true => Ok(true),
            false => {
                page.fill(0);
                Err(StoreError::Lost { lba })
            }
        }
    }

    /// True if a page has a delta.
    pub fn has_delta(&self, lba: u32) -> Result<bool, StoreError> {
        self.layout.check_lba(lba)?;
        let mapped = self.mapped(self.state()?, lba)?;
        let has = mapped.place_of(RecordKind::Delta).is_some();
        drop(mapped);
        self.shrink_map()?;
        Ok(has)
    }

    /// Reads the record of an LBA to the beginning of `into`, in whole units; returns its bytes, or none
    /// if there is none.
    pub fn read_record(&self, lba: u32, into: &mut [u8]) -> Result<Option<usize>, StoreError> {
        let mapped = self.mapped(self.state()?, lba)?;
        let found = mapped.find(into)?;
        drop(mapped);
        found.map(|found| self.fetch(lba, found, into)).transpose()
    }

    /// Reads a record that was found, unless it is copied already, and compares it with its sum; returns
    /// its bytes.
    pub fn fetch(
        &self,
        lba: u32,
        found: RecordLookup,
        into: &mut [u8],
    ) -> Result<usize, StoreError> {
        let at = match found {
            RecordLookup::Copied(bytes) => return Ok(bytes),
            RecordLookup::At(at) => at,
        };
        self.counters.count_reads(1);
        self.read_span(at.zone, at.span, &mut into[..at.span.bytes])?;
        self.compare(lba, at, into)
    }

    /// The same for records of a page, those on the device side by side. Of a record that is not there no bytes
    /// are returned.
    pub fn fetch_all<const N: usize>(
        &self,
        lba: u32,
        found: [Option<RecordLookup>; N],
        into: &mut [Vec<u8>; N],
    ) -> Result<[usize; N], StoreError> {
        let on_device = |found: &&Option<RecordLookup>| matches!(found, Some(RecordLookup::At(_)));
        let reads = found.iter().filter(on_device).count();
        if reads > 1 {
            self.counters.count_reads(reads as u64);
            self.read_spans(&found, into)?;
        }
        let mut bytes = [0; N];
        for ((bytes, found), into) in bytes.iter_mut().zip(found).zip(into) {
            *bytes = match found {
                None => 0,
                Some(RecordLookup::At(at)) if reads > 1 => self.compare(lba, at, into)?,
                Some(found) => self.fetch(lba, found, into)?,
            };
        }
        Ok(bytes)
    }

    /// Reads those of some records that are on the device, all at once.
    fn read_spans<const N: usize>(
        &self,
        found: &[Option<RecordLookup>; N],
        into: &mut [Vec<u8>; N],
    ) -> Result<(), DeviceError> {
        PAGES.with(|pages| {
            let mut pages = pages.borrow_mut();
            let at = |found: &Option<RecordLookup>| match found {
                Some(RecordLookup::At(at)) => Some((at.zone, at.span)),
                _ => None,
            };
            let mut reads = ArrayVec::<ZoneRead<'_>, N>::new();
            for ((zone, span), pages) in found.iter().filter_map(at).zip(pages.chunks_mut(MOST)) {
                let offset = u64::from(span.page) * PAGE as u64;
                reads.push(ZoneRead { zone, offset, buffer: &mut pages[..span.pages() * PAGE] });
            }
            self.device.read_all(&mut reads)?;
            drop(reads);
            let spans =
                found.iter().zip(into).filter_map(|(found, into)| Some((at(found)?.1, into)));
            for ((span, into), pages) in spans.zip(pages.chunks(MOST)) {
                into[..span.bytes].copy_from_slice(&pages[span.skip..][..span.bytes]);
            }
            Ok(())
        })
    }

    /// Compares a record that was read with its sum; returns its bytes.
    fn compare(&self, lba: u32, at: RecordAt, record: &mut [u8]) -> Result<usize, StoreError> {
        let RecordAt { zone, span, sum, pin } = at;
        let record = &mut record[..span.bytes];
        let sound = crc32c::crc32c(record) == sum || self.repair_record(zone, span, sum, record)?;
        drop(pin);
        if !sound {
            record.fill(0);
            let lba = self.layout.sizes.page_of(lba);
            return Err(StoreError::Checksum { lba, zone, page: span.page });
        }
        Ok(span.bytes)
    }

    /// Fills `record` with the content that has this sum, if another copy of one of its pages has it; false,
    /// and `record` is as it was, if not.
    pub fn repair_record(
        &self,
        zone: u32,
        span: Span,
        sum: u32,
        record: &mut [u8],
    ) -> Result<bool, StoreError> {
        let at = u64::from(span.page) * PAGE as u64;
        let mut pages = AlignedBuf::zeroed(span.pages() * PAGE);
        let within = span.skip..span.skip + span.bytes;
        if of_zone(self.device.read(zone, at, &mut pages))?.is_err() {
            return Ok(false);
        }
        let sound = |pages: &[u8]| crc32c::crc32c(&pages[within.clone()]) == sum;
        let found = repair(&*self.device, zone, at, &mut pages, &sound)?;
        if found {
            record.copy_from_slice(&pages[within]);
            self.counters.count_repaired();
        }
        Ok(found)
    }

    /// Reads a record of the device.
    fn read_span(&self, zone: u32, span: Span, into: &mut [u8]) -> Result<(), DeviceError> {
        let at = u64::from(span.page) * PAGE as u64;
        if (span.skip, span.bytes) == (0, PAGE) {
            return self.device.read(zone, at, into);
        }
        // Devices read whole pages.
        PAGES.with(|pages| {
            let mut pages = pages.borrow_mut();
            let pages = &mut pages[..span.pages() * PAGE];
            self.device.read(zone, at, pages)?;
            into.copy_from_slice(&pages[span.skip..][..span.bytes]);
            Ok(())
        })
    }

    /// Calls `visit` with every page of a range that there is, in order.
    pub fn mapped_pages(
        &self,
        range: Range<u32>,
        visit: &mut dyn FnMut(u32),
    ) -> Result<(), StoreError> {
        let end = range.end.min(self.layout.fixed.logical_pages as u32);
        let leaves = self.state()?.volume.map().leaves();
        for leaf in leaves.find(range.start).0..leaves.count(end.into()) {
            let state = self.state()?;
            if state.volume.map().is_blank(leaf) {
                continue;
            }
            let places = self.mapped(state, leaves.pages_of(leaf).start)?.places_of_leaf();
            self.shrink_map()?;
            let lbas = places.into_iter().map(|(lba, _)| lba);
            lbas.filter(|lba| (range.start..end).contains(lba)).for_each(&mut *visit);
        }
        Ok(())
    }
}
