//! Cleaning merges: an image that it moves takes the page's delta with it.
//!
//! The merged image bears the time of the delta, whose content it has. So after a crash the newest of all
//! records counts, as it does for copies.

use std::cell::RefCell;

use crate::StoreError;
use crate::delta::{apply, time_of};
use crate::format::PAGE;
use crate::image::unpack;
use crate::inner::{Guard, Inner};
use crate::mapped_page::{MappedPage, RecordCopy, RecordLookup};
use crate::packing::Image;
use crate::records::Record;

thread_local! {
    /// A delta, and the page that it is merged into.
    static MERGED: RefCell<(Vec<u8>, Vec<u8>)> = RefCell::new((vec![0; PAGE], vec![0; PAGE]));
}

/// The outcome of a merge.
pub enum Merging<'a> {
    /// The page is placed, or lies elsewhere by now.
    Done(Guard<'a>),
    /// The record is to be copied as it is.
    None(Guard<'a>),
}

impl Inner {
    /// Places a copy of a page's image merged with its delta, if it has one that can be read. A merged
    /// image is larger than the victim's record: without a free zone it might not fit.
    pub fn merge<'a>(
        &'a self,
        state: Guard<'a>,
        copy: &RecordCopy<'_>,
    ) -> Result<Merging<'a>, StoreError> {
        let lba = copy.record.lba;
        if self.layout.sizes.first_delta() == 0 || self.layout.sizes.is_delta(lba) {
            return Ok(Merging::None(state));
        }
        MERGED.with_borrow_mut(|(delta, page)| {
            let mut mapped = self.mapped(state, lba)?;
            loop {
                let place = mapped.delta_place();
                if place.is_none() || !mapped.has_free_zone() {
                    return Ok(Merging::None(mapped.into_state()));
                }
                if !mapped.is_at(copy.from) {
                    return Ok(Merging::Done(mapped.into_state()));
                }
                let bytes = match mapped.find_delta(delta) {
                    Ok(Some(RecordLookup::Copied(bytes))) => bytes,
                    Ok(Some(found)) => {
                        drop(mapped);
                        let read = self.fetch(lba, found, delta);
                        mapped = self.mapped(self.state()?, lba)?;
                        if mapped.delta_place() != place || !mapped.is_at(copy.from) {
                            continue;
                        }
                        match read {
                            Ok(bytes) => bytes,
                            Err(StoreError::Checksum { .. }) => {
                                return Ok(Merging::None(mapped.into_state()));
                            }
                            Err(StoreError::Device(error)) if error.is_of_zone() => {
                                return Ok(Merging::None(mapped.into_state()));
                            }
                            Err(error) => return Err(error),
                        }
                    }
                    Ok(None) | Err(_) => return Ok(Merging::None(mapped.into_state())),
                };
                return self.place_merged(mapped, copy, (&delta[..bytes], page));
            }
        })
    }

    fn place_merged<'a>(
        &'a self,
        mut mapped: MappedPage<Guard<'a>>,
        copy: &RecordCopy<'_>,
        (delta, page): (&[u8], &mut [u8]),
    ) -> Result<Merging<'a>, StoreError> {
        let time = time_of(delta, mapped.time());
        let merged = unpack(copy.bytes, page) && apply(page, delta).is_some();
        let Some(time) = time.filter(|_| merged) else {
            return Ok(Merging::None(mapped.into_state()));
        };
        let Image { bytes, sum } = Image::merged(page, self.layout.sizes);
        let record = Record { sum, time, bytes: bytes.len() as u16, ..copy.record };
        mapped.relocate(&RecordCopy { record, bytes: &bytes, ..*copy })?;
        mapped.forget_delta()?;
        mapped.count_merge();
        Ok(Merging::Done(mapped.into_state()))
    }
}
