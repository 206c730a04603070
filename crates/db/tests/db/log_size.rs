//! A log that is larger than its usual load needs: for large transactions, while recovery stays
//! short.

use std::sync::Arc;
use std::time::Duration;

use frostline_db::{Create, Db, DbError, Options, Table};
use frostline_store::{Cleaning, Compression};
use frostline_zone::{Device, Shape, in_memory};

const LOG: u64 = 32 << 20;
const RECOVERY: u64 = 1 << 20;
const ZONE: u64 = 1 << 18;

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 96 << 20, zone_bytes: Some(ZONE), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(LOG), ..Create::default() }).unwrap();
    device
}

fn open(device: &Arc<dyn Device>, background: bool) -> Db {
    let recovery_bytes = Some(RECOVERY);
    let options = Options { background, recovery_bytes, ..Options::default() };
    // Bytes of records are those of the device then.
    let compression = Compression::None;
    Db::open(device, &Options { cleaning: Cleaning::Inline, compression, ..options }).unwrap()
}

fn put(db: &Db, table: Table, keys: std::ops::Range<u32>) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    keys.into_iter().try_for_each(|n| transaction.put(table, &n.to_be_bytes(), &[n as u8; 400]))?;
    transaction.commit()
}

fn log_used(db: &Db) -> u64 {
    db.stats().unwrap().log_used.0
}

#[test]
fn small_transactions_leave_little_for_recovery_in_a_large_log() {
    for background in [false, true] {
        let device = device();
        let db = open(&device, background);
        let table = db.create_table("t").unwrap();
        for n in 0..1500 {
            put(&db, table, n % 50 * 20..(n % 50 + 1) * 20).unwrap();
            let used = log_used(&db);
            assert!(used <= RECOVERY / 2 * 3 + 2 * ZONE, "{n}: {used}");
        }
        drop(db);
        let read = open(&device, background).recovered().log_bytes;
        assert!(read <= RECOVERY / 2 * 3 + 2 * ZONE, "{read}");
    }
}

#[test]
fn a_large_transaction_has_all_of_the_log_and_gives_it_back() {
    for background in [false, true] {
        let device = device();
        let db = open(&device, background);
        let table = db.create_table("t").unwrap();
        // Of new records a sixteenth of the log, and four times what a usual load leaves of it.
        put(&db, table, 0..5000).unwrap();
        assert_eq!(
            db.begin_read().unwrap().get(table, &4999u32.to_be_bytes()).unwrap(),
            Some(vec![135; 400])
        );
        for n in 0..20 {
            put(&db, table, n..n + 1).unwrap();
        }
        if background {
            // It asked for a checkpoint.
            let begun = std::time::Instant::now();
            while log_used(&db) > RECOVERY + 2 * ZONE && begun.elapsed().as_secs() < 30 {
                std::thread::yield_now();
            }
        }
        let used = log_used(&db);
        assert!(used <= RECOVERY + 2 * ZONE, "{background}: {used}");
        drop(db);
        let db = open(&device, background);
        assert!(db.recovered().log_bytes <= RECOVERY + 2 * ZONE);
        let look = db.begin_read().unwrap();
        let table = db.table("t").unwrap();
        assert_eq!(look.get(table, &4999u32.to_be_bytes()).unwrap(), Some(vec![135; 400]));
    }
}

#[test]
fn a_checkpoint_that_frees_pages_does_not_wait_for_one_to_make_room_in_the_log() {
    for background in [false, true] {
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let db = open(&device(), background);
            let table = db.create_table("t").unwrap();
            for _ in 0..5 {
                let mut long = db.begin().unwrap();
                long.put(table, b"long", &[7; 300_000]).unwrap();
                long.commit().unwrap();
                let mut gone = db.begin().unwrap();
                gone.delete(table, b"long").unwrap();
                gone.commit_soon().unwrap();
                // The log is beyond what commits wait for, and the value's pages are to be freed.
                put(&db, table, 0..5000).unwrap();
                put(&db, table, 0..1).unwrap();
                db.checkpoint().unwrap();
            }
            done.send(db.check().unwrap().findings).unwrap();
        });
        let findings = is_done.recv_timeout(Duration::from_secs(60)).expect("it ends");
        assert!(findings.is_empty(), "{findings:?}");
    }
}

#[test]
fn a_transaction_that_is_too_large_is_told_its_bytes_the_limit_and_the_option() {
    let db = open(&device(), false);
    let table = db.create_table("t").unwrap();
    let refused = put(&db, table, 0..18_000).unwrap_err();
    let DbError::TooLarge { bytes, logged, most } = refused else { panic!("{refused}") };
    assert_eq!(bytes, 18_000 * (4 + 400 + 11));
    assert!(logged > bytes && most < logged && most < LOG, "{refused}");
    let text = refused.to_string();
    for part in [bytes.to_string(), logged.to_string(), most.to_string(), "log_bytes".to_string()] {
        assert!(text.contains(&part), "{text}");
    }
}
