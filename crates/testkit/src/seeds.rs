//! Histories that are functions of their seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// The environment variable of the only seed to run.
const SEED: &str = "FROSTLINE_CRASH_SEED";

/// The number that an environment variable has.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The only seed that is to be run, if `FROSTLINE_CRASH_SEED` has one.
pub fn only() -> Option<u64> {
    number(SEED)
}

/// Runs a history; one that panics is named.
pub fn run<T>(seed: u64, live: impl FnOnce(u64) -> T) -> T {
    catch_unwind(AssertUnwindSafe(|| live(seed))).unwrap_or_else(|thrown| {
        eprintln!("{SEED}={seed} fails again");
        resume_unwind(thrown)
    })
}

/// Runs one history after another from seed 1, two at a time, until it is enough. Returns how many;
/// none if only one was to be run.
pub fn run_until(is_enough: impl Fn() -> bool + Sync, live: impl Fn(u64) + Sync) -> Option<u64> {
    if let Some(seed) = only() {
        live(seed);
        return None;
    }
    let seeds = AtomicU64::new(1);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_enough() {
                    run(seeds.fetch_add(1, Relaxed), &live);
                }
            });
        }
    });
    Some(seeds.into_inner() - 1)
}
