//! Tables as text, compared with `snapshots`.

use crate::run::Scratch;
use insta::assert_snapshot;

/// Patterns for numbers, and for the blanks that depend on their width.
const NUMBERS: [(&str, &str); 2] = [(r"[+-]?\b\d+(\.\d+)?\b", "N"), (" {2,}", "  ")];

/// Checks a table without its numbers, which depend on layouts, placement and the clock.
fn unnumbered(table: &str, check: impl FnOnce(&str)) {
    insta::with_settings!({ filters => NUMBERS }, { check(table) });
}

#[test]
fn the_bench_of_a_store_shows_what_was_written_by_part() {
    let table = Scratch::new().quiet(
        "bench store --device mem: --size 8MiB --zone 256KiB --workload zipf:1.0 --writes 3000 \
         --scheme nosep --cleaning inline -q",
    );
    unnumbered(&table, |table| assert_snapshot!("bench-store", table));
}

#[test]
fn the_bench_of_databases_shows_transactions_pages_and_conditions() {
    let scratch = Scratch::new();
    let bench = "bench tpcc --warehouses 1 --items 200 --customers 20 --buffer 256KiB -q --in-order \
                 --cleaning inline --device mem: --zone 256KiB --transactions 1000";
    let table = scratch.quiet(bench);
    unnumbered(&table, |table| assert_snapshot!("bench-tpcc", table));
    let unchecked = scratch.quiet(&format!("{bench} --no-check"));
    assert_eq!(unchecked, unchecked.replace("holds", ""), "nothing is checked");
}

#[test]
fn schemes_are_compared_with_the_first() {
    let table = Scratch::new().quiet(
        "bench ycsb --workload f --records 3000 --value-bytes 100 --buffer 256KiB -q --in-order \
         --cleaning inline --device mem: --zone 256KiB --transactions 3000 --scheme nosep,dac",
    );
    unnumbered(&table, |table| assert_snapshot!("bench-ycsb", table));
}

#[test]
fn stores_and_databases_are_described() {
    let scratch = Scratch::new();
    scratch.quiet(
        "bench ycsb --workload a --records 100 --value-bytes 10 --tenants 2 --device file:d \
         --zone 256KiB --transactions 50 --in-order --cleaning inline -q",
    );
    let described = scratch.transcript([
        "store info file:d",
        "store check file:d",
        "store scrub file:d -q",
        "db stats file:d",
        "db check file:d",
    ]);
    unnumbered(&described, |described| assert_snapshot!("described", described));
}

#[test]
fn traces_and_replays_are_described() {
    let scratch = Scratch::new();
    scratch.quiet("gen oltp --pages 4096 --writes 40000 --fill --seed 3 -q -o t.u32");
    let sim = "sim t.u32 --zone 256KiB --no-timing -q --scheme nosep,sepbit,2r-fifo";
    assert_snapshot!(
        "traces",
        scratch.transcript([
            "trace info t.u32 -q".to_string(),
            "trace head t.u32 -n 3".to_string(),
            sim.to_string(),
            format!("{sim} --op 0.2 --no-gain"),
        ])
    );
}
