//! Time is counted modulo 2^32; wrapping changes no decision.

use frostline_log::{Counts, Options, PageReplay, Replay as _, Slot, Writes};
use frostline_placement::{Foresight, Scheme, Stamp, victims};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases};
use crate::stub::Stub;

/// Counts and slots of a volume that starts at `start`.
fn outcome<S: Scheme>(case: &Case, scheme: S, start: u32) -> (Counts, Vec<Option<Slot>>) {
    let options = Options { start, ..case.options };
    let mut replay = PageReplay::new(options, scheme, case.policy()).unwrap();
    let all = 0..case.trace.words.len();
    case.trace.replay(&mut replay, &case.trace.writes(), all).unwrap();
    assert_eq!(replay.log().now(), start.wrapping_add(case.trace.words.len() as u32));
    (replay.log_mut().counts().clone(), (0..options.space).map(|lba| replay.slot_of(lba)).collect())
}

struct SameFrom {
    start: u32,
}

impl Check for SameFrom {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        prop_assert_eq!(outcome(case, scheme(), 0), outcome(case, scheme(), self.start));
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_clock_that_wraps_changes_no_decision(
        case in cases(Foresight::None),
        before in 0..1000u32,
    ) {
        case.check(SameFrom { start: u32::MAX - before })?;
    }
}

/// A volume that starts a hundred writes before the first sweep, which happens when the clock
/// passes `sweep`.
fn before_sweep(sweep: u32) -> PageReplay<Stub> {
    let options = Options { start: sweep.wrapping_sub(100), ..Options::elastic(16, 64, 0.9) };
    let policy = victims::build("greedy", 0).unwrap();
    PageReplay::new(options, Stub::new(1), policy).unwrap()
}

#[test]
fn a_sweep_clamps_the_written_pages_once() {
    let mut replay = before_sweep(0);
    let words: Vec<u32> = (0..32).cycle().take(200).collect();
    replay.write(&Writes::new(&words), 0..99).unwrap();
    assert!(replay.log().scheme().seen.values().all(|page| page.clamps == 0));
    replay.write(&Writes::new(&words), 99..200).unwrap();
    replay.write(&Writes::new(&[40]), 0..1).unwrap();
    assert!((0..32).all(|lba| replay.log().scheme().seen[&lba].clamps == 1));
    assert_eq!(replay.log().scheme().seen[&40].clamps, 0, "not written before the sweep");
}

#[test]
fn a_sweep_clamps_the_times_of_zones() {
    let mut replay = before_sweep(1 << 31);
    let words: Vec<u32> = (0..64).cycle().take(100).collect();
    replay.write(&Writes::new(&words), 0..100).unwrap();
    // The table has zones that were never sealed as sealed at time 0.
    assert_eq!(replay.log().now() - replay.log().zones().sealed_at(0), Stamp::HORIZON);
    assert_eq!(replay.log().now() - replay.log().zones().sealed_at(1), 84);
}
