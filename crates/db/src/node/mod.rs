//! A node of a B+-tree in a page: slots with key heads, a heap of records, fences with the common
//! prefix of all keys left out, hints for the search.
//!
//! Nodes are read through [`Node`], even while others change them, and changed through [`NodeMut`].
//! A record of an inner node has the smallest key of a child as its key and the child's page number
//! as its value. The key of the first child is the node's lower fence.

mod edit;
mod expected;
mod image;
mod layout;
mod page;
mod slot;
mod view;

pub(crate) use edit::{Fences, NodeMut};
pub(crate) use expected::Expected;
pub(crate) use image::{append_image, clear_middle, middle, middle_words, restore_image};
pub(crate) use layout::{
    ACTIVITY_WORDS, GHOST, LONGEST_KEY, LONGEST_RECORD, OVERFLOW, REFERENCE, SLOT, SLOT_ARRAY,
    SLOTS,
};
pub(crate) use page::{PAGE_BYTES, PageBytes};
pub(crate) use slot::{Record, Slot};
pub(crate) use view::Node;

#[cfg(test)]
mod tests;
