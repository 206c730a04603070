//! Which keys of an absent leaf may have long values.

use crate::mvcc::hash_of;
use crate::node::Node;

/// Keys of a leaf whose values lie elsewhere: a bit of each, which others share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct References(u32);

/// So many keys set nearly all bits, 97 of 100: which they are is not worth their hashes.
const MANY: usize = 64;

impl References {
    /// Bits of the set.
    pub(super) const BITS: u32 = 18;

    /// Any key may be in it.
    pub(super) const ANY: References = References((1 << Self::BITS) - 1);

    /// From the number that [`Self::number`] gave.
    pub(super) const fn of_number(number: u32) -> Self {
        References(number & Self::ANY.0)
    }

    /// The set as a number.
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// The keys of a node that have references.
    pub(super) fn of(node: Node<'_>) -> Self {
        let references = || (0..node.count()).filter(|&index| node.slot(index).is_overflow());
        if references().count() >= MANY {
            return Self::ANY;
        }
        let (mut bits, mut key) = (0, Vec::new());
        for index in references() {
            key.clear();
            node.key(index, &mut key);
            bits |= bit(node.tree(), &key);
        }
        References(bits)
    }

    /// False if a key of the node has no reference for sure.
    pub(super) fn may_have(self, tree: u32, key: &[u8]) -> bool {
        self.0 & bit(tree, key) != 0
    }
}

fn bit(tree: u32, key: &[u8]) -> u32 {
    // The lowest bits of the hash are mixed like the others.
    1 << (hash_of(tree, key) % u64::from(References::BITS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Fences, NodeMut, OVERFLOW, PageBytes, REFERENCE, Record};

    #[test]
    fn each_key_with_a_reference_is_in_the_set_and_few_others_are() {
        let page = PageBytes::zeroed();
        let mut node = NodeMut::format(&page, 9, 0, Fences { lower: &[], upper: None });
        let is_long = |n: u32| n.is_multiple_of(25);
        for n in 0..100u32 {
            let key = n.to_be_bytes();
            let (value, flags): (&[u8], _) =
                if is_long(n) { (&[7; REFERENCE], OVERFLOW) } else { (b"value", 0) };
            assert!(node.push(&key, Record { value, flags }));
        }
        let references = References::of(Node::of(&page));
        let may_have = |n: &u32| references.may_have(9, &n.to_be_bytes());
        assert!((0..100).filter(|&n| is_long(n)).all(|n| may_have(&n)));
        let others = (0..100).filter(|&n| !is_long(n)).filter(may_have).count();
        assert!(others < 40, "{others} of 96 others");
        assert_eq!(References::of_number(references.number()), references);
        assert!((0..100).all(|n: u32| References::ANY.may_have(9, &n.to_be_bytes())));
    }

    #[test]
    fn a_node_with_many_references_may_have_any() {
        let page = PageBytes::zeroed();
        let mut node = NodeMut::format(&page, 9, 0, Fences { lower: &[], upper: None });
        // Keys of one bit, which alone tells where hashes are looked at.
        let keys = (0..u32::MAX).map(u32::to_be_bytes).filter(|key| bit(9, key) == 1);
        for (n, key) in keys.take(MANY).enumerate() {
            let references = References::of(Node::of(&page));
            assert_eq!(references.number(), u32::from(n > 0), "{n} references");
            assert!(node.push(&key, Record { value: &[7; REFERENCE], flags: OVERFLOW }));
        }
        assert_eq!(References::of(Node::of(&page)), References::ANY);
    }
}
