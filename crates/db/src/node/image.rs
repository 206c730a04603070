//! A page's content without its empty middle, for the log.

use std::ops::Range;

use super::edit::NodeMut;
use super::layout::{COUNT, HEAP, SLOT, SLOTS};
use super::page::{PAGE_BYTES, PageBytes};
use super::view::Node;

/// Appends the page's used bytes to `into`, their number first.
pub(crate) fn append_image(page: &PageBytes, into: &mut Vec<u8>) {
    let (low, high) = used(page);
    into.extend_from_slice(&((low + PAGE_BYTES - high) as u16).to_le_bytes());
    page.append_to(0, low, into);
    page.append_to(high, PAGE_BYTES - high, into);
}

/// Restores a page from an image at the beginning of `bytes`. Returns the bytes behind the image;
/// none if it is not an image of a page.
pub(crate) fn restore_image<'a>(bytes: &'a [u8], page: &PageBytes) -> Option<&'a [u8]> {
    let (len, bytes) = bytes.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_le_bytes(*len));
    let (image, rest) = bytes.split_at_checked(len)?;
    if !(SLOTS..=PAGE_BYTES).contains(&len) {
        return None;
    }
    page.clear(0..PAGE_BYTES);
    page.write(0, &image[..SLOTS]);
    let (low, high) = used(page);
    if low > high || high > PAGE_BYTES || low + PAGE_BYTES - high != len {
        return None;
    }
    page.write(0, &image[..low]);
    page.write(high, &image[low..]);
    Node::of(page).is_sound().then(|| NodeMut::of(page).set_all_hints())?;
    Some(rest)
}

/// Makes the empty middle of a page zeroes, so that a store leaves it out.
pub(crate) fn clear_middle(page: &PageBytes) {
    let (low, high) = used(page);
    if low < high && high <= PAGE_BYTES {
        page.clear(low..high);
    }
}

/// The words that lie in the empty middle of a page.
pub(crate) fn middle_words(page: &PageBytes) -> Range<usize> {
    let (low, high) = used(page);
    let (first, end) = (low.div_ceil(8), high / 8);
    if first < end && high <= PAGE_BYTES { first..end } else { 0..0 }
}

/// The empty middle of a page's copy, which its first bytes tell; at its end if it is no node.
pub(crate) fn middle(page: &[u8]) -> Range<usize> {
    let field = |at: usize| usize::from(u16::from_le_bytes([page[at], page[at + 1]]));
    let (low, high) = (SLOTS + field(COUNT) * SLOT, field(HEAP));
    if low < high && high <= PAGE_BYTES { low..high } else { PAGE_BYTES..PAGE_BYTES }
}

/// The end of the slots and the beginning of the heap.
fn used(page: &PageBytes) -> (usize, usize) {
    let field = |at: usize| usize::from(page.u16_at(at));
    (SLOTS + field(COUNT) * SLOT, field(HEAP))
}
