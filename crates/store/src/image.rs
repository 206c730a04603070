//! Images: pages as records of a store in units, without their longest run of zeroes.

use std::ops::Range;

use crate::format::PAGE;

/// Bytes before the page's: where the zeroes begin and their number, 16 bits each.
const HEAD: usize = 4;

/// The zeroes that the image of a page leaves out; none if it is written whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hole {
    at: usize,
    len: usize,
}

impl Hole {
    /// The longest run of zeroes of a page, if units of so many bytes are saved without it.
    pub fn of(page: &[u8], unit: usize) -> Option<Hole> {
        let run = longest_zeroes(page);
        let hole = Hole { at: run.start, len: run.len() };
        (hole.bytes().next_multiple_of(unit) < PAGE).then_some(hole)
    }

    /// Bytes of the image.
    pub fn bytes(self) -> usize {
        HEAD + PAGE - self.len
    }

    /// Writes the image of a page.
    pub fn pack(self, page: &[u8]) -> Vec<u8> {
        let mut image = Vec::with_capacity(self.bytes());
        image.extend((self.at as u16).to_le_bytes());
        image.extend((self.len as u16).to_le_bytes());
        image.extend_from_slice(&page[..self.at]);
        image.extend_from_slice(&page[self.at + self.len..]);
        image
    }
}

/// Unpacks an image, in whole units. False if it is none.
pub fn unpack(image: &[u8], page: &mut [u8]) -> bool {
    if image.len() == PAGE {
        page.copy_from_slice(image);
        return true;
    }
    let Some((&[a, b, c, d], rest)) = image.split_first_chunk::<HEAD>() else { return false };
    let (at, len) = (u16::from_le_bytes([a, b]).into(), usize::from(u16::from_le_bytes([c, d])));
    if at + len > PAGE || PAGE - len > rest.len() {
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

    proptest! {
        #[test]
        fn a_page_is_what_its_image_says(
            filled in prop::collection::vec((0..PAGE, 1..900usize), 0..6),
            unit in prop::sample::select(vec![64, 512, 2048, 4096]),
        ) {
            let mut page = vec![0; PAGE];
            for (begin, len) in filled {
                page[begin..(begin + len).min(PAGE)].fill(7);
            }
            let image = match Hole::of(&page, unit) {
                None => page.clone(),
                Some(hole) => {
                    let mut image = hole.pack(&page);
                    prop_assert_eq!(image.len(), hole.bytes());
                    image.resize(image.len().next_multiple_of(unit), 0);
                    prop_assert!(image.len() < PAGE);
                    image
                }
            };
            let mut read = vec![1; PAGE];
            prop_assert!(unpack(&image, &mut read));
            prop_assert_eq!(read, page);
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
