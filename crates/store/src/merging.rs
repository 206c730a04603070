//! Cleaning merges: an image that it moves takes the page's delta and tail with it.
//!
//! The merged image bears the time of the last of them, whose content it has. So after a crash the newest of all
//! records counts, as it does for copies. It names that record by its sum, as its content may be that of the
//! image that it replaces: words may have changed and changed back.

use std::cell::RefCell;

use crate::StoreError;
use crate::delta::{ChangedWords, time_of};
use crate::format::PAGE;
use crate::image::unpack;
use crate::inner::{Guard, Inner};
use crate::mapped_page::{MappedPage, RecordCopy};
use crate::packing::Image;
use crate::records::{Record, RecordKind};
use crate::sync::thread_local;

thread_local! {
    /// A delta, a tail, and the page that they are merged into.
    static MERGED: RefCell<([Vec<u8>; 2], Vec<u8>)> =
        RefCell::new(([vec![0; PAGE], vec![0; PAGE]], vec![0; PAGE]));
}

/// The outcome of a merge.
pub enum Merging<'a> {
    /// The page is placed, or lies elsewhere by now.
    Done(Guard<'a>),
    /// The record is to be copied as it is.
    None(Guard<'a>),
}

impl Inner {
    /// Places a copy of a page's image merged with its delta and tail, if it has a delta and both can be read,
    /// where the volume has room for that.
    pub fn merge<'a>(
        &'a self,
        state: Guard<'a>,
        copy: &RecordCopy<'_>,
    ) -> Result<Merging<'a>, StoreError> {
        let lba = copy.record.lba;
        if self.layout.sizes.kind(lba) != RecordKind::Image {
            return Ok(Merging::None(state));
        }
        let page_number = self.layout.sizes.page_of(lba);
        MERGED.with(|merged| {
            let (records, page) = &mut *merged.borrow_mut();
            let mut mapped = self.mapped(state, lba)?;
            loop {
                if !mapped.is_at(copy.from) {
                    return Ok(Merging::Done(mapped.into_state()));
                }
                let places = mapped.changes();
                if places[0].is_none() || !mapped.may_merge() {
                    return Ok(Merging::None(mapped.into_state()));
                }
                let [delta, tail] = &mut *records;
                let found = (
                    mapped.find_part(RecordKind::Delta, delta),
                    mapped.find_part(RecordKind::Tail, tail),
                );
                let (Ok(delta), Ok(tail)) = found else {
                    return Ok(Merging::None(mapped.into_state()));
                };
                drop(mapped);
                let bytes = readable(self.fetch_all(page_number, [delta, tail], records))?;
                mapped = self.mapped(self.state()?, lba)?;
                if mapped.changes() != places || !mapped.is_at(copy.from) {
                    continue;
                }
                return match bytes {
                    Some([delta, tail]) => {
                        let records = [&records[0][..delta], &records[1][..tail]];
                        self.place_merged(mapped, copy, (records, page))
                    }
                    None => Ok(Merging::None(mapped.into_state())),
                };
            }
        })
    }

    fn place_merged<'a>(
        &'a self,
        mut mapped: MappedPage<Guard<'a>>,
        copy: &RecordCopy<'_>,
        ([delta, tail], page): ([&[u8]; 2], &mut [u8]),
    ) -> Result<Merging<'a>, StoreError> {
        let last = if tail.is_empty() { delta } else { tail };
        let merged = unpack(copy.bytes, page) && ChangedWords::read([delta, tail], page).is_some();
        let Some(time) = time_of(last, mapped.time()).filter(|_| merged) else {
            return Ok(Merging::None(mapped.into_state()));
        };
        let sizes = self.layout.sizes;
        let Image { bytes, sum } = Image::of(page, sizes, &self.compressor);
        let other = mapped.changes().into_iter().flatten().last().map_or(0, |(_, sum)| sum);
        let record = Record { sum, time, bytes: bytes.len() as u16, other, ..copy.record };
        match mapped.merge(&RecordCopy { record, bytes: &bytes, ..*copy })? {
            true => Ok(Merging::Done(mapped.into_state())),
            false => Ok(Merging::None(mapped.into_state())),
        }
    }
}

/// The result of reads; none if a record can't be read.
fn readable<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::Checksum { .. }) => Ok(None),
        Err(StoreError::Device(error)) if error.is_of_zone() => Ok(None),
        read => read.map(Some),
    }
}
