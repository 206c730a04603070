//! Pages as records: packed before the state is locked, as far as that can be.

use std::borrow::Cow;

use frostline_placement::{FOLLOWING_MOST, Hotness};

use crate::format::delta::ChangedWords;
use crate::format::image::Packer;
use crate::format::records::{RecordKind, Sizes};

/// A page to be written.
#[derive(Clone, Copy, Debug)]
pub struct PageWrite<'a> {
    /// Its LBA.
    pub lba: u32,
    /// Its content, 4,096 bytes.
    pub page: &'a [u8],
    /// Its hotness record, if the engine gave one. Kept only by a store that was formatted with
    /// hotness records.
    pub hotness: Option<Hotness>,
    /// The words in which the content may differ from the page's base, if its writer knows them.
    /// The base is the last content that was written without them; words that changed since are
    /// still changed. A store whose [units](crate::Format::unit) are shorter than a page may then
    /// write these words alone. What other words hold does not matter: they may be read back as
    /// they are in the base.
    pub changed: Option<&'a ChangedWords>,
}

/// What a writer tells of a page besides its content.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    /// Its hotness record.
    pub hotness: Hotness,
    /// Pages of the same request that follow, at most [`FOLLOWING_MOST`].
    pub following: u8,
}

/// The number of pages that follow page `i` of a batch in its request: a request is a run of
/// successive LBAs.
pub(crate) fn following(pages: &[PageWrite<'_>], i: usize) -> u8 {
    let most = usize::from(FOLLOWING_MOST);
    let behind = pages[i..].windows(2).take(most);
    behind.take_while(|two| two[0].lba.checked_add(1) == Some(two[1].lba)).count() as u8
}

/// A page on its way into a chunk, as the records that it may be written as.
pub(crate) struct PackedPage<'a> {
    /// Its LBA.
    pub lba: u32,
    /// What its writer told of it.
    pub told: Told,
    page: &'a [u8],
    /// The words that changed since its base, if the page may be written without the others.
    changed: Option<ChangedWords>,
    /// Its delta or its tail, without a time.
    part: Option<(RecordKind, Vec<u8>)>,
    image: Option<Image<'a>>,
    packer: &'a Packer,
}

/// The image of a page.
#[derive(Clone)]
pub(crate) struct Image<'a> {
    /// Its record.
    pub bytes: Cow<'a, [u8]>,
    /// The sum of the record.
    pub sum: u32,
}

impl<'a> PackedPage<'a> {
    /// Packs a page that so many pages of its request follow. The image of one that will probably
    /// be written as a delta is packed when it is asked for.
    pub(crate) fn of(
        write: &PageWrite<'a>,
        following: u8,
        sizes: Sizes,
        packer: &'a Packer,
    ) -> Self {
        let PageWrite { lba, page, hotness, changed } = *write;
        let changed = changed.filter(|_| sizes.has_deltas());
        let kind = changed.map_or(RecordKind::Image, ChangedWords::kind);
        let changed = changed.filter(|_| kind != RecordKind::Image).copied();
        let told = Told { hotness: hotness.unwrap_or_default(), following };
        let mut packed = PackedPage { lba, told, page, changed, part: None, image: None, packer };
        packed.part = packed.pack(kind).map(|bytes| (kind, bytes));
        if packed.part.is_none() {
            packed.image(sizes);
        }
        packed
    }

    fn pack(&self, kind: RecordKind) -> Option<Vec<u8>> {
        self.changed?.encode(self.page, kind)
    }

    /// Lets the page not be written as a tail; nor as a delta, if `delta` says so.
    pub(crate) fn forbid_tail(&mut self, delta: bool) {
        self.part = self.part.take().filter(|(kind, _)| *kind == RecordKind::Delta && !delta);
        self.changed = self.changed.filter(|_| !delta);
    }

    /// The page's delta or tail, without a time, if it may be written as that.
    pub(crate) fn take(&mut self, kind: RecordKind) -> Option<Vec<u8>> {
        match self.part.take() {
            Some((of, bytes)) if of == kind => Some(bytes),
            Some(other) => {
                self.part = Some(other);
                None
            }
            // In place of a tail.
            None if kind == RecordKind::Delta => self.pack(kind),
            None => None,
        }
    }

    /// Its image.
    pub(crate) fn image(&mut self, sizes: Sizes) -> &Image<'a> {
        let (page, packer) = (self.page, self.packer);
        self.image.get_or_insert_with(|| Image::of(page, sizes, packer))
    }
}

impl<'a> Image<'a> {
    /// The image of a page.
    pub(crate) fn of(page: &'a [u8], sizes: Sizes, packer: &Packer) -> Image<'a> {
        let bytes = packer.image(page, sizes.unit() as usize);
        Image { sum: sizes.sum(&bytes), bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successive_pages_of_a_call_are_one_request() {
        let write = |lba| PageWrite { lba, page: &[], hotness: None, changed: None };
        let pages = [7, 8, 9, 10, 11, 3, 4, u32::MAX, 0].map(write);
        let numbers: Vec<_> = (0..pages.len()).map(|i| following(&pages, i)).collect();
        assert_eq!(numbers, [3, 3, 2, 1, 0, 1, 0, 0, 0]);
    }
}
