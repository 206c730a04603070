//! The operations and their shares.

use crate::random::Random;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    GetNode,
    AddNode,
    UpdateNode,
    DeleteNode,
    GetLinkList,
    CountLink,
    MultigetLink,
    AddLink,
    DeleteLink,
    UpdateLink,
}

/// The names of the kinds.
pub(super) const KINDS: [&str; 10] = [
    "get-node",
    "add-node",
    "update-node",
    "delete-node",
    "get-link-list",
    "count-link",
    "multiget-link",
    "add-link",
    "delete-link",
    "update-link",
];

/// The paper's shares, in thousandths.
const SHARES: [(Kind, u64); 10] = [
    (Kind::GetNode, 129),
    (Kind::AddNode, 26),
    (Kind::UpdateNode, 74),
    (Kind::DeleteNode, 10),
    (Kind::GetLinkList, 507),
    (Kind::CountLink, 49),
    (Kind::MultigetLink, 5),
    (Kind::AddLink, 90),
    (Kind::DeleteLink, 30),
    (Kind::UpdateLink, 80),
];

impl Kind {
    /// Draws a kind of operation.
    pub(super) fn draw(random: &mut Random) -> Kind {
        let mut left = random.below(1000);
        for (kind, share) in SHARES {
            if left < share {
                return kind;
            }
            left -= share;
        }
        Kind::GetLinkList
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_come_in_their_shares() {
        assert_eq!(SHARES.iter().map(|(_, share)| share).sum::<u64>(), 1000);
        let mut random = Random::stream(1, 0);
        let mut counts = [0u64; KINDS.len()];
        (0..1_000_000).for_each(|_| counts[Kind::draw(&mut random) as usize] += 1);
        for (kind, share) in SHARES {
            let found = counts[kind as usize];
            assert!(found.abs_diff(share * 1000) < 2500, "{kind:?}: {found}");
        }
    }
}
