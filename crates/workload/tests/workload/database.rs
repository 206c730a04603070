//! The workloads on Frostline's own database, where transactions of several threads do conflict.

use frostline_db::{Create, Db, Direction, Options};
use frostline_workload::driver::{self, Report, Until};
use frostline_workload::{Condition, Loading, Workload, linkbench, tpcc, ycsb};
use frostline_zone::{Shape, in_memory};

/// Runs `test` on a database whose buffer is smaller than the data.
fn with_database(test: impl FnOnce(&Db)) {
    let device = in_memory(&Shape { bytes: 256 << 20, ..Shape::default() }).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let db = Db::open(&device, &Options { buffer_bytes: 4 << 20, ..Options::default() }).unwrap();
    test(&db);
    db.close().unwrap();
}

fn run<W: Workload<Db>>(db: &Db, workload: &W, transactions: u64) -> Report {
    let until = Until::Transactions(transactions);
    let options = driver::RunOptions { threads: 3, until, ..driver::RunOptions::default() };
    let report = driver::run(db, workload, options, |_| true).unwrap();
    assert_eq!(report.done(), transactions);
    report
}

fn assert_all_hold(conditions: Vec<Condition>) {
    let violated: Vec<_> = conditions.into_iter().filter(|condition| !condition.ok).collect();
    assert_eq!(violated, []);
}

#[test]
fn tpcc_stays_consistent() {
    for steady in [false, true] {
        with_database(|db| {
            let scale = tpcc::Scale { warehouses: 1, items: 2000, customers: 150 };
            let tpcc = tpcc::Tpcc::open(db, tpcc::TpccOptions { scale, steady }).unwrap();
            let loading = Loading { threads: 2, ..Loading::default() };
            assert!(tpcc.load(db, loading, &mut |_| true).unwrap().is_complete());
            assert_all_hold(tpcc.check(db).unwrap());
            let report = run(db, &tpcc, 6000);
            assert_all_hold(tpcc.check(db).unwrap());
            let retries: u64 = report.kinds.iter().map(|kind| kind.retries).sum();
            println!("steady {steady}: {retries} retries");
        });
    }
}

#[test]
fn ycsb_keeps_its_records() {
    for name in ["a", "d", "e", "f", "100w"] {
        with_database(|db| {
            let ycsb::NamedMix { mix, distribution, .. } = name.parse().unwrap();
            let (records, value_bytes) = (20_000, 400);
            let options =
                ycsb::YcsbOptions { mix, distribution, records, value_bytes, ..Default::default() };
            let ycsb = ycsb::Ycsb::open(db, options).unwrap();
            let loading = Loading { threads: 2, ..Loading::default() };
            assert!(ycsb.load(db, loading, &mut |_| true).unwrap().is_complete());
            run(db, &ycsb, 5000);
            assert_all_hold(ycsb.check(db).unwrap());
        });
    }
}

/// The records of YCSB in a database on a device of so many bytes.
fn loaded(value_bytes: usize, device_bytes: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let shape = Shape { bytes: device_bytes, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let db = Db::open(&device, &Options { buffer_bytes: 0, ..Options::default() }).unwrap();
    let options = ycsb::YcsbOptions { records: 1000, value_bytes, ..Default::default() };
    let ycsb = ycsb::Ycsb::open(&db, options).unwrap();
    assert!(ycsb.load(&db, Loading::default(), &mut |_| true).unwrap().is_complete());
    let mut records = Vec::new();
    let look = db.begin_read().unwrap();
    for (name, table) in db.tables() {
        let mut all = look.scan_all(table, Direction::Forward);
        while let Some((key, value)) = all.next().unwrap() {
            records.push(([name.as_bytes(), key].concat(), value.to_vec()));
        }
    }
    records
}

#[test]
fn a_small_log_gets_the_same_records_in_shorter_transactions() {
    for value_bytes in [100, 1000, 3000] {
        assert!(loaded(value_bytes, 24 << 20) == loaded(value_bytes, 512 << 20), "{value_bytes}");
    }
}

#[test]
fn linkbench_stays_counted() {
    with_database(|db| {
        let bench =
            linkbench::LinkBench::open(db, linkbench::LinkBenchOptions { nodes: 10_000 }).unwrap();
        let loading = Loading { threads: 2, ..Loading::default() };
        assert!(bench.load(db, loading, &mut |_| true).unwrap().is_complete());
        assert_all_hold(bench.check(db).unwrap());
        run(db, &bench, 10_000);
        assert_all_hold(bench.check(db).unwrap());
    });
}
