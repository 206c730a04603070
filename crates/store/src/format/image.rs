//! Images: pages as records, without their longest run of zeroes and without what their
//! [slots](super::slots) repeat, and compressed where that saves an eighth.

use std::borrow::Cow;
use std::ops::Range;

use crate::format::PAGE;
use crate::format::compression::{Compressor, decompress_lz4, decompress_zstd};
use crate::format::slots::{SlotArray, Slots};
use crate::{Compression, Open};

/// Bytes before the page's: where the zeroes begin and their number, 16 bits each.
const HEAD: usize = 4;

/// Added to the first number if the page's bytes are compressed. How many they are then (16 bits)
/// comes before them.
const COMPRESSED: u16 = 1 << 15;

/// Added as well if they are compressed with zstd, and not with LZ4.
const ZSTD: u16 = 1 << 14;

/// Added if the slots are folded. Where they are comes behind the page's bytes, and is compressed
/// with them.
const FOLDED: u16 = 1 << 13;

/// How the images of a store become short.
#[derive(Debug)]
pub(crate) struct Packer {
    compressor: Compressor,
    slots: Option<SlotArray>,
}

impl Packer {
    /// As a store is opened with.
    pub(crate) fn new(open: &Open) -> Packer {
        Packer { compressor: Compressor::new(open.compression), slots: open.slots }
    }

    /// The image of a page, for a store with units of so many bytes.
    pub(crate) fn image<'a>(&self, page: &'a [u8], unit: usize) -> Cow<'a, [u8]> {
        let plain = plain(page, unit, self.slots);
        compress(&plain, unit, &self.compressor).map_or(plain, Cow::Owned)
    }
}

/// The image of a page, not compressed.
fn plain(page: &[u8], unit: usize, slots: Option<SlotArray>) -> Cow<'_, [u8]> {
    let folded = slots.and_then(|array| folded(page, unit, array));
    let image = folded.or_else(|| Some(ZeroRun::of(page, unit)?.pack(page)));
    image.map_or(Cow::Borrowed(page), Cow::Owned)
}

/// The same with folded slots, if the page has some that can be, and that saves a unit.
fn folded(page: &[u8], unit: usize, array: SlotArray) -> Option<Vec<u8>> {
    let slots = array.of(page)?;
    let page = slots.fold(page)?;
    let hole = ZeroRun::of(&page, unit)?;
    let mut image = hole.pack(&page);
    image.extend(slots.to_bytes());
    let kind = u16::from_le_bytes([image[0], image[1]]) | FOLDED;
    image[..2].copy_from_slice(&kind.to_le_bytes());
    (image.len().next_multiple_of(unit) < PAGE).then_some(image)
}

/// The zeroes that the image of a page leaves out; none if it is written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ZeroRun {
    at: usize,
    len: usize,
}

impl ZeroRun {
    /// The longest run of zeroes of a page, if units of so many bytes are saved without it.
    pub(crate) fn of(page: &[u8], unit: usize) -> Option<ZeroRun> {
        let run = longest_zeroes(page);
        let hole = ZeroRun { at: run.start, len: run.len() };
        (hole.bytes().next_multiple_of(unit) < PAGE).then_some(hole)
    }

    /// Bytes of the image.
    pub(crate) fn bytes(self) -> usize {
        HEAD + PAGE - self.len
    }

    /// Writes the image of a page.
    pub(crate) fn pack(self, page: &[u8]) -> Vec<u8> {
        let mut image = Vec::with_capacity(self.bytes());
        image.extend((self.at as u16).to_le_bytes());
        image.extend((self.len as u16).to_le_bytes());
        image.extend_from_slice(&page[..self.at]);
        image.extend_from_slice(&page[self.at + self.len..]);
        image
    }
}

/// The compressed image of a page, whose image as it is is `plain`; none if that would not save a
/// unit of `unit` bytes and an eighth of the image, which is what makes it worth decompressing, or
/// is not tried.
pub(crate) fn compress(plain: &[u8], unit: usize, compressor: &Compressor) -> Option<Vec<u8>> {
    let (head, bytes) = match plain.len() {
        PAGE => (&[0; HEAD], plain),
        _ => plain.split_first_chunk()?,
    };
    let most = ((plain.len() - 1) / unit * unit).min(plain.len() / 8 * 7);
    let block = compressor.compress(bytes, (most + 1).checked_sub(HEAD + 2)?)?;
    let (mut image, [a, b, c, d]) = (Vec::with_capacity(HEAD + 2 + block.len()), *head);
    let kind = match compressor.compression {
        #[cfg(feature = "zstd")]
        Compression::Zstd => COMPRESSED | ZSTD,
        Compression::None | Compression::Lz4 => COMPRESSED,
    };
    image.extend((u16::from_le_bytes([a, b]) | kind).to_le_bytes());
    image.extend([c, d]);
    image.extend((block.len() as u16).to_le_bytes());
    image.extend(block);
    Some(image)
}

/// True if an image is compressed in a way that this program is built without.
pub(crate) fn is_foreign(image: &[u8]) -> bool {
    let kind = image.first_chunk().map_or(0, |&head| u16::from_le_bytes(head));
    let is_zstd = kind & (COMPRESSED | ZSTD) == COMPRESSED | ZSTD;
    cfg!(not(feature = "zstd")) && image.len() < PAGE && is_zstd
}

/// Unpacks an image, in whole units. False if it is none.
pub(crate) fn unpack(image: &[u8], page: &mut [u8]) -> bool {
    if image.len() == PAGE {
        page.copy_from_slice(image);
        return true;
    }
    try_unpack(image, page).is_some()
}

fn try_unpack(image: &[u8], page: &mut [u8]) -> Option<()> {
    let (&[a, b, c, d], rest) = image.split_first_chunk::<HEAD>()?;
    let (first, len) = (u16::from_le_bytes([a, b]), usize::from(u16::from_le_bytes([c, d])));
    let at = usize::from(first & !(COMPRESSED | ZSTD | FOLDED));
    let end = PAGE.checked_sub(len).filter(|&end| at <= end)?;
    let is_folded = first & FOLDED != 0;
    let bytes = page.get_mut(..end + if is_folded { Slots::HEAD } else { 0 })?;
    match first & (COMPRESSED | ZSTD) {
        0 => bytes.copy_from_slice(rest.get(..bytes.len())?),
        ZSTD => return None,
        kind => {
            let (&[a, b], block) = rest.split_first_chunk()?;
            let block = block.get(..u16::from_le_bytes([a, b]).into())?;
            let is_zstd = kind & ZSTD != 0;
            let decompress = if is_zstd { decompress_zstd } else { decompress_lz4 };
            decompress(block, bytes).then_some(())?;
        }
    }
    let slots = page[end..].first_chunk().copied().filter(|_| is_folded);
    // The bytes behind the zeroes are moved there.
    page.copy_within(at..end, at + len);
    page[at..at + len].fill(0);
    slots.is_none_or(|slots| Slots::of_bytes(slots).unfold(page)).then_some(())
}

/// The longest run of zeroes that has a whole word, or nothing.
fn longest_zeroes(page: &[u8]) -> Range<usize> {
    const WORD: usize = 8;
    let (mut longest, mut begin) = (0..0, 0);
    let words = page.as_chunks::<WORD>().0;
    for (index, word) in words.iter().enumerate() {
        if *word != [0; WORD] {
            if index - begin > longest.len() {
                longest = begin..index;
            }
            begin = index + 1;
        }
    }
    if words.len().saturating_sub(begin) > longest.len() {
        longest = begin..words.len();
    }
    if longest.is_empty() {
        return 0..0;
    }
    let (begin, end) = (longest.start * WORD, longest.end * WORD);
    let before = page[..begin].iter().rev().take_while(|&&byte| byte == 0).count();
    let behind = page[end..].iter().take_while(|&&byte| byte == 0).count();
    begin - before..end + behind
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ARRAY: SlotArray = SlotArray { at: 8, count_at: 0 };

    /// Puts so many records of 16 bytes into a page, and their slots.
    fn put_records(page: &mut [u8], records: u16) {
        page[..2].copy_from_slice(&records.to_le_bytes());
        for n in 0..records {
            let (at, offset) = (8 + 8 * usize::from(n), 600 + 16 * n);
            let key = page[usize::from(offset)..].first_chunk().map(|&key| u32::from_be_bytes(key));
            let head = u64::from(key.unwrap()) >> 1 << 33;
            let word = head | 12 << 22 | 4 << 12 | u64::from(offset);
            page[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }

    const METHODS: [Compression; 2] = [Compression::Lz4, Compression::Zstd];

    fn compress_with(compression: Compression, plain: &[u8], unit: usize) -> Option<Vec<u8>> {
        compress(plain, unit, &Compressor::new(compression))
    }

    #[test]
    fn an_image_is_compressed_where_that_saves_an_eighth() {
        let compressed = |compression, noise: usize| {
            let mut page = vec![7; PAGE];
            for (at, byte) in (0u32..).zip(&mut page[..noise]) {
                *byte = (at.wrapping_mul(0x9e37_79b9) >> 24) as u8 ^ at as u8;
            }
            compress_with(compression, &page, 64).map(|image| image.len())
        };
        for compression in METHODS {
            assert_eq!(compressed(compression, PAGE * 15 / 16), None, "it would save 256 bytes");
            assert!(compressed(compression, PAGE * 3 / 4).is_some_and(|len| len < PAGE * 7 / 8));
        }
    }

    proptest! {
        #[test]
        fn a_page_is_what_its_image_says(
            filled in prop::collection::vec((0..PAGE, 1..900usize), 0..6),
            unit in prop::sample::select(vec![64, 512, 2048, 4096]),
            noise: bool, records in 0..60u16,
        ) {
            let mut page = vec![0; PAGE];
            for (begin, len) in filled {
                let end = (begin + len).min(PAGE);
                (begin..end).for_each(|at| page[at] = if noise { (at * at / 8) as u8 } else { 7 });
            }
            put_records(&mut page, records);
            let plain = plain(&page, unit, (records > 0).then_some(ARRAY)).into_owned();
            prop_assert!(plain.len() == PAGE || plain.len().next_multiple_of(unit) < PAGE);
            let compressed = METHODS.map(|method| compress_with(method, &plain, unit));
            for compressed in compressed.iter().flatten() {
                prop_assert!(compressed.len().div_ceil(unit) < plain.len().div_ceil(unit));
            }
            for mut image in compressed.into_iter().flatten().chain([plain]) {
                image.resize(image.len().next_multiple_of(unit), 0);
                let mut read = vec![1; PAGE];
                prop_assert!(unpack(&image, &mut read));
                prop_assert_eq!(&read, &page);
            }
        }

        #[test]
        fn a_damaged_image_is_an_image_or_refused(
            bytes in prop::collection::vec(0..4u8, 1000..PAGE),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut page = bytes;
            page.resize(PAGE, 0);
            let plain = ZeroRun::of(&page, 64).map_or(page.clone(), |hole| hole.pack(&page));
            for method in METHODS {
                let mut image = compress_with(method, &plain, 64).unwrap();
                let mut into = page.clone();
                prop_assert!(!unpack(&image[..cut.index(image.len())], &mut into));
                // Most damage to the head is refused early.
                let head = damage.len() % 2 * (HEAD + 2);
                for (at, byte) in &damage {
                    let len = image.len() - head;
                    image[head + at.index(len)] = *byte;
                }
                unpack(&image, &mut into);
            }
        }

        #[test]
        fn any_bytes_are_an_image_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..4096)) {
            let mut page = vec![1; PAGE];
            if unpack(&bytes, &mut page) {
                prop_assert!(page.iter().filter(|&&byte| byte != 0).count() <= bytes.len());
            }
        }
    }
}
