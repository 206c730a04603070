//! Conditions that hold during and after a run of the benchmark.

use super::*;
use crate::random::Random;
use crate::tpcc::buffers::Buffers;
use crate::tpcc::deck::{KINDS, TransactionKind};
use crate::tpcc::delivery::Delivery;
use crate::tpcc::new_order::NewOrder;
use crate::tpcc::scale::District;
use crate::tpcc::session::TpccSession;
use crate::tpcc::tables::{Tables, TpccTable};
use crate::{Access, Engine, Transaction, Worker, Workload};

#[test]
fn the_data_are_consistent_after_thousands_of_transactions() {
    for (scale, threads) in [(SMALL, 3), (Scale { warehouses: 1, ..SMALL }, 1)] {
        let engine = MemoryEngine::new();
        let tpcc = loaded(&engine, scale, false);
        let report = run(&engine, &tpcc, threads, 6000);
        assert_eq!(report.done(), 6000);
        assert_eq!(report.kinds.len(), 5);
        assert_consistent(&engine, &tpcc);
    }
}

#[test]
fn the_data_are_consistent_after_thousands_of_steady_transactions() {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, SMALL, true);
    for _ in 0..2 {
        assert_eq!(run(&engine, &tpcc, 3, 5000).done(), 5000);
        assert_consistent(&engine, &tpcc);
    }
}

#[test]
fn the_data_are_consistent_whatever_conflicts() {
    for steady in [false, true] {
        let engine = MemoryEngine::new();
        let tpcc = loaded(&engine, SMALL, steady);
        engine.conflict_every(401);
        let report = run(&engine, &tpcc, 2, 3000);
        assert_eq!(report.done(), 3000);
        assert!(report.kinds[super::super::NEW_ORDER].retries > 50);
        assert_consistent(&engine, &tpcc);
    }
}

#[test]
fn steady_keeps_every_table_as_large_as_it_was_loaded() {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, SMALL, true);
    let before = engine.contents();
    run(&engine, &tpcc, 1, 30_000);
    let after = engine.contents();
    for table in
        [TpccTable::Order, TpccTable::OrderByCustomer, TpccTable::OrderLine, TpccTable::History]
    {
        let (old, new) = (before[table.name()].len(), after[table.name()].len());
        // Between two visits to a district, at most a few dozen orders come.
        assert!(new < old * 3 / 2, "{table:?}: {old} rows became {new}");
    }
    let waiting = after[TpccTable::NewOrder.name()].len();
    assert!((180..720).contains(&waiting), "{waiting} of 360 wait");
}

#[test]
fn without_steady_the_orders_grow() {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, SMALL, false);
    let report = run(&engine, &tpcc, 1, 4000);
    let orders = engine.contents()[TpccTable::Order.name()].len() as u64;
    assert_eq!(orders, 1200 + report.kinds[super::super::NEW_ORDER].committed);
}

#[test]
fn the_mix_is_the_standards_and_one_order_in_a_hundred_rolls_back() {
    let engine = MemoryEngine::new().with_lag(1000);
    let tpcc = loaded(&engine, SMALL, false);
    let report = run(&engine, &tpcc, 1, 10_000);
    let done: Vec<u64> = report.kinds.iter().map(|kind| kind.done()).collect();
    assert_eq!(done, [4500, 4300, 400, 400, 400]);
    assert!((20..80).contains(&report.kinds[super::super::NEW_ORDER].rolled_back));
    assert!(report.kinds[1..].iter().all(|kind| kind.rolled_back == 0));
    assert!(report.kinds.iter().all(|kind| kind.latency.len() == kind.done()));
}

#[test]
fn the_same_seed_leads_to_the_same_content() {
    let content = |seed, steady| {
        let engine = MemoryEngine::new();
        let tpcc = loaded(&engine, SMALL, steady);
        let options = driver::RunOptions {
            until: Until::Transactions(2000),
            seed,
            ..driver::RunOptions::default()
        };
        driver::run(&engine, &tpcc, options, |_| true).unwrap();
        engine.contents()
    };
    for steady in [false, true] {
        assert!(content(1, steady) == content(1, steady));
        assert!(content(1, steady) != content(2, steady));
    }
}

#[test]
fn an_order_that_rolls_back_leaves_nothing() {
    let engine = MemoryEngine::new();
    loaded(&engine, SMALL, false);
    let tables = Tables::open(&engine).unwrap();
    let before = engine.contents();
    let (mut random, mut wrong) = (Random::stream(1, 0), 0);
    let (mut buffers, mut scratch) = (Buffers::default(), Vec::new());
    let home = District { warehouse: 1, number: 4 };
    for _ in 0..1000 {
        let input = NewOrder::draw(&mut random, &SMALL, home, 2);
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        let mut session: TpccSession<'_, '_, MemoryEngine> =
            TpccSession { transaction: &mut transaction, tables: &tables, scratch: &mut scratch };
        if input.run(&mut session, &mut buffers).unwrap().is_none() {
            wrong += 1;
            drop(transaction);
            assert!(engine.contents() == before);
        }
    }
    assert!(wrong > 0);
}

#[test]
fn a_delivery_takes_two_orders_only_where_more_wait_than_should() {
    let engine = MemoryEngine::new();
    loaded(&engine, SMALL, true);
    let tables = Tables::open(&engine).unwrap();
    let (mut buffers, mut scratch) = (Buffers::default(), Vec::new());
    let mut deliver = |backlog| {
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        let mut session: TpccSession<'_, '_, MemoryEngine> =
            TpccSession { transaction: &mut transaction, tables: &tables, scratch: &mut scratch };
        let delivery = Delivery::draw(&mut Random::stream(1, 0), 2, 3, backlog);
        let delivered = delivery.run(&mut session, &mut buffers).unwrap();
        transaction.commit().unwrap();
        delivered
    };
    // 18 orders wait in each of ten districts.
    assert_eq!(deliver(None), 10);
    assert_eq!(deliver(Some(18)), 10);
    assert_eq!(deliver(Some(14)), 20);
    assert_eq!(deliver(Some(13)), 10);
    (0..13).for_each(|_| assert_eq!(deliver(None), 10));
    assert_eq!(deliver(None), 0);
}

#[test]
fn what_was_not_loaded_is_an_error() {
    let engine = MemoryEngine::new();
    let tpcc = Tpcc::open(&engine, TpccOptions { scale: SMALL, steady: false }).unwrap();
    let error = driver::run(&engine, &tpcc, driver::RunOptions::default(), |_| true).unwrap_err();
    assert!(error.to_string().starts_with("table tpcc."), "{error}");
}

#[test]
fn operations_of_a_transaction_are_as_many_as_they_should_be() {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, Scale { items: 20_000, customers: 1200, ..SMALL }, true);
    let mut worker = Workload::<MemoryEngine>::worker(&tpcc, 1, 0);
    let mut sums = [(0, [0u64; 6]); KINDS.len()];
    for _ in 0..10_000 {
        let before = engine.operations();
        let done = worker.step(&engine).unwrap();
        let after = engine.operations();
        let (count, sum) = &mut sums[done.kind];
        *count += 1;
        sum[0] += after.gets - before.gets;
        sum[1] += after.puts - before.puts;
        sum[2] += after.patches - before.patches;
        sum[3] += after.deletes - before.deletes;
        sum[4] += after.scans - before.scans;
        sum[5] += after.scan_rows - before.scan_rows;
    }
    let average = |kind: TransactionKind, operation: usize| {
        sums[kind as usize].1[operation] as f64 / f64::from(sums[kind as usize].0)
    };
    for (kind, (count, sum)) in KINDS.iter().zip(&sums) {
        let each = sum.map(|sum| sum as f64 / f64::from(*count));
        println!("{kind:13} {count:5} get, put, patch, delete, scan, scanned rows: {each:.1?}");
    }
    assert!((22.5..23.5).contains(&average(TransactionKind::NewOrder, 0)));
    assert!((12.5..13.5).contains(&average(TransactionKind::NewOrder, 1)));
    assert!((10.5..11.5).contains(&average(TransactionKind::NewOrder, 2)));
    assert!((average(TransactionKind::Payment, 0) - 3.0).abs() < 0.01);
    assert!((1.05..1.15).contains(&average(TransactionKind::Payment, 1)));
    assert!(average(TransactionKind::Delivery, 2) > 100.0);
    assert!(
        average(TransactionKind::OrderStatus, 1) + average(TransactionKind::StockLevel, 1) == 0.0
    );
}
