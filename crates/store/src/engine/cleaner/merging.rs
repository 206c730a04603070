//! Cleaning merges: an image that it moves takes the page's delta and tail with it.
//!
//! The merged image bears the time of the last of them, whose content it has. So after a crash the
//! newest of all records counts, as it does for copies. It names that record by its sum, as its
//! content may be that of the image that it replaces: words may have changed and changed back.

use std::cell::RefCell;

use super::Cleaner;
use crate::StoreError;
use crate::engine::core::Guard;
use crate::format::PAGE;
use crate::format::delta::{ChangedWords, time_of};
use crate::format::image::unpack;
use crate::format::packing::Image;
use crate::format::records::{Record, RecordKind};
use crate::state::mapped_page::{MappedPage, RecordCopy};
use crate::sync::thread_local;

thread_local! {
    /// A delta, a tail, and the page that they are merged into.
    static MERGED: RefCell<([Vec<u8>; 2], Vec<u8>)> =
        RefCell::new(([vec![0; PAGE], vec![0; PAGE]], vec![0; PAGE]));
}

impl Cleaner {
    /// Places a copy of a record; that of an image merged with the page's delta and tail, if it has
    /// a delta and both can be read, where the volume has room for that. Nothing happens if the
    /// record lies elsewhere by now.
    pub(super) fn place<'a>(
        &'a self,
        page: MappedPage<Guard<'a>>,
        copy: &RecordCopy<'_>,
    ) -> Result<Guard<'a>, StoreError> {
        let (mut page, is_placed) = match self.core.layout.sizes.kind(copy.record.lba) {
            RecordKind::Image => self.merge(page, copy)?,
            RecordKind::Delta | RecordKind::Tail => (page, false),
        };
        if !is_placed {
            page.relocate(copy)?;
        }
        Ok(page.into_state())
    }

    /// Places a copy of an image merged with its changes. Returns the page, and true if it did.
    fn merge<'a>(
        &'a self,
        mut page: MappedPage<Guard<'a>>,
        copy: &RecordCopy<'_>,
    ) -> Result<(MappedPage<Guard<'a>>, bool), StoreError> {
        let (lba, position) = (copy.record.lba, page.position());
        let number = self.core.layout.sizes.page_of(lba);
        MERGED.with(|merged| {
            let (records, whole) = &mut *merged.borrow_mut();
            loop {
                let places = page.changes();
                if places[0].is_none() || !page.is_at(copy.from) || !page.may_merge() {
                    return Ok((page, false));
                }
                let [delta, tail] = &mut *records;
                let found = (page.find_at(places[0], delta), page.find_at(places[1], tail));
                let (Ok(delta), Ok(tail)) = found else { return Ok((page, false)) };
                drop(page);
                let bytes = readable(self.reader.fetch_all(number, [delta, tail], records))?;
                page = self.loader.mapped_again(self.core.state()?, lba, position)?;
                if page.changes() != places || !page.is_at(copy.from) {
                    continue;
                }
                let Some([delta, tail]) = bytes else { return Ok((page, false)) };
                let changes = [&records[0][..delta], &records[1][..tail]];
                let is_placed = self.place_merged(&mut page, copy, changes, whole)?;
                return Ok((page, is_placed));
            }
        })
    }

    /// Places the image with its delta and tail applied, made in `whole`; false if it is not
    /// placed.
    fn place_merged(
        &self,
        page: &mut MappedPage<Guard<'_>>,
        copy: &RecordCopy<'_>,
        [delta, tail]: [&[u8]; 2],
        whole: &mut [u8],
    ) -> Result<bool, StoreError> {
        let last = if tail.is_empty() { delta } else { tail };
        let is_whole =
            unpack(copy.bytes, whole) && ChangedWords::read([delta, tail], whole).is_some();
        let Some(time) = time_of(last, page.time()).filter(|_| is_whole) else { return Ok(false) };
        let Image { bytes, sum } = Image::of(whole, self.core.layout.sizes, &self.core.packer);
        let other = page.changes().into_iter().flatten().last().map_or(0, |(_, sum)| sum);
        let record = Record { sum, time, bytes: bytes.len() as u16, other, ..copy.record };
        page.merge(&RecordCopy { record, bytes: &bytes, ..*copy })
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
