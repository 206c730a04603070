//! Keys and rows of the three tables.

use crate::field::Field;

/// A node's number, from 1.
pub(super) type NodeId = u64;
/// A kind of link.
pub(super) type LinkType = u32;

/// The number of kinds of links: the links of a node take them in turn.
pub(super) const LINK_TYPES: LinkType = 2;
/// Average bytes of a node's payload, from the paper's table of sizes.
pub(super) const NODE_PAYLOAD: f64 = 87.6;
/// Average bytes of a link's payload, from the same table.
pub(super) const LINK_PAYLOAD: f64 = 11.6;

/// The links of one kind that go out from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ListId {
    pub(super) from: NodeId,
    pub(super) kind: LinkType,
}

/// A link: its list, and the node that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LinkId {
    pub(super) list: ListId,
    pub(super) to: NodeId,
}

pub(super) fn node_key(id: NodeId) -> [u8; 8] {
    id.to_be_bytes()
}

/// The prefix of the keys of a list's links, and the key of its count.
pub(super) fn list_key(list: ListId) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&list.from.to_be_bytes());
    key[8..].copy_from_slice(&list.kind.to_be_bytes());
    key
}

pub(super) fn link_key(link: LinkId) -> [u8; 20] {
    let mut key = [0; 20];
    key[..12].copy_from_slice(&list_key(link.list));
    key[12..].copy_from_slice(&link.to.to_be_bytes());
    key
}

/// The node whose number is the beginning of a key; `None` if the key is too short.
pub(super) fn leading_node(key: &[u8]) -> Option<NodeId> {
    key.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// The list that is the beginning of a key; `None` if the key is too short.
pub(super) fn leading_list(key: &[u8]) -> Option<ListId> {
    let kind = u32::from_be_bytes(*key.get(8..)?.first_chunk()?);
    Some(ListId { from: leading_node(key)?, kind })
}

pub(super) mod node {
    use super::Field;

    pub(in crate::linkbench) const KIND: Field<u32> = Field::at(0);
    pub(in crate::linkbench) const VERSION: Field<u64> = Field::at(4);
    /// The number of the last transaction, among its worker's, that wrote the row.
    pub(in crate::linkbench) const TIME: Field<u64> = Field::at(12);
    const _: () = assert!(KIND.end() == VERSION.start() && VERSION.end() == TIME.start());
    /// Bytes of fixed fields; the payload follows.
    pub(in crate::linkbench) const FIXED: usize = TIME.end();
}

pub(super) mod link {
    use super::Field;

    /// 1 if the link is visible, 0 if it was deleted: deleted links are only hidden, as in the
    /// paper.
    pub(in crate::linkbench) const VISIBLE: Field<u8> = Field::at(0);
    pub(in crate::linkbench) const VERSION: Field<u32> = Field::at(1);
    /// The number of the last transaction, among its worker's, that wrote the row.
    pub(in crate::linkbench) const TIME: Field<u64> = Field::at(5);
    const _: () = assert!(VISIBLE.end() == VERSION.start() && VERSION.end() == TIME.start());
    /// Bytes of fixed fields; the payload follows.
    pub(in crate::linkbench) const FIXED: usize = TIME.end();
}

pub(super) mod count {
    use super::Field;

    /// The number of visible links in the list.
    pub(in crate::linkbench) const LINKS: Field<u64> = Field::at(0);
    pub(in crate::linkbench) const VERSION: Field<u64> = Field::at(8);
    /// The number of the last transaction, among its worker's, that wrote the row.
    pub(in crate::linkbench) const TIME: Field<u64> = Field::at(16);
    const _: () = assert!(LINKS.end() == VERSION.start() && VERSION.end() == TIME.start());
    pub(in crate::linkbench) const FIXED: usize = TIME.end();
}
