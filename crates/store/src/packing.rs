//! Pages as records: packed before the state is locked, as far as that can be.

use std::borrow::Cow;

use frostline_placement::Hotness;

use crate::PageWrite;
use crate::compression::Compressor;
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
    /// The words that changed since its base, without their time.
    pub delta: Option<Vec<u8>>,
    image: Option<Image<'a>>,
    compressor: &'a Compressor,
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
    pub fn of(write: &PageWrite<'a>, sizes: Sizes, compressor: &'a Compressor) -> Self {
        let PageWrite { lba, page, hotness, changed } = *write;
        let in_units = sizes.unit().is_some();
        let delta = changed.filter(|_| in_units).and_then(|changed| encode(page, changed));
        let hotness = hotness.unwrap_or_default();
        let mut packed = PackedPage { lba, hotness, page, delta, image: None, compressor };
        if packed.delta.is_none() {
            packed.image(sizes);
        }
        packed
    }

    /// Its image.
    pub fn image(&mut self, sizes: Sizes) -> &Image<'a> {
        let (page, compressor) = (self.page, self.compressor);
        self.image.get_or_insert_with(|| Image::of(page, sizes, compressor))
    }
}

impl<'a> Image<'a> {
    /// The image of a page.
    pub fn of(page: &'a [u8], sizes: Sizes, compressor: &Compressor) -> Image<'a> {
        let unit = sizes.unit().map(|unit| unit as usize);
        let plain = match unit.and_then(|unit| Hole::of(page, unit)) {
            Some(hole) => Cow::Owned(hole.pack(page)),
            None => Cow::Borrowed(page),
        };
        let compressed = unit.and_then(|unit| compress(&plain, unit, compressor));
        let bytes = compressed.map_or(plain, Cow::Owned);
        Image { sum: sizes.sum(&bytes), bytes }
    }
}
