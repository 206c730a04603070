//! Reading pages, and finding out which there are.

use std::cell::RefCell;
use std::ops::Range;

use frostline_zone::{AlignedBuf, DeviceError};

use crate::StoreError;
use crate::delta::{ChangedWords, apply};
use crate::format::PAGE;
use crate::image::unpack;
use crate::inner::Inner;
use crate::mapped_page::{RecordAt, RecordLookup};
use crate::records::Span;

thread_local! {
    /// An image and a delta, while a page is made of them.
    static RECORDS: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::new((vec![0; PAGE], vec![0; PAGE]));
    /// Pages of the device that hold a record.
    static PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(2 * PAGE));
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
        let bytes = self.fetch(lba, base, image)?;
        let mut whole = unpack(&image[..bytes], into);
        if let Some(since) = since {
            let bytes = self.fetch(lba, since, delta)?;
            let words = apply(into, &delta[..bytes]);
            whole &= words.is_some();
            *changed = words.unwrap_or_default();
        }
        match whole {
            true => Ok(true),
            false => {
                into.fill(0);
                Err(StoreError::Lost { lba })
            }
        }
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
        let RecordAt { zone, span, sum, pin } = match found {
            RecordLookup::Copied(bytes) => return Ok(bytes),
            RecordLookup::At(at) => at,
        };
        let record = &mut into[..span.bytes];
        let read = self.read_span(zone, span, record);
        drop(pin);
        read?;
        if crc32c::crc32c(record) != sum {
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
