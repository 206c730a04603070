//! Reading pages, and finding out which there are.

use std::cell::RefCell;
use std::ops::Range;

use frostline_zone::{AlignedBuf, DeviceError};

use crate::StoreError;
use crate::format::PAGE;
use crate::inner::Inner;
use crate::map_cache::LEAF;
use crate::mapped_page::PageLookup;
use crate::records::Span;

impl Inner {
    /// Reads a page; false if it was never written, or was trimmed.
    pub fn read_page(&self, lba: u32, into: &mut [u8]) -> Result<bool, StoreError> {
        let bytes = self.read_record(lba, into)?;
        if let Some(rest) = bytes.and_then(|bytes| into.get_mut(bytes..)) {
            rest.fill(0);
        }
        Ok(bytes.is_some())
    }

    /// Reads the record of a page to the beginning of `into`, in whole units; returns its bytes, or none
    /// if the page was never written, or was trimmed.
    pub fn read_record(&self, lba: u32, into: &mut [u8]) -> Result<Option<usize>, StoreError> {
        self.check_page(lba, into)?;
        let mapped = self.mapped(self.state()?, lba)?;
        let found = mapped.find(into)?;
        drop(mapped);
        let bytes = match found {
            None => None,
            Some(PageLookup::Copied(bytes)) => Some(bytes),
            Some(PageLookup::At { zone, span, sum, pin }) => {
                let record = &mut into[..span.bytes];
                let read = self.read_span(zone, span, record);
                drop(pin);
                read?;
                if crc32c::crc32c(record) != sum {
                    into.fill(0);
                    return Err(StoreError::Checksum { lba, zone, page: span.page });
                }
                Some(span.bytes)
            }
        };
        self.shrink_map()?;
        Ok(bytes)
    }

    /// Reads a record of the device.
    fn read_span(&self, zone: u32, span: Span, into: &mut [u8]) -> Result<(), DeviceError> {
        let at = u64::from(span.page) * PAGE as u64;
        if (span.skip, span.bytes) == (0, PAGE) {
            return self.device.read(zone, at, into);
        }
        // Devices read whole pages.
        thread_local! {
            static PAGES: RefCell<AlignedBuf> = RefCell::new(AlignedBuf::zeroed(2 * PAGE));
        }
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
        for leaf in range.start / LEAF as u32..end.div_ceil(LEAF as u32) {
            let state = self.state()?;
            if state.volume.map().is_blank(leaf) {
                continue;
            }
            let places = self.mapped(state, leaf * LEAF as u32)?.places_of_leaf();
            self.shrink_map()?;
            let lbas = places.into_iter().map(|(lba, _)| lba);
            lbas.filter(|lba| (range.start..end).contains(lba)).for_each(&mut *visit);
        }
        Ok(())
    }
}
