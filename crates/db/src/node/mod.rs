//! A node of a B+-tree in a page: slots with key heads, a heap of records, fences with the common
//! prefix of all keys left out, hints for the search.
//!
//! Nodes are read through [`Node`], also while others change them, and changed through
//! [`NodeMut`]. Inner nodes have the smallest key of each child as its key, the first child's
//! being the node's lower fence; a child's page number is the value.

mod edit;
mod expected;
mod image;
mod layout;
mod page;
mod view;

pub use edit::{Fences, NodeMut, Record};
pub use expected::Expected;
pub use image::{append_image, restore_image};
pub use layout::{LONGEST_KEY, LONGEST_RECORD, OVERFLOW, SLOT, SLOTS};
pub use page::{PAGE_BYTES, PageBytes};
pub use view::{Node, Slot};

#[cfg(test)]
mod tests;
