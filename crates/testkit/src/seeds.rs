//! Histories that are functions of their seeds, and how many of them tests try.
//!
//! `FROSTLINE_TIMES=n` tries n times as much, `FROSTLINE_FIRST_SEED=n` begins with another seed, and
//! `FROSTLINE_SEED=n` runs one history alone.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::side_by_side;

/// The environment variable of the only seed to run.
const SEED: &str = "FROSTLINE_SEED";

/// The number that an environment variable has.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The only seed that is to be run, if `FROSTLINE_SEED` has one.
pub fn only() -> Option<u64> {
    number(SEED)
}

/// The first of several seeds: 1, or what `FROSTLINE_FIRST_SEED` has.
pub fn first() -> u64 {
    number("FROSTLINE_FIRST_SEED").unwrap_or(1)
}

/// How much is tried of what is usually tried `usual` times: `FROSTLINE_TIMES` times as much.
pub fn times(usual: u64) -> u64 {
    usual * number("FROSTLINE_TIMES").unwrap_or(1).max(1)
}

/// Runs a history; one that panics is named.
pub fn run<T>(seed: u64, live: impl FnOnce(u64) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| live(seed))).unwrap_or_else(|thrown| {
        eprintln!("{SEED}={seed} fails again");
        resume_unwind(thrown)
    })
}

/// The steps of every history there is, which are usually `usual`: each takes about ten times as long.
/// One more from `FROSTLINE_TIMES=3` on, one more from 30 on.
pub fn steps(usual: usize) -> usize {
    usual + (times(10) / 3).ilog10() as usize
}

/// Runs the histories of all these seeds, two at a time. Returns what each gave, in their order.
pub fn each<T: Send>(seeds: Range<u64>, live: impl Fn(u64) -> T + Sync) -> Vec<T> {
    side_by_side::each(seeds, |seed| run(seed, &live))
}

/// Runs one history after another from the first seed, two at a time, until it is enough. Returns how many;
/// none if only one was to be run.
pub fn run_until(is_enough: impl Fn() -> bool + Sync, live: impl Fn(u64) + Sync) -> Option<u64> {
    if let Some(seed) = only() {
        live(seed);
        return None;
    }
    let seeds = AtomicU64::new(first());
    side_by_side::two_at_a_time(|| {
        while !is_enough() {
            run(seeds.fetch_add(1, Relaxed), &live);
        }
    });
    Some(seeds.into_inner() - first())
}
