//! The operations and their shares.

use crate::random::Random;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
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
const SHARES: [(RequestKind, u64); 10] = [
    (RequestKind::GetNode, 129),
    (RequestKind::AddNode, 26),
    (RequestKind::UpdateNode, 74),
    (RequestKind::DeleteNode, 10),
    (RequestKind::GetLinkList, 507),
    (RequestKind::CountLink, 49),
    (RequestKind::MultigetLink, 5),
    (RequestKind::AddLink, 90),
    (RequestKind::DeleteLink, 30),
    (RequestKind::UpdateLink, 80),
];

const _: () = {
    let (mut all, mut kind) = (0, 0);
    while kind < SHARES.len() {
        assert!(SHARES[kind].0 as usize == kind, "kinds are in the order of their numbers");
        all += SHARES[kind].1;
        kind += 1;
    }
    assert!(all == 1000 && SHARES.len() == KINDS.len(), "the shares of all kinds");
};

impl RequestKind {
    /// Draws a kind of operation.
    pub(super) fn draw(random: &mut Random) -> RequestKind {
        let mut left = random.below(1000);
        for (kind, share) in SHARES {
            if left < share {
                return kind;
            }
            left -= share;
        }
        RequestKind::GetLinkList
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
        (0..1_000_000).for_each(|_| counts[RequestKind::draw(&mut random) as usize] += 1);
        for (kind, share) in SHARES {
            let found = counts[kind as usize];
            assert!(found.abs_diff(share * 1000) < 2500, "{kind:?}: {found}");
        }
    }
}
