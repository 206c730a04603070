//! Images: pages as records, without their longest run of zeroes, and compressed where that saves
//! an eighth.

use std::ops::Range;

use crate::Compression;
use crate::format::PAGE;
use crate::format::compression::{Compressor, decompress_lz4, decompress_zstd};

/// Bytes before the page's: where the zeroes begin and their number, 16 bits each.
const HEAD: usize = 4;

/// Added to the first number if the page's bytes are compressed. How many they are then (16 bits)
/// comes before them.
const COMPRESSED: u16 = 1 << 15;

/// Added as well if they are compressed with zstd, and not with LZ4.
const ZSTD: u16 = 1 << 14;

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
    let Some((&[a, b, c, d], rest)) = image.split_first_chunk::<HEAD>() else { return false };
    let (at, len) = (u16::from_le_bytes([a, b]), usize::from(u16::from_le_bytes([c, d])));
    let (kind, at) = (at & (COMPRESSED | ZSTD), usize::from(at & !(COMPRESSED | ZSTD)));
    if at + len > PAGE {
        return false;
    }
    if kind & COMPRESSED != 0 {
        let decompress = if kind & ZSTD != 0 { decompress_zstd } else { decompress_lz4 };
        let Some((&[a, b], block)) = rest.split_first_chunk() else { return false };
        let block = block.get(..u16::from_le_bytes([a, b]).into());
        // The bytes behind the zeroes are moved there afterwards.
        let is_whole = block.is_some_and(|block| decompress(block, &mut page[..PAGE - len]));
        page.copy_within(at..PAGE - len, at + len);
        page[at..at + len].fill(0);
        return is_whole;
    }
    if kind != 0 || PAGE - len > rest.len() {
        return false;
    }
    page[..at].copy_from_slice(&rest[..at]);
    page[at..at + len].fill(0);
    page[at + len..].copy_from_slice(&rest[at..PAGE - len]);
    true
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
            noise: bool,
        ) {
            let mut page = vec![0; PAGE];
            for (begin, len) in filled {
                let end = (begin + len).min(PAGE);
                (begin..end).for_each(|at| page[at] = if noise { (at * at / 8) as u8 } else { 7 });
            }
            let plain = match ZeroRun::of(&page, unit) {
                None => page.clone(),
                Some(hole) => {
                    let image = hole.pack(&page);
                    prop_assert_eq!(image.len(), hole.bytes());
                    prop_assert!(image.len().next_multiple_of(unit) < PAGE);
                    image
                }
            };
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
