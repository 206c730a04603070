//! A node's content, for the log; and the empty middle of its page, for the store.

use std::ops::Range;

use super::edit::{Fences, NodeMut};
use super::layout::*;
use super::page::{PAGE_BYTES, PageBytes};
use super::slot::{Record, Slot};
use super::view::Node;
use crate::number::{put_number, take, take_number};

/// Appends a node's content to `into`. There are no slots: heads and places follow from the records
/// and their lengths, which most have in common with the one before.
pub(crate) fn append_image(page: &PageBytes, into: &mut Vec<u8>) {
    let node = Node::of(page);
    into.extend_from_slice(&node.tree().to_le_bytes());
    into.extend_from_slice(&[node.level() as u8, page.u16_at(STEPS_AND_LEVEL) as u8]);
    into.extend_from_slice(&node.included().to_le_bytes());
    put_number(page.u16_at(ASCENDING).into(), into);
    let mut fence = Vec::new();
    node.lower(&mut fence);
    put_number(fence.len(), into);
    into.extend_from_slice(&fence);
    let has_upper = node.upper(&mut fence);
    put_number(usize::from(has_upper) + fence.len(), into);
    into.extend_from_slice(&fence);
    put_number(node.count(), into);
    let mut next = 0;
    while next < node.count() {
        let begin = next;
        let [key, value] = lengths(node, begin);
        while next < node.count() && lengths(node, next) == [key, value] {
            next += 1;
        }
        [next - begin, key, value].into_iter().for_each(|number| put_number(number, into));
        for slot in (begin..next).map(|index| node.slot(index)) {
            page.append_to(slot.offset(), slot.bytes(), into);
        }
    }
}

/// The length of a record's key without the prefix, and what its slot has as the value's.
fn lengths(node: Node<'_>, index: usize) -> [usize; 2] {
    let slot = node.slot(index);
    [slot.key_len(), slot.value.into()]
}

/// Restores a node from an image at the beginning of `bytes`. Returns the bytes behind the image;
/// none if it is not an image of a node.
pub(crate) fn restore_image<'a>(mut bytes: &'a [u8], page: &PageBytes) -> Option<&'a [u8]> {
    let rest = &mut bytes;
    let tree = u32::from_le_bytes(take(rest)?);
    let [level, steps] = take(rest)?;
    let included = u64::from_le_bytes(take(rest)?);
    let last = u16::try_from(take_number(rest)?).ok()?;
    let lower = take_number(rest).and_then(|len| take_fence(rest, len))?;
    let upper = match take_number(rest)? {
        0 => None,
        more => Some(take_fence(rest, more - 1)?),
    };
    page.clear(0..PAGE_BYTES);
    let mut node = NodeMut::format(page, tree, level.into(), Fences { lower, upper });
    let count = take_number(rest)?;
    while node.node().count() < count {
        push_run(&mut node, count, rest)?;
    }
    node.include(included);
    node.set_ascending(last.into(), steps.into());
    node.set_all_hints();
    node.node().is_sound().then_some(*rest)
}

/// Takes a fence off the beginning of `bytes`.
fn take_fence<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (fence, rest) = bytes.split_at_checked(len).filter(|_| len <= LONGEST_KEY)?;
    *bytes = rest;
    Some(fence)
}

/// Appends records of equal lengths to a node, which has `count` in the end. None if they do not
/// belong there.
fn push_run(node: &mut NodeMut<'_>, count: usize, bytes: &mut &[u8]) -> Option<()> {
    let [records, key_len] = [take_number(bytes)?, take_number(bytes)?];
    let value = u16::try_from(take_number(bytes)?).ok()?;
    let slot = Slot { offset: 0, key: key_len, value };
    if records == 0 || records > count - node.node().count() || value > GHOST {
        return None;
    }
    let mut key = Vec::new();
    for _ in 0..records {
        let (record, rest) = bytes.split_at_checked(slot.bytes())?;
        *bytes = rest;
        key.clear();
        node.node().prefix(&mut key);
        key.extend_from_slice(&record[..key_len]);
        let belongs = node.node().covers(&key) && node.is_behind(node.node().count(), &key);
        let record = Record { value: &record[key_len..], flags: slot.flags() };
        (belongs && node.push(&key, record)).then_some(())?;
    }
    Some(())
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
