//! Traces that are derived from others.

use frostline_trace::{Trim, Writes};

/// The number of pages that become one page in a trace of larger pages.
const AS_ONE: u32 = 4;

/// `count` copies of a trace, each with LBAs of its own; their page writes take turns.
pub(super) fn in_turn(one: &Writes, count: u32) -> Writes {
    let space = one.lbas.iter().max().map_or(0, |&last| last + 1);
    let each = |&lba: &u32| (0..count).map(move |tenant| tenant * space + lba);
    Writes { lbas: one.lbas.iter().flat_map(each).collect(), ..Writes::default() }
}

/// A trace without its first `skipped` page writes, and without the trims among them.
pub(super) fn without_first(one: &Writes, skipped: usize) -> Writes {
    let trims = one.trims.iter().filter(|trim| trim.at >= skipped);
    Writes {
        lbas: one.lbas[skipped..].to_vec(),
        hotness: one.hotness.as_ref().map(|hotness| hotness[skipped..].to_vec()),
        trims: trims.map(|trim| Trim { at: trim.at - skipped, ..*trim }).collect(),
        ..Writes::default()
    }
}

/// A trace for a device whose pages are as large as four of its own. Hotness records, trims and
/// other facts are dropped, because they do not hold for the large pages.
pub(super) fn four_as_one(one: &Writes) -> Writes {
    Writes { lbas: one.lbas.iter().map(|lba| lba / AS_ONE).collect(), ..Writes::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(lbas: &[u32]) -> Writes {
        Writes { lbas: lbas.to_vec(), ..Writes::default() }
    }

    #[test]
    fn tenants_take_turns_at_lbas_of_their_own() {
        assert_eq!(in_turn(&writes(&[0, 2, 1]), 2).lbas, [0, 3, 2, 5, 1, 4]);
    }

    #[test]
    fn a_later_start_leaves_out_the_first_writes_and_trims() {
        let trim = |at| Trim { at, first: 0, last: 0 };
        let one = Writes { trims: vec![trim(1), trim(2), trim(3)], ..writes(&[5, 6, 7, 8]) };
        let later = without_first(&one, 2);
        assert_eq!(later.lbas, [7, 8]);
        assert_eq!(later.trims.iter().map(|trim| trim.at).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn four_pages_are_one() {
        assert_eq!(four_as_one(&writes(&[0, 3, 4, 9])).lbas, [0, 0, 1, 2]);
    }
}
