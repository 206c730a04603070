//! Changes of records in a leaf: of a commit, or of rows that waited for the leaf.

use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::{Node, NodeMut, OVERFLOW, Record, Slot};

/// True if the leaf has room for the change of a record, which is in this slot if it is there, and
/// beside a new one for `spare` bytes.
pub(crate) fn has_room(
    leaf: &NodeMut<'_>,
    key: &[u8],
    slot: Option<Slot>,
    change: Change<'_>,
    spare: usize,
) -> bool {
    match (change.kind, slot) {
        (WriteKind::Delete | WriteKind::Patch, _) => true,
        (_, Some(slot)) => leaf.node().room() + slot.value_len() >= change.value.len(),
        (_, None) => leaf.fits(key.len(), change.value.len() + spare),
    }
}

/// Appends the record's value, or the reference to its pieces, to `value`.
pub(crate) fn before(node: Node<'_>, slot: Option<Slot>, value: &mut Vec<u8>) -> Lookup {
    let Some(slot) = slot.filter(|slot| !slot.is_ghost()) else { return Lookup::Nothing };
    node.value(slot, value);
    if slot.is_overflow() { Lookup::Overflow } else { Lookup::Value }
}

/// Changes the leaf, which has room. False if there is nothing to change.
pub(crate) fn change_leaf(
    leaf: &mut NodeMut<'_>,
    index: usize,
    found: bool,
    key: &[u8],
    change: Change<'_>,
) -> bool {
    let flags = if change.kind == WriteKind::PutOverflow { OVERFLOW } else { 0 };
    let record = Record { value: change.value, flags };
    match (change.kind, found) {
        (WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow, true) => {
            leaf.set_value(index, key, record);
        }
        (WriteKind::Put | WriteKind::Overwrite | WriteKind::PutOverflow, false) => {
            leaf.insert(index, key, record);
        }
        (WriteKind::Delete, true) => {
            leaf.bury(index);
        }
        (WriteKind::Patch, true) if !leaf.node().slot(index).is_overflow() => {
            change.patches().for_each(|(at, bytes)| leaf.patch(index, at, bytes));
        }
        (WriteKind::Delete | WriteKind::Patch, _) => return false,
    }
    true
}
