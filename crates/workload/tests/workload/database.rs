//! The workloads on Frostline's own database, where transactions of several threads do conflict.

use frostline_db::{Create, Db, Options};
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
