//! The workloads' own conditions hold on every engine.

use std::ops::ControlFlow;

use frostline_db::Db;
use frostline_peers::conditions::{Conditions, Placement};
use frostline_peers::counted::Counted;
use frostline_peers::engines::fjall::Fjall;
use frostline_peers::engines::lmdb::Lmdb;
use frostline_peers::engines::redb::Redb;
#[cfg(feature = "rocksdb")]
use frostline_peers::engines::rocksdb::RocksDb;
use frostline_peers::engines::sqlite::Sqlite;
use frostline_peers::engines::{Peer, SINGLE_RECORDS, TRANSACTIONAL};
use frostline_peers::job::{Job, Load};
use frostline_peers::measure;
use frostline_workload::tpcc::{Scale, Tpcc, TpccOptions};
use frostline_workload::{Access, Direction, Loading, Transaction, driver};

/// More bytes than the note of what was loaded takes, which lies beside the data in a table of its
/// own.
const NOTE: u64 = 100;

/// Calls a function for each engine.
macro_rules! on_each {
    ($function:ident) => {
        #[test]
        fn fjall() {
            super::$function::<super::Fjall>();
        }
        #[test]
        fn lmdb() {
            super::$function::<super::Lmdb>();
        }
        #[test]
        fn frostline() {
            super::$function::<super::Db>();
        }
        #[test]
        fn redb() {
            super::$function::<super::Redb>();
        }
        #[cfg(feature = "rocksdb")]
        #[test]
        fn rocksdb() {
            super::$function::<super::RocksDb>();
        }
        #[test]
        fn sqlite() {
            super::$function::<super::Sqlite>();
        }
    };
}

mod tpcc_stays_consistent {
    on_each!(tpcc);
}

mod records_are_found_and_shown_in_order {
    on_each!(records);
}

mod what_is_not_committed_is_not_there {
    on_each!(rolled_back);
}

fn with_engine<P: Peer>(use_it: impl FnOnce(&P)) {
    let directory = tempfile::tempdir().unwrap();
    let (peer, _) = P::open(&Conditions {
        directory: directory.path().to_owned(),
        memory: 4 << 20,
        log: 8 << 20,
        direct: false,
        expected: 16 << 20,
        placement: Placement { scheme: "sepbit".to_owned(), gp: 0.15, space: None, unit: 64 },
    })
    .unwrap();
    use_it(&peer);
    peer.close().unwrap();
}

fn tpcc<P: Peer>() {
    with_engine(|peer: &P| {
        let engine = Counted::new(peer);
        let scale = Scale { warehouses: 2, items: 200, customers: 60 };
        let tpcc = Tpcc::open(&engine, TpccOptions { scale, steady: false }).unwrap();
        tpcc.load(&engine, Loading::default(), &mut |_| true).unwrap();
        let loaded = engine.updated_bytes();
        // The note of what is loaded is put twice.
        let note = loaded - engine.data_bytes().unwrap();
        assert!((1..NOTE).contains(&note), "{note}");
        let until = driver::Until::Transactions(1000);
        let options = driver::RunOptions { threads: 2, until, in_flight: 20, seed: 7 };
        let report = driver::run(&engine, &tpcc, options, |_| true).unwrap();
        assert!(report.done() > 900);
        assert!(engine.updated_bytes() > loaded);
        assert!(peer.durable_points().unwrap() > 0);
        let conditions = tpcc.check(&engine).unwrap();
        assert!(conditions.len() > 5);
        for condition in conditions {
            assert!(condition.ok, "{}: {}", condition.name, condition.detail);
        }
    });
}

fn records<P: Peer>() {
    with_engine(|engine: &P| {
        let (one, two) = (engine.table("one").unwrap(), engine.table("two").unwrap());
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        for key in [3, 1, 2] {
            transaction.put(one, &[key], &[key, key]).unwrap();
            transaction.put(two, &[key + 10], &[]).unwrap();
        }
        transaction.delete(one, &[2]).unwrap();
        transaction.patch(one, &[3], 1, &[9], &mut Vec::new()).unwrap();
        engine.wait(transaction.commit().unwrap()).unwrap();
        let mut value = Vec::new();
        let mut reader = engine.begin(Access::ReadOnly).unwrap();
        assert!(reader.get(one, &[3], &mut value).unwrap());
        assert_eq!(value, [3, 9]);
        assert!(!reader.get(one, &[2], &mut value).unwrap());
        assert_eq!(keys(&mut reader, one, &[0], Direction::Forward), [1, 3]);
        assert_eq!(keys(&mut reader, one, &[2], Direction::Forward), [3]);
        assert_eq!(keys(&mut reader, one, &[3], Direction::Backward), [3, 1]);
        assert_eq!(keys(&mut reader, two, &[12], Direction::Backward), [12, 11]);
    });
}

fn keys<T: Transaction>(
    transaction: &mut T,
    table: T::Table,
    bound: &[u8],
    direction: Direction,
) -> Vec<u8>
where
    T::Error: std::fmt::Debug,
{
    let mut keys = Vec::new();
    let mut visit = |key: &[u8], _: &[u8]| {
        keys.push(key[0]);
        ControlFlow::Continue(())
    };
    transaction.scan(table, bound, direction, &mut visit).unwrap();
    keys
}

fn rolled_back<P: Peer>() {
    with_engine(|engine: &P| {
        let table = engine.table("table").unwrap();
        let mut transaction = engine.begin(Access::ReadWrite).unwrap();
        transaction.put(table, b"key", b"value").unwrap();
        drop(transaction);
        let mut reader = engine.begin(Access::ReadOnly).unwrap();
        assert!(!reader.get(table, b"key", &mut Vec::new()).unwrap());
    });
}

#[test]
fn a_job_is_measured_on_every_engine() {
    for engine in TRANSACTIONAL.iter().chain(SINGLE_RECORDS) {
        let directory = tempfile::tempdir().unwrap();
        let job = Job {
            engine: (*engine).to_owned(),
            load: Load::Ycsb {
                records: 5000,
                value_bytes: 120,
                mix: "a".to_owned(),
                distribution: None,
            },
            operations: 2000,
            warm_up: 100,
            in_flight: 50,
            threads: 1,
            seed: 1,
            memory: 4 << 20,
            log: 8 << 20,
            direct: false,
            scheme: "sepbit".to_owned(),
            gp: 0.15,
            space: None,
            unit: 64,
            directory: directory.path().to_owned(),
        };
        let measured = measure::run(&job).unwrap();
        assert_eq!(measured.operations, 2000);
        assert_eq!(measured.updated_bytes % 128, 0);
        let note = measured.data_bytes - 5000 * 128;
        assert!((1..NOTE).contains(&note), "{note}");
        // A point for every 50, or a few more; none where nothing is durable.
        let points = if SINGLE_RECORDS.contains(engine) { 0..1 } else { 30..120 };
        assert!(points.contains(&measured.durable_points), "{measured:?}");
        assert!(measured.space_bytes > measured.data_bytes, "{measured:?}");
        if TRANSACTIONAL.contains(engine) {
            measure::open(&job).unwrap();
        }
    }
}
