//! Power cuts in the middle of TPC-C: the surviving data are consistent.
//!
//! `FROSTLINE_TIMES=n` runs n times as many crashes, `FROSTLINE_SEED=n` one database.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_db::{Create, Db, DbError, Options};
use frostline_store::Cleaning;
use frostline_testkit::seeds;
use frostline_workload::tpcc::{self, Tpcc};
use frostline_workload::{Error, Loading, TransactionOutcome, Worker, Workload};
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, in_memory};

/// Crashes of one database.
const CRASHES: u64 = 20;

fn is_crash(error: &DbError) -> bool {
    matches!(error.device(), Some(DeviceError::Crashed))
}

fn open(device: &Arc<Faulty>) -> Result<Db, DbError> {
    let device: Arc<dyn Device> = device.clone();
    let options = Options {
        buffer_bytes: 64 * 4096,
        background: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Db::open(&device, &options)
}

fn loaded(seed: u64, options: tpcc::TpccOptions) -> Arc<Faulty> {
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let memory: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&memory, &Create { log_bytes: Some(3 << 20), ..Create::default() }).unwrap();
    let device = Arc::new(Faulty::new(memory, seed));
    let db = open(&device).unwrap();
    let tpcc = Tpcc::open(&db, options).unwrap();
    let loading = Loading { threads: 1, seed };
    assert!(tpcc.load(&db, loading, &mut |_| true).unwrap().is_complete());
    db.close().unwrap();
    device
}

/// Runs transactions, a few for each flush, until the power is cut.
fn run(db: &Db, tpcc: &Tpcc<frostline_db::Table>, seed: u64) -> (u64, DbError) {
    let mut worker = Workload::<Db>::worker(tpcc, seed, 0);
    for n in 1.. {
        let waited = match worker.step(db) {
            Ok(done) => match done.outcome {
                TransactionOutcome::Committed(ticket) if (seed + n).is_multiple_of(5) => {
                    db.wait(frostline_db::Commit(ticket.0))
                }
                _ => Ok(()),
            },
            Err(Error::Engine(error)) => Err(error),
            Err(error) => panic!("{error}"),
        };
        if let Err(error) = waited {
            return (n, error);
        }
    }
    unreachable!("the power is cut at some time")
}

fn assert_consistent(db: &Db, tpcc: &Tpcc<frostline_db::Table>) {
    let violated: Vec<_> =
        tpcc.check(db).unwrap().into_iter().filter(|condition| !condition.ok).collect();
    assert_eq!(violated, []);
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
}

/// Takes one database through its crashes; returns the number of its transactions.
fn live(seed: u64) -> u64 {
    let scale = tpcc::Scale { warehouses: 1, items: 60, customers: 10 };
    let options = tpcc::TpccOptions { scale, steady: seed.is_multiple_of(2) };
    let mut device = loaded(seed, options);
    let mut done = 0;
    for crash in 0..CRASHES {
        let db = open(&device).unwrap();
        let tpcc = Tpcc::open(&db, options).unwrap();
        assert_consistent(&db, &tpcc);
        let within = if crash % 4 == 0 { 2000 } else { 150 };
        let chance = (seed * 31 + crash).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
        device.schedule(device.operations() + 1 + chance % within, Fault::PowerCut);
        let (transactions, error) = run(&db, &tpcc, seed << 8 | crash);
        assert!(is_crash(&error), "{error}");
        done += transactions;
        drop(db);
        device = Arc::new(device.restart().unwrap());
    }
    let db = open(&device).unwrap();
    assert_consistent(&db, &Tpcc::open(&db, options).unwrap());
    done
}

#[test]
fn tpcc_is_consistent_after_power_cuts() {
    let wanted = seeds::times(140);
    let (begun, done) = (AtomicU64::new(0), AtomicU64::new(0));
    seeds::run_until(
        || begun.load(Relaxed) >= wanted,
        |seed| {
            begun.fetch_add(CRASHES, Relaxed);
            done.fetch_add(live(seed), Relaxed);
        },
    );
    println!("{} transactions", done.load(Relaxed));
}
