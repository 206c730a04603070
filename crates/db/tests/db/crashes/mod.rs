//! Power cuts and kills at any moment, from a seed: commits that were waited for are there, of the
//! others the first ones, each whole; the structure is sound, and the database goes on working.
//!
//! Every history is a function of its seed. `FROSTLINE_CRASH_SEED=n` runs that one alone, and
//! `FROSTLINE_CRASHES=n` as many crashes.

mod failing;
mod history;
mod life;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use life::{Life, Tally};

/// The units of stores: whole pages, and others that write what is used or what changed of a page.
const UNITS: [u32; 3] = [4096, 64, 512];

fn live(seed: u64, unit: u32, passes: u32, tally: &Tally) {
    let mut life = Life::begin(seed, unit, tally);
    (0..passes).for_each(|_| life.pass());
    life.device = Arc::new(life.device.restart().unwrap());
    life.reopen().close().unwrap();
}

#[test]
fn commits_survive_power_cuts_whole_and_in_their_order() {
    survive(&UNITS[..1], 5_000);
}

#[test]
fn commits_to_a_store_with_deltas_survive_power_cuts_whole_and_in_their_order() {
    survive(&UNITS[1..], 2_500);
}

/// Databases on stores in these units live through so many crashes.
fn survive(units: &[u32], crashes: u64) {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let tally = Tally::default();
    let wanted = number("FROSTLINE_CRASHES").unwrap_or(crashes);
    let unit = |seed: u64| units[seed as usize % units.len()];
    if let Some(seed) = number("FROSTLINE_CRASH_SEED") {
        live(seed, unit(seed), 20, &tally);
        return;
    }
    let seeds = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while tally.crashes.load(Relaxed) < wanted {
                    let seed = seeds.fetch_add(1, Relaxed);
                    let lived = std::panic::catch_unwind(|| live(seed, unit(seed), 20, &tally));
                    if let Err(thrown) = lived {
                        eprintln!("FROSTLINE_CRASH_SEED={seed} fails again");
                        std::panic::resume_unwind(thrown);
                    }
                }
            });
        }
    });
    let of = |n: &AtomicU64| n.load(Relaxed);
    println!(
        "{} crashes and {} kills of {} databases, {} in recovery; {} commits, {} pages evicted, changes of {} kept, {} records read or changed without their page, {} written by checkpoints, {} in place of copies, {} as deltas, {} of them as tails, and {} merged; {} pages of logs saved by compression",
        of(&tally.crashes),
        of(&tally.kills),
        of(&seeds) - 1,
        of(&tally.recoveries),
        of(&tally.commits),
        of(&tally.pages_evicted),
        of(&tally.pages_kept),
        of(&tally.records_without_page),
        of(&tally.pages_checkpointed),
        of(&tally.pages_rewritten),
        of(&tally.deltas),
        of(&tally.tails),
        of(&tally.deltas_merged),
        of(&tally.log_pages_saved),
    );
    assert!(of(&tally.crashes) >= wanted);
    assert!(of(&tally.log_pages_saved) > 0, "no log was compressed");
    assert!(of(&tally.pages_rewritten) > 0, "cleaning met no page that had changed in memory");
    let has_deltas = units.contains(&64);
    let [tails, merged] = [&tally.tails, &tally.deltas_merged];
    let [kept, without_page] = [&tally.pages_kept, &tally.records_without_page];
    let deltas = [tails, merged, kept, without_page].map(|count| of(count) > 0);
    assert_eq!(
        deltas, [has_deltas; 4],
        "tails, merges, kept changes, and records without their page"
    );
}
