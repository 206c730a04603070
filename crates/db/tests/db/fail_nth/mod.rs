//! Every read, append, flush, reset, finish and report of the device fails once, or from then on,
//! until there is none left to fail: what the database answers is right, or an error; and once the
//! device works again it opens, within a bound of operations, with every commit that was waited
//! for, of the others the first ones, each whole, and goes on working.
//!
//! `FROSTLINE_TIMES=n` takes n times as long: longer histories.

mod user;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use frostline_db::{Create, Db};
use frostline_store::Format;
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Operation, Overlay, Shape, Tail, in_memory};

use user::{User, open};

const PAGE: u64 = 4096;
const ZONE: u64 = 20;
const ZONES: u64 = 44;
const LOG_ZONES: u64 = 6;
const KEYS: u32 = 300;

/// Operations within which everything must be done that follows the failures: several times the
/// pages of the device.
const BOUND: u64 = 4 * ZONE * ZONES;

/// Kinds of failures: the fault, whether it lasts, and whether the power is cut after it or the
/// process is killed.
const KINDS: [(Fault, bool, bool); 5] = [
    (Fault::Error, false, true),
    (Fault::Error, true, false),
    (Fault::Refused, false, false),
    (Fault::Refused, true, true),
    (Fault::Partial, false, true),
];

/// A device with a database that was used for a while, and what it holds.
struct Start {
    device: Arc<dyn Device>,
    user: User,
}

fn empty() -> Arc<dyn Device> {
    let zone_bytes = ZONE * PAGE;
    let shape = Shape::of_zones(ZONES, zone_bytes);
    in_memory(&shape).unwrap()
}

fn create(force: bool) -> Create {
    let store = Format {
        scheme: "sepbit".to_string(),
        checkpoint_writes: Some(100),
        force,
        ..Format::default()
    };
    Create { store, log_bytes: Some(LOG_ZONES * ZONE * PAGE), instances: 1 }
}

/// The device as it is, whatever is done to what this returns.
fn view(device: &Arc<dyn Device>) -> Arc<dyn Device> {
    Overlay::over(device.clone(), u64::MAX).unwrap()
}

/// A database after some steps, dropped or closed.
fn start(seed: u64, steps: usize, is_closed: bool) -> Start {
    let memory = empty();
    Db::create(&memory, &create(false)).unwrap();
    let device = Arc::new(Faulty::new(memory.clone(), 1));
    let (db, mut user) = (open(&device).unwrap(), User::default());
    db.create_table("t").unwrap();
    user.made();
    assert!(!user.use_it(&db, seed, steps, KEYS));
    match is_closed {
        true => user.close(db).unwrap(),
        false => drop(db),
    }
    Start { device: memory, user }
}

/// Opens the database on a device that works, and goes on with it. One that was not made is made.
fn recover(device: Arc<Faulty>, mut user: User) {
    for operation in Operation::ALL {
        // So that what would go on for ever ends.
        device.fail(operation, BOUND..u64::MAX, Fault::PowerCut);
    }
    if user.has_no_table() {
        let below: Arc<dyn Device> = device.clone();
        Db::create(&below, &create(true)).unwrap();
        open(&device).unwrap().create_table("t").unwrap();
        user.made();
    }
    let db = open(&device).unwrap();
    user.opened_again(&db);
    assert!(!user.use_it(&db, 5, 5, KEYS));
    user.close(db).unwrap();
    let db = open(&device).unwrap();
    user.opened_again(&db);
}

/// Lets the n-th operation of each kind fail, n = 1, 2, 3 until there is none, while `act` uses the
/// device. Returns how many failures were tried.
fn fail_all(
    name: &str,
    begin: &Arc<dyn Device>,
    act: impl Fn(&Arc<Faulty>, &mut dyn FnMut()) -> User + Sync,
) -> u64 {
    let act = &act;
    let tried: u64 = thread::scope(|scope| {
        let threads =
            Operation::ALL.map(|kind| scope.spawn(move || fail_kind(name, begin, kind, act)));
        threads.map(|thread| thread.join().unwrap()).iter().sum()
    });
    println!("{name}: {tried} failures tried");
    tried
}

/// Lets the operations of one kind fail, see [`fail_all`].
fn fail_kind(
    name: &str,
    begin: &Arc<dyn Device>,
    operation: Operation,
    act: &impl Fn(&Arc<Faulty>, &mut dyn FnMut()) -> User,
) -> u64 {
    let mut tried = 0;
    for (fault, is_lasting, is_cut) in KINDS {
        if fault == Fault::Partial && operation != Operation::Append {
            continue;
        }
        for nth in 1.. {
            let device = Arc::new(Faulty::new(view(begin), nth).with_tail(Tail::Garbage));
            device.fail(operation, nth..if is_lasting { u64::MAX } else { nth + 1 }, fault);
            let mut met = true;
            let mut mend = || {
                met = device.count(operation) >= nth;
                device.stop_failing();
            };
            let mut once = || {
                let user = act(&device, &mut mend);
                let next = if is_cut { device.restart() } else { device.reopen() };
                recover(Arc::new(next.unwrap()), user);
            };
            let failing = |_: &_| {
                eprintln!("{name}: {operation:?} {nth}, {fault:?}, lasting: {is_lasting}");
            };
            catch_unwind(AssertUnwindSafe(&mut once)).inspect_err(failing).unwrap();
            if !met {
                break;
            }
            tried += 1;
        }
    }
    tried
}

/// Times that histories are longer than usual: the root of what is asked for, since each of twice as
/// many operations fails in a history of twice the length.
fn longer() -> usize {
    seeds::times(1).isqrt() as usize
}

/// Opens a database and uses it while an operation fails, and then on a device that works.
fn use_it(start: &Start, seed: u64, device: &Arc<Faulty>, mend: &mut dyn FnMut()) -> User {
    let mut user = start.user.clone();
    let opened = open(device);
    if let Ok(db) = &opened {
        let _ = user.empty(db, KEYS);
        user.use_it(db, seed, 16 * longer(), KEYS);
    }
    mend();
    match opened {
        Err(_) => {}
        Ok(db) if seed.is_multiple_of(2) => {
            let _ = user.close(db);
        }
        Ok(db) => user.go_on(&db, KEYS),
    }
    user
}

#[test]
fn a_crashed_database_is_recovered_and_used_while_any_operation_fails() {
    let start = start(1, 200, false);
    let tried = fail_all("crashed", &start.device, |device, mend| use_it(&start, 1, device, mend));
    assert!(tried > 300, "only {tried}");
}

#[test]
fn a_closed_database_is_used_and_closed_while_any_operation_fails() {
    let start = start(2, 200, true);
    let tried = fail_all("closed", &start.device, |device, mend| use_it(&start, 2, device, mend));
    assert!(tried > 300, "only {tried}");
}

#[test]
fn a_database_is_made_by_force_though_any_operation_failed_before() {
    let tried = fail_all("made", &empty(), |device, mend| {
        let below: Arc<dyn Device> = device.clone();
        let made = Db::create(&below, &create(false));
        mend();
        assert!(made.is_err() || Db::open(&below, &user::options()).is_ok());
        User::default()
    });
    assert!(tried > 20, "only {tried}");
}
