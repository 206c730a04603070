//! Power cuts and kills at any moment, from a seed: commits that were waited for are there, of the
//! others the first ones, each whole; the structure is sound, and the database goes on working.
//!
//! Every history is a function of its seed. `FROSTLINE_SEED=n` runs that one alone, and
//! `FROSTLINE_TIMES=n` n times as many crashes.

mod failing;
mod history;
mod life;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_testkit::seeds;
use life::{Life, Size, Tally};

/// The units of stores: whole pages, and others that write what is used or what changed of a page.
const UNITS: [u32; 3] = [4096, 64, 512];

fn live(seed: u64, unit: u32, size: Size, passes: u32, tally: &Tally) {
    let mut life = Life::begin(seed, unit, size, tally);
    (0..passes).for_each(|_| life.pass());
    life.device = Arc::new(life.device.restart().unwrap());
    life.reopen().close().unwrap();
}

#[test]
fn commits_survive_power_cuts_whole_and_in_their_order() {
    survive(&UNITS[..1], 1_700);
}

#[test]
fn commits_to_a_store_with_deltas_survive_power_cuts_whole_and_in_their_order() {
    survive(&UNITS[1..], 850);
}

#[test]
fn commits_to_a_database_over_several_leaves_of_the_map_survive_power_cuts() {
    let tally = Tally::default();
    let wanted = seeds::times(60);
    let is_enough = || tally.crashes.load(Relaxed) >= wanted;
    let lived = seeds::run_until(is_enough, |seed| {
        live(seed, UNITS[seed as usize % UNITS.len()], Size::Large, 10, &tally);
    });
    if lived.is_some() {
        let most_pages = tally.most_pages.load(Relaxed);
        assert!(most_pages > 3 * 1024, "{most_pages} pages");
    }
}

/// Databases on stores in these units live through so many crashes.
fn survive(units: &[u32], crashes: u64) {
    let tally = Tally::default();
    let wanted = seeds::times(crashes);
    let is_enough = || tally.crashes.load(Relaxed) >= wanted;
    let lived = seeds::run_until(is_enough, |seed| {
        live(seed, units[seed as usize % units.len()], Size::Small, 20, &tally);
    });
    let Some(databases) = lived else { return };
    let of = |n: &AtomicU64| n.load(Relaxed);
    println!(
        "{} crashes and {} kills of {} databases, {} in recovery; {} commits, {} pages evicted, changes of {} kept, {} records read or changed without their page, {} of them written unread, {} written by checkpoints, {} in place of copies, {} as deltas, {} of them as tails, and {} merged; {} pages of logs saved by compression",
        of(&tally.crashes),
        of(&tally.kills),
        databases,
        of(&tally.recoveries),
        of(&tally.commits),
        of(&tally.pages_evicted),
        of(&tally.pages_kept),
        of(&tally.records_without_page),
        of(&tally.records_unread),
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
    let unread = &tally.records_unread;
    let deltas = [tails, merged, kept, without_page, unread].map(|count| of(count) > 0);
    assert_eq!(
        deltas, [has_deltas; 5],
        "tails, merges, kept changes, records without their page, and those written unread"
    );
}
