//! The operations and their shares.

use std::str::FromStr;

use super::Distribution;
use super::distribution::THETA;
use crate::random::Random;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationKind {
    Read,
    Update,
    Insert,
    Scan,
    ReadModifyWrite,
    /// Several operations in one transaction.
    Batch,
}

/// The names of the kinds.
pub(super) const KINDS: [&str; 6] =
    ["read", "update", "insert", "scan", "read-modify-write", "batch"];

const _: () = assert!(OperationKind::Batch as usize + 1 == KINDS.len(), "each kind has a name");

/// Shares of the operations in percent, 100 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Reads a record.
    pub read: u32,
    /// Writes a new value of a record, as a whole and without reading it.
    pub update: u32,
    /// Adds a record.
    pub insert: u32,
    /// Reads 1 to 100 records in the order of their keys; all numbers are equally likely.
    pub scan: u32,
    /// Reads a record, then writes a new value of it.
    pub read_modify_write: u32,
}

const NONE: Mix = Mix { read: 0, update: 0, insert: 0, scan: 0, read_modify_write: 0 };

impl Mix {
    /// The mixes with a name: the core workloads of the paper's table 2, two mixes of
    /// updates, and one of inserts, whose keys are scattered.
    pub const NAMED: [(&'static str, Mix); 9] = [
        ("a", Mix { read: 50, update: 50, ..NONE }),
        ("b", Mix { read: 95, update: 5, ..NONE }),
        ("c", Mix { read: 100, ..NONE }),
        ("d", Mix { read: 95, insert: 5, ..NONE }),
        ("e", Mix { scan: 95, insert: 5, ..NONE }),
        ("f", Mix { read: 50, read_modify_write: 50, ..NONE }),
        (NamedMix::HALF_UPDATES.name, NamedMix::HALF_UPDATES.mix),
        (NamedMix::UPDATES.name, NamedMix::UPDATES.mix),
        ("100i", Mix { insert: 100, ..NONE }),
    ];

    /// True if the shares add up to 100.
    pub(super) fn is_whole(&self) -> bool {
        let shares = self.shares();
        shares.iter().all(|(_, share)| *share <= 100)
            && shares.iter().map(|(_, share)| share).sum::<u32>() == 100
    }

    /// Draws an operation.
    pub(super) fn draw(&self, random: &mut Random) -> OperationKind {
        debug_assert!(self.is_whole(), "the shares add up to 100");
        let mut left = random.below(100) as u32;
        for (kind, share) in self.shares() {
            if left < share {
                return kind;
            }
            left -= share;
        }
        OperationKind::Read
    }

    fn shares(&self) -> [(OperationKind, u32); 5] {
        [
            (OperationKind::Read, self.read),
            (OperationKind::Update, self.update),
            (OperationKind::Insert, self.insert),
            (OperationKind::Scan, self.scan),
            (OperationKind::ReadModifyWrite, self.read_modify_write),
        ]
    }
}

/// A mix with a name, and its distribution: the newest records for D, and a Zipf distribution for
/// the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedMix {
    /// The name, as in [`Mix::NAMED`].
    pub name: &'static str,
    /// The shares of the operations.
    pub mix: Mix,
    /// The choice of records, unless another distribution is given.
    pub distribution: Distribution,
}

impl NamedMix {
    /// 100W: updates only.
    pub const UPDATES: NamedMix = NamedMix {
        name: "100w",
        mix: Mix { update: 100, ..NONE },
        distribution: Distribution::Zipf(THETA),
    };

    /// 50W: as many reads as updates.
    pub const HALF_UPDATES: NamedMix = NamedMix {
        name: "50w",
        mix: Mix { read: 50, update: 50, ..NONE },
        distribution: Distribution::Zipf(THETA),
    };
}

/// No mix has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a workload (known: {known})", known = Mix::NAMED.map(|(name, _)| name).join(" "))]
pub struct UnknownMix(pub String);

impl FromStr for NamedMix {
    type Err = UnknownMix;

    /// Finds a mix by its name, in upper or lower case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Mix::NAMED.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let (name, mix) = known.ok_or_else(|| UnknownMix(text.to_string()))?;
        let distribution = match name {
            "d" => Distribution::Latest(THETA),
            _ => Distribution::Zipf(THETA),
        };
        Ok(NamedMix { name, mix, distribution })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_mixes_are_whole_and_drawn_in_their_shares() {
        let mut random = Random::stream(1, 0);
        for (name, mix) in Mix::NAMED {
            assert!(mix.is_whole(), "{name}");
            let mut counts = [0u32; KINDS.len()];
            (0..100_000).for_each(|_| counts[mix.draw(&mut random) as usize] += 1);
            for (kind, share) in mix.shares() {
                let found = counts[kind as usize];
                assert!(found.abs_diff(share * 1000) < 800, "{name} {kind:?}: {found}");
                assert!(share > 0 || found == 0);
            }
        }
    }

    #[test]
    fn names_are_found_in_either_case() {
        let named = |name: &str| name.parse::<NamedMix>();
        assert_eq!(named("D").map(|found| found.distribution), Ok(Distribution::Latest(0.99)));
        assert_eq!(named("100W").map(|found| found.mix.update), Ok(100));
        let said = named("g").unwrap_err().to_string();
        assert_eq!(said, "\"g\" is not a workload (known: a b c d e f 50w 100w 100i)");
        assert!(!Mix { read: 99, ..NONE }.is_whole());
    }
}
