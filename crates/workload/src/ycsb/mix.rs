//! Which operations there are, and in which shares.

use super::Distribution;
use crate::random::Random;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

/// Shares of the operations in percent, 100 in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix {
    /// Read a record.
    pub read: u32,
    /// Write a new value of a record, as a whole and without reading it.
    pub update: u32,
    /// Add a record.
    pub insert: u32,
    /// Read 1 to 100 records in the order of their keys, each number as likely.
    pub scan: u32,
    /// Read a record, then write a new value of it.
    pub read_modify_write: u32,
}

const NONE: Mix = Mix { read: 0, update: 0, insert: 0, scan: 0, read_modify_write: 0 };

impl Mix {
    /// The mixes that have a name: the core workloads of the paper's table 2, and two of updates.
    pub const NAMED: [(&'static str, Mix); 8] = [
        ("a", Mix { read: 50, update: 50, ..NONE }),
        ("b", Mix { read: 95, update: 5, ..NONE }),
        ("c", Mix { read: 100, ..NONE }),
        ("d", Mix { read: 95, insert: 5, ..NONE }),
        ("e", Mix { scan: 95, insert: 5, ..NONE }),
        ("f", Mix { read: 50, read_modify_write: 50, ..NONE }),
        ("50w", Mix { read: 50, update: 50, ..NONE }),
        ("100w", Mix { update: 100, ..NONE }),
    ];

    /// A mix by its name, in either case, and the distribution that goes with it: the newest for
    /// D, and a Zipf distribution for the others.
    pub fn named(name: &str) -> Option<(Mix, Distribution)> {
        const THETA: f64 = 0.99;
        let is_it = |known: &&(&str, Mix)| known.0.eq_ignore_ascii_case(name);
        let (name, mix) = Mix::NAMED.iter().find(is_it)?;
        let distribution =
            if *name == "d" { Distribution::Latest(THETA) } else { Distribution::Zipf(THETA) };
        Some((*mix, distribution))
    }

    /// Whether the shares are of a whole.
    pub(super) fn is_whole(&self) -> bool {
        let shares = self.shares();
        shares.iter().all(|(_, share)| *share <= 100)
            && shares.iter().map(|(_, share)| share).sum::<u32>() == 100
    }

    /// Draws an operation.
    pub(super) fn draw(&self, random: &mut Random) -> Kind {
        let mut left = random.below(100) as u32;
        for (kind, share) in self.shares() {
            if left < share {
                return kind;
            }
            left -= share;
        }
        Kind::Read
    }

    fn shares(&self) -> [(Kind, u32); 5] {
        [
            (Kind::Read, self.read),
            (Kind::Update, self.update),
            (Kind::Insert, self.insert),
            (Kind::Scan, self.scan),
            (Kind::ReadModifyWrite, self.read_modify_write),
        ]
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
        assert_eq!(Mix::named("D").map(|(_, of)| of), Some(Distribution::Latest(0.99)));
        assert_eq!(Mix::named("100W").map(|(mix, _)| mix.update), Some(100));
        assert_eq!(Mix::named("g"), None);
        assert!(!Mix { read: 99, ..NONE }.is_whole());
    }
}
