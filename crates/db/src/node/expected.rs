//! The fields of a node that its parent predicts.

use super::layout::LONGEST_KEY;
use super::view::Node;

/// Tree, level and fences that a node must have according to its parent.
pub(crate) struct Expected {
    tree: u32,
    /// None of a root, which may have any level.
    level: Option<usize>,
    lower: Vec<u8>,
    /// None is infinity.
    upper: Option<Vec<u8>>,
}

impl Expected {
    /// Of the root of a tree.
    pub(crate) fn of_root(tree: u32) -> Self {
        Expected { tree, level: None, lower: Vec::new(), upper: None }
    }

    /// Of a child of a node.
    pub(crate) fn of_child(parent: Node<'_>, index: usize) -> Self {
        // Room for a fence and the whole words in which it is copied.
        let room = || Vec::with_capacity(LONGEST_KEY + 8);
        let (mut lower, mut upper) = (room(), room());
        parent.key(index, &mut lower);
        let has_upper = match index + 1 < parent.count() {
            true => {
                parent.key(index + 1, &mut upper);
                true
            }
            false => parent.upper(&mut upper),
        };
        Expected {
            tree: parent.tree(),
            level: parent.level().checked_sub(1),
            lower,
            upper: has_upper.then_some(upper),
        }
    }

    /// The first field in which the node differs from the expected one, if any.
    pub(crate) fn contradiction(&self, node: Node<'_>) -> Option<&'static str> {
        let (is_lower, is_upper) = node.has_fences(&self.lower, self.upper.as_deref());
        let checks = [
            (node.tree() == self.tree, "it says that it is of another tree"),
            (self.level.is_none_or(|level| level == node.level()), "its level is another"),
            (is_lower, "its lower fence is not what its parent says"),
            (is_upper, "its upper fence is not what its parent says"),
        ];
        checks.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
    }
}
