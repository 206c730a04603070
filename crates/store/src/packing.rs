//! Pages as records: packed before the state is locked, as far as that can be.

use std::borrow::Cow;

use frostline_placement::Hotness;

use crate::PageWrite;
use crate::compression::Compression;
use crate::delta::encode;
use crate::image::{Hole, compress};
use crate::records::Sizes;

/// A page on its way into a chunk, as the records that it may be written as.
pub struct PackedPage<'a> {
    /// Its LBA.
    pub lba: u32,
    /// Its hotness record.
    pub hotness: Hotness,
    page: &'a [u8],
    hole: Option<Hole>,
    /// The words that changed since its base, without their time.
    pub delta: Option<Vec<u8>>,
    image: Option<Image<'a>>,
    compression: &'a Compression,
}

/// The image of a page.
#[derive(Clone)]
pub struct Image<'a> {
    /// Its record.
    pub bytes: Cow<'a, [u8]>,
    /// The sum of the record.
    pub sum: u32,
}

impl<'a> PackedPage<'a> {
    /// Packs a page. The image of one that will probably be written as a delta is packed when it is
    /// asked for.
    pub fn of(write: &PageWrite<'a>, sizes: Sizes, compression: &'a Compression) -> Self {
        let PageWrite { lba, page, hotness, changed } = *write;
        let unit = sizes.unit();
        let hole = unit.and_then(|unit| Hole::of(page, unit as usize));
        let delta = changed.filter(|_| unit.is_some()).and_then(|changed| encode(page, changed));
        let hotness = hotness.unwrap_or_default();
        let mut packed = PackedPage { lba, hotness, page, hole, delta, image: None, compression };
        if packed.delta.is_none() {
            packed.image(sizes);
        }
        packed
    }

    /// Its image.
    pub fn image(&mut self, sizes: Sizes) -> &Image<'a> {
        let (page, hole, compression) = (self.page, self.hole, self.compression);
        self.image.get_or_insert_with(|| Image::of(page, hole, sizes, compression))
    }
}

impl<'a> Image<'a> {
    /// The image of a page with this hole.
    fn of(
        page: &'a [u8],
        hole: Option<Hole>,
        sizes: Sizes,
        compression: &Compression,
    ) -> Image<'a> {
        let plain = match hole {
            Some(hole) => Cow::Owned(hole.pack(page)),
            None => Cow::Borrowed(page),
        };
        let unit = sizes.unit().map(|unit| unit as usize);
        let compressed = unit.and_then(|unit| compress(&plain, unit, compression));
        let bytes = compressed.map_or(plain, Cow::Owned);
        Image { sum: sizes.sum(&bytes), bytes }
    }

    /// The image of a page that cleaning merged of its base and its delta.
    pub fn merged(page: &'a [u8], sizes: Sizes, compression: &Compression) -> Image<'a> {
        Image::of(page, Hole::of(page, sizes.slot_bytes() as usize), sizes, compression)
    }
}
