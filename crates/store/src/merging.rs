//! Cleaning merges: an image that it moves takes the page's delta with it.
//!
//! The merged image bears the time of the delta, whose content it has. So after a crash the newest of all
//! records counts, as it does for copies. It names the delta by its sum, as its content may be that of the
//! image that it replaces: words may have changed and changed back.

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
    /// Places a copy of a page's image merged with its delta, if it has one that can be read, where the volume
    /// has room for that.
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
                if !mapped.is_at(copy.from) {
                    return Ok(Merging::Done(mapped.into_state()));
                }
                let place = mapped.delta_place();
                let found = match mapped.may_merge() {
                    true => mapped.find_delta(delta).ok().flatten(),
                    false => None,
                };
                let Some(found) = found else { return Ok(Merging::None(mapped.into_state())) };
                let read = match found {
                    RecordLookup::Copied(bytes) => Some(bytes),
                    RecordLookup::At(_) => {
                        drop(mapped);
                        let read = readable(self.fetch(lba, found, delta))?;
                        mapped = self.mapped(self.state()?, lba)?;
                        if mapped.delta_place() != place || !mapped.is_at(copy.from) {
                            continue;
                        }
                        read
                    }
                };
                return match read {
                    Some(bytes) => self.place_merged(mapped, copy, (&delta[..bytes], page)),
                    None => Ok(Merging::None(mapped.into_state())),
                };
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
        let sizes = self.layout.sizes;
        let Image { bytes, sum } = Image::of(page, sizes, &self.compressor);
        let other = mapped.delta_place().map_or(0, |(_, sum)| sum);
        let record = Record { sum, time, bytes: bytes.len() as u16, other, ..copy.record };
        match mapped.merge(&RecordCopy { record, bytes: &bytes, ..*copy })? {
            true => Ok(Merging::Done(mapped.into_state())),
            false => Ok(Merging::None(mapped.into_state())),
        }
    }
}

/// The result of a read; none if the record can't be read.
fn readable(read: Result<usize, StoreError>) -> Result<Option<usize>, StoreError> {
    match read {
        Err(StoreError::Checksum { .. }) => Ok(None),
        Err(StoreError::Device(error)) if error.is_of_zone() => Ok(None),
        read => read.map(Some),
    }
}
