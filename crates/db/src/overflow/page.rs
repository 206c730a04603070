//! A page of a value.
//!
//! It looks like an empty leaf of no tree, so that recovery, which may come upon it where it looks
//! for the node that the page was before, finds that it is newer. Its bytes are where a node has
//! slots.

use crate::node::{Fences, NodeMut, PAGE_BYTES, PageBytes};

/// Offset of the value's number (u64).
const NUMBER: usize = 64;
/// Offset of the page's place in the value (u32).
const PLACE: usize = 72;
/// Offset of the value's bytes.
const DATA: usize = 80;

/// Bytes of a value in a page.
pub(crate) const PAGE_DATA: usize = PAGE_BYTES - DATA;

/// A page of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageOfValue<'a> {
    /// The value's number.
    pub number: u64,
    /// The page's place among those of the value.
    pub place: u32,
    /// Its bytes of the value; of the last page those behind the value's end are zeroes.
    pub data: &'a [u8],
}

/// Fills a page, which was taken by the log record at `position`.
pub(crate) fn value_page(of: PageOfValue<'_>, position: u64, page: &mut [u8; PAGE_BYTES]) {
    let node = PageBytes::new();
    NodeMut::format(&node, 0, 0, Fences { lower: &[], upper: None }).raise_position(position);
    node.copy_to(page);
    page[NUMBER..PLACE].copy_from_slice(&of.number.to_le_bytes());
    page[PLACE..PLACE + 4].copy_from_slice(&of.place.to_le_bytes());
    let data = &of.data[..of.data.len().min(PAGE_DATA)];
    page[PLACE + 4..].fill(0);
    page[DATA..DATA + data.len()].copy_from_slice(data);
}

impl<'a> PageOfValue<'a> {
    /// What a page has, if it is one of a value.
    pub(crate) fn parse(page: &'a [u8]) -> Option<PageOfValue<'a>> {
        let (head, data) = page.split_at_checked(DATA)?;
        let number = u64::from_le_bytes(head[NUMBER..PLACE].try_into().ok()?);
        let place = u32::from_le_bytes(head[PLACE..PLACE + 4].try_into().ok()?);
        Some(PageOfValue { number, place, data })
    }
}

#[cfg(test)]
mod tests {
    use frostline_store::ChangedWords;

    use super::*;
    use crate::node::Node;

    #[test]
    fn a_page_of_a_value_is_read_as_it_was_written_and_is_a_leaf_to_recovery() {
        let data: Vec<u8> = (0..PAGE_DATA).map(|n| 255 - n as u8).collect();
        let (mut page, of) =
            ([9; PAGE_BYTES], PageOfValue { number: 1 << 62 | 7, place: 3, data: &data });
        value_page(of, 99, &mut page);
        assert_eq!(PageOfValue::parse(&page), Some(of));
        let node = PageBytes::new();
        node.set(&page, &ChangedWords::NONE);
        let node = Node::of(&node);
        assert!(node.is_sound());
        assert_eq!((node.position(), node.count(), node.level(), node.tree()), (99, 0, 0, 0));
    }
}
