//! The loaded data are those of clause 4.3.3.

use super::*;
use crate::tpcc::chance;
use crate::tpcc::rows::{customer, item, order, order_line, stock};
use crate::tpcc::tables::{ALL, TpccTable};

#[test]
fn a_warehouse_has_the_standards_cardinalities_and_is_consistent() {
    let engine = MemoryEngine::new();
    let tpcc = loaded(&engine, Scale::standard(1), false);
    assert_consistent(&engine, &tpcc);
    let contents = engine.contents();
    let count = |table: TpccTable| contents[table.name()].len();
    let expected = [
        (TpccTable::Warehouse, 1),
        (TpccTable::District, 10),
        (TpccTable::Customer, 30_000),
        (TpccTable::History, 30_000),
        (TpccTable::NewOrder, 9000),
        (TpccTable::Order, 30_000),
        (TpccTable::Item, 100_000),
        (TpccTable::Stock, 100_000),
        (TpccTable::CustomerByName, 30_000),
        (TpccTable::OrderByCustomer, 30_000),
        (TpccTable::Trimmed, 0),
    ];
    expected.iter().for_each(|(table, rows)| assert_eq!(count(*table), *rows, "{table:?}"));
    assert!((295_000..305_000).contains(&count(TpccTable::OrderLine)));

    let share = |table: TpccTable, holds: &dyn Fn(&[u8]) -> bool| {
        let rows = &contents[table.name()];
        rows.values().filter(|row| holds(row)).count() as f64 / rows.len() as f64
    };
    let near = |share: f64, expected: f64| assert!((share - expected).abs() < 0.01, "{share}");
    near(share(TpccTable::Item, &|row| chance::is_original(&row[item::FIXED..])), 0.1);
    near(share(TpccTable::Stock, &|row| chance::is_original(&row[stock::FIXED..])), 0.1);
    near(share(TpccTable::Customer, &|row| customer::BAD_CREDIT.of(row) == 1), 0.1);
    near(share(TpccTable::Order, &|row| order::CARRIER.of(row) == 0), 0.3);
    near(share(TpccTable::OrderLine, &|row| order_line::DELIVERY_DATE.of(row) == 0), 0.3);

    let mut bytes = 0;
    for table in ALL {
        let rows = &contents[table.name()];
        let keys: usize = rows.keys().map(Vec::len).sum();
        let values: usize = rows.values().map(Vec::len).sum();
        println!("{:25} {:7} rows {keys:9} {values:9} bytes", table.name(), rows.len());
        bytes += if table == TpccTable::Item { 0 } else { keys + values };
    }
    // The size of a warehouse follows from the standard's lengths; sizes of devices are derived
    // from it.
    println!("a warehouse: {bytes} bytes");
    assert!((66_000_000..72_000_000).contains(&bytes), "{bytes}");
}

#[test]
fn the_content_depends_on_the_seed_and_not_on_threads_or_conflicts() {
    let contents = |conflict_every, threads, seed| {
        let engine = MemoryEngine::new();
        engine.conflict_every(conflict_every);
        let tpcc = Tpcc::open(&engine, TpccOptions { scale: SMALL, steady: false }).unwrap();
        tpcc.load(&engine, Loading { threads, seed }, &mut |_| true).unwrap();
        engine.contents()
    };
    let one = contents(0, 1, 3);
    assert!(one == contents(0, 4, 3));
    assert!(one == contents(1501, 2, 3));
    assert!(one != contents(0, 1, 4));
}

#[test]
fn impossible_scales_are_refused() {
    for scale in [
        Scale { warehouses: 0, ..SMALL },
        Scale { items: 0, ..SMALL },
        Scale { customers: 9, ..SMALL },
        Scale { customers: 3001, ..SMALL },
    ] {
        assert!(Tpcc::open(&MemoryEngine::new(), TpccOptions { scale, steady: false }).is_err());
    }
}
