//! Reading pages, and finding out which there are.

use std::cell::RefCell;
use std::ops::Range;

use frostline_zone::{AlignedBuf, DeviceError, ZoneRead};

use crate::StoreError;
use crate::delta::{ChangedWords, apply};
use crate::format::PAGE;
use crate::image::unpack;
use crate::inner::Inner;
use crate::mapped_page::{RecordAt, RecordLookup};
use crate::records::Span;

/// Bytes of the pages of the device that hold a record, at most.
const MOST: usize = 2 * PAGE;

thread_local! {
    /// An image and a delta, while a page is made of them.
    static RECORDS: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::new((vec![0; PAGE], vec![0; PAGE]));
    /// Pages of the device that hold a record, or two.
    static PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(2 * MOST));
}

impl Inner {
    /// Reads a page, and finds the words in which it differs from its base; false if it was never written,
    /// or was trimmed.
    pub fn read_page(
        &self,
        lba: u32,
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        self.check_page(lba, into)?;
        *changed = ChangedWords::NONE;
        let found = match self.layout.sizes.unit() {
            None => self.read_record(lba, into)?.is_some(),
            Some(_) => RECORDS.with_borrow_mut(|(image, delta)| {
                self.read_records(lba, image, delta, into, changed)
            })?,
        };
        self.shrink_map()?;
        Ok(found)
    }

    /// Reads a page of a store in units, which is made of its image and its delta.
    fn read_records(
        &self,
        lba: u32,
        image: &mut [u8],
        delta: &mut [u8],
        into: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let mapped = self.mapped(self.state()?, lba)?;
        let (base, since) = (mapped.find_image(image)?, mapped.find_delta(delta)?);
        drop(mapped);
        let Some(base) = base else { return Ok(false) };
        let Some(since) = since else { return self.read_image(lba, base, image, into) };
        let (of_image, of_delta) = self.fetch_both(lba, (base, image), (since, delta))?;
        let whole = unpack(&image[..of_image], into);
        let words = apply(into, &delta[..of_delta]);
        *changed = words.unwrap_or_default();
        self.whole(lba, whole && words.is_some(), into)
    }

    /// Reads the base of a page; false if there is no page.
    pub fn read_base(&self, lba: u32, into: &mut [u8]) -> Result<bool, StoreError> {
        if self.layout.sizes.unit().is_none() {
            return self.read_page(lba, into, &mut ChangedWords::NONE.clone());
        }
        self.check_page(lba, into)?;
        let found = RECORDS.with_borrow_mut(|(image, _)| {
            let mapped = self.mapped(self.state()?, lba)?;
            let base = mapped.find_image(image)?;
            drop(mapped);
            base.map_or(Ok(false), |base| self.read_image(lba, base, image, into))
        })?;
        self.shrink_map()?;
        Ok(found)
    }

    /// Makes a page of an image that was found.
    fn read_image(
        &self,
        lba: u32,
        base: RecordLookup,
        image: &mut [u8],
        into: &mut [u8],
    ) -> Result<bool, StoreError> {
        let bytes = self.fetch(lba, base, image)?;
        self.whole(lba, unpack(&image[..bytes], into), into)
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
        let has = mapped.delta_place().is_some();
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

    /// The same for the image and the delta of a page, side by side if both are read.
    fn fetch_both(
        &self,
        lba: u32,
        (base, image): (RecordLookup, &mut [u8]),
        (since, delta): (RecordLookup, &mut [u8]),
    ) -> Result<(usize, usize), StoreError> {
        let (base, since) = match (base, since) {
            (RecordLookup::At(base), RecordLookup::At(since)) => (base, since),
            (base, since) => {
                return Ok((self.fetch(lba, base, image)?, self.fetch(lba, since, delta)?));
            }
        };
        self.counters.count_reads(2);
        PAGES.with_borrow_mut(|pages| {
            let (one, other) = pages.split_at_mut(MOST);
            let read = |at: &RecordAt, pages| {
                let (span, zone) = (at.span, at.zone);
                let buffer: &mut [u8] = pages;
                let offset = u64::from(span.page) * PAGE as u64;
                ZoneRead { zone, offset, buffer: &mut buffer[..span.pages() * PAGE] }
            };
            self.device.read_all(&mut [read(&base, &mut *one), read(&since, &mut *other)])?;
            for (span, pages, into) in
                [(base.span, one, &mut *image), (since.span, other, &mut *delta)]
            {
                into[..span.bytes].copy_from_slice(&pages[span.skip..][..span.bytes]);
            }
            Ok::<(), DeviceError>(())
        })?;
        Ok((self.compare(lba, base, image)?, self.compare(lba, since, delta)?))
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

    /// Reads a record of the device.
    fn read_span(&self, zone: u32, span: Span, into: &mut [u8]) -> Result<(), DeviceError> {
        let at = u64::from(span.page) * PAGE as u64;
        if (span.skip, span.bytes) == (0, PAGE) {
            return self.device.read(zone, at, into);
        }
        // Devices read whole pages.
        PAGES.with_borrow_mut(|pages| {
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
