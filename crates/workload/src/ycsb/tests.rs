//! The benchmark on the memory engine.

use super::*;
use crate::driver::{self, Report, Until};
use crate::memory::MemoryEngine;
use crate::{Access, Transaction};

const SMALL: YcsbOptions = YcsbOptions {
    mix: Mix::NAMED[0].1,
    distribution: Distribution::Zipf(0.99),
    records: 3000,
    value_bytes: 100,
    operations_per_transaction: 1,
    drawn_together: 1,
    load_order: LoadOrder::Hashed,
};

fn loaded(engine: &MemoryEngine, options: YcsbOptions) -> Ycsb<usize> {
    let ycsb = Ycsb::open(engine, options).unwrap();
    let loading = Loading { threads: 2, seed: 1 };
    let loaded = ycsb.load(engine, loading, &mut |_| true).unwrap();
    assert!(loaded.is_complete());
    assert_eq!(loaded.records, options.records);
    ycsb
}

fn run(engine: &MemoryEngine, ycsb: &Ycsb<usize>, threads: usize) -> Report {
    let until = Until::Transactions(4000);
    let options = driver::RunOptions { threads, until, ..driver::RunOptions::default() };
    driver::run(engine, ycsb, options, |_| true).unwrap()
}

fn violated(engine: &MemoryEngine, ycsb: &Ycsb<usize>) -> Vec<&'static str> {
    let conditions = ycsb.check(engine).unwrap();
    conditions.iter().filter(|condition| !condition.ok).map(|condition| condition.name).collect()
}

#[test]
fn every_mix_keeps_the_records_and_adds_what_it_inserts() {
    for (name, _) in Mix::NAMED {
        let NamedMix { mix, distribution, .. } = name.parse().unwrap();
        let engine = MemoryEngine::new();
        let ycsb = loaded(&engine, YcsbOptions { mix, distribution, ..SMALL });
        assert!(violated(&engine, &ycsb).is_empty());
        let report = run(&engine, &ycsb, 3);
        assert_eq!(report.done(), 4000);
        assert!(violated(&engine, &ycsb).is_empty(), "{name}");
        let inserted = report.kinds[mix::OperationKind::Insert as usize].committed;
        assert_eq!(engine.contents()[NAME].len() as u64, 3000 + inserted, "{name}");
    }
}

#[test]
fn the_memory_engine_is_asked_for_what_the_mix_says() {
    let operations = |name: &str| {
        let NamedMix { mix, distribution, .. } = name.parse().unwrap();
        let engine = MemoryEngine::new();
        let ycsb = loaded(&engine, YcsbOptions { mix, distribution, ..SMALL });
        let before = engine.operations();
        run(&engine, &ycsb, 1);
        let after = engine.operations();
        (after.gets - before.gets, after.puts - before.puts, after)
    };
    assert_eq!((operations("100w").0, operations("100w").1), (0, 4000));
    assert_eq!((operations("c").0, operations("c").1), (4000, 0));
    assert_eq!(operations("f").0, 4000);
    let scans = operations("e").2;
    let rows = scans.scan_rows as f64 / scans.scans as f64;
    assert!((45.0..52.0).contains(&rows), "{rows}");
}

#[test]
fn the_order_of_loading_makes_no_difference_to_the_keys() {
    let keys = |load_order| {
        let engine = MemoryEngine::new();
        let ycsb = loaded(&engine, YcsbOptions { load_order, ..SMALL });
        assert!(violated(&engine, &ycsb).is_empty());
        engine.contents()[NAME].keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(LoadOrder::Hashed), keys(LoadOrder::Keys));
}

#[test]
fn several_operations_make_a_transaction() {
    let engine = MemoryEngine::new();
    let NamedMix { mix, distribution, .. } = "d".parse().unwrap();
    let ycsb =
        loaded(&engine, YcsbOptions { operations_per_transaction: 10, mix, distribution, ..SMALL });
    engine.conflict_every(37);
    let report = run(&engine, &ycsb, 2);
    assert_eq!(report.kinds[mix::OperationKind::Batch as usize].committed, 4000);
    assert!(report.kinds[mix::OperationKind::Batch as usize].retries > 10);
    assert!(engine.operations().gets > 36_000);
    assert!(violated(&engine, &ycsb).is_empty());
}

#[test]
fn transactions_that_are_drawn_together_are_those_of_the_mix() {
    let engine = MemoryEngine::new();
    let NamedMix { mix, distribution, .. } = "d".parse().unwrap();
    let options = YcsbOptions { operations_per_transaction: 3, mix, distribution, ..SMALL };
    let ycsb = loaded(&engine, YcsbOptions { drawn_together: 7, ..options });
    let before = engine.operations();
    let report = run(&engine, &ycsb, 2);
    assert_eq!(report.kinds[mix::OperationKind::Batch as usize].committed, 4000);
    let after = engine.operations();
    assert_eq!(after.gets - before.gets + after.puts - before.puts, 12_000);
    // Those that were drawn and not run are given up.
    assert!(ycsb.ids.settled() >= 3000 + after.puts - before.puts);
    assert!(violated(&engine, &ycsb).is_empty());
}

#[test]
fn the_same_seed_leads_to_the_same_content() {
    let content = |seed| {
        let engine = MemoryEngine::new();
        let ycsb = loaded(&engine, SMALL);
        let until = Until::Transactions(2000);
        let options = driver::RunOptions { until, seed, ..driver::RunOptions::default() };
        driver::run(&engine, &ycsb, options, |_| true).unwrap();
        engine.contents()
    };
    assert!(content(1) == content(1));
    assert!(content(1) != content(2));
}

#[test]
fn updates_go_where_the_distribution_says() {
    let engine = MemoryEngine::new();
    let ycsb =
        loaded(&engine, YcsbOptions { mix: "100w".parse::<NamedMix>().unwrap().mix, ..SMALL });
    let before = engine.contents();
    run(&engine, &ycsb, 1);
    let after = engine.contents();
    let changed = |id: u64| before[NAME][&key(id)[..]] != after[NAME][&key(id)[..]];
    assert!((0..10).all(changed));
    let share = (0..3000).filter(|id| changed(*id)).count() as f64 / 3000.0;
    let total: f64 = (1..=3000).map(|k| f64::from(k).powf(-0.99)).sum();
    let missed = |k: u32| (1.0 - f64::from(k).powf(-0.99) / total).powi(4000);
    let expected = 1.0 - (1..=3000).map(missed).sum::<f64>() / 3000.0;
    assert!((share - expected).abs() < 0.03, "{share} {expected}");
}

#[test]
fn a_violation_is_found() {
    let plant = |key: &[u8], value: Option<&[u8]>| {
        let engine = MemoryEngine::new();
        let ycsb = loaded(&engine, SMALL);
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        match value {
            Some(value) => transaction.put(ycsb.table, key, value).unwrap(),
            None => transaction.delete(ycsb.table, key).unwrap(),
        }
        transaction.commit().unwrap();
        violated(&engine, &ycsb)
    };
    assert_eq!(plant(&key(7), None), ["every loaded record is there"]);
    assert_eq!(plant(&key(3000), Some(&[0; 100])), ["every record was loaded or inserted"]);
    assert_eq!(plant(&key(7), Some(&[0; 99])), ["every value has its length"]);
}

#[test]
fn impossible_options_are_refused() {
    for options in [
        YcsbOptions { records: 0, ..SMALL },
        YcsbOptions { operations_per_transaction: 0, ..SMALL },
        YcsbOptions { drawn_together: 0, ..SMALL },
        YcsbOptions { distribution: Distribution::Zipf(f64::NAN), ..SMALL },
        YcsbOptions { mix: Mix { read: 1, ..SMALL.mix }, ..SMALL },
    ] {
        assert!(Ycsb::open(&MemoryEngine::new(), options).is_err());
    }
}

#[test]
fn a_table_that_was_not_loaded_is_an_error() {
    let engine = MemoryEngine::new();
    let ycsb = Ycsb::open(&engine, SMALL).unwrap();
    let error = driver::run(&engine, &ycsb, driver::RunOptions::default(), |_| true).unwrap_err();
    assert_eq!(error.to_string(), "table ycsb.usertable: a loaded record is missing");
}

#[test]
fn records_that_an_earlier_run_inserted_are_found_and_numbered_on_from() {
    for last in [0, 1, 700, 1023, 1024, 1025, 5000] {
        let engine = MemoryEngine::new();
        loaded(&engine, SMALL);
        let table = engine.table(NAME).unwrap();
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        // Some insertions were given up.
        for n in (1..=last).filter(|n| n % 7 != 3 || *n == last) {
            transaction.put(table, &key(SMALL.records - 1 + n), &[0; 100]).unwrap();
        }
        transaction.commit().unwrap();
        let NamedMix { mix, distribution, .. } = "d".parse().unwrap();
        let again = Ycsb::open(&engine, YcsbOptions { mix, distribution, ..SMALL }).unwrap();
        assert_eq!(again.ids.settled(), SMALL.records + last);
        let records = engine.contents()[NAME].len();
        let inserted =
            run(&engine, &again, 2).kinds.iter().find(|k| k.name == "insert").unwrap().committed;
        assert_eq!(engine.contents()[NAME].len() as u64, records as u64 + inserted, "{last}");
        assert_eq!(violated(&engine, &again), [""; 0], "{last}");
    }
}
