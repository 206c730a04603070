//! Every read, append, flush, reset, finish and report of the device fails once, or from then on,
//! until there is none left to fail: what the store answers is right, or an error; a sync that
//! failed is followed by none that succeeds; and once the device works again the store opens,
//! within a bound of operations, with everything that was promised.
//!
//! `FROSTLINE_TIMES=n` takes n times as long: longer histories. The number of failures is printed.

mod user;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use frostline_store::{Format, Store, StoreError};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Operation, Overlay, Shape, Tail, in_memory};

use user::{Step, User, steps};

const PAGE: u64 = 4096;
/// Zones are as small as a store can have them: 16 pages and two headers.
const ZONE: u64 = 18;
const ZONES: u64 = 24;
const PAGES: u32 = 60;
/// Units of stores.
const UNITS: [u32; 2] = [4096, 64];

/// Operations within which everything must be done that follows the failures: several times the
/// pages of the device.
const BOUND: u64 = 4 * ZONE * ZONES;

/// A device with a store that was used for a while, and what its pages are.
struct Start {
    device: Arc<dyn Device>,
    user: User,
}

fn empty() -> Arc<dyn Device> {
    let zone_bytes = ZONE * PAGE;
    let shape = Shape::of_zones(ZONES, zone_bytes);
    in_memory(&shape).unwrap()
}

fn format(unit: u32, scheme: &str) -> Format {
    Format {
        unit,
        scheme: scheme.to_string(),
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(70),
        ..Format::default()
    }
}

/// The device as it is, whatever is done to what this returns.
fn view(device: &Arc<dyn Device>) -> Arc<dyn Device> {
    Overlay::over(device.clone(), u64::MAX).unwrap()
}

/// A store after `count` steps, dropped or closed.
fn start(unit: u32, scheme: &str, count: usize, is_closed: bool) -> Start {
    let memory = empty();
    Store::format(memory.clone(), &format(unit, scheme)).unwrap();
    let (device, mut user) = (Arc::new(Faulty::new(memory.clone(), 1)), User::new(unit));
    let mut store = None;
    user.take(&mut store, &device, &Step::Open).unwrap();
    for step in steps(7, PAGES, count) {
        user.take(&mut store, &device, &step).unwrap();
    }
    let deltas = store.as_ref().unwrap().stats().unwrap().deltas;
    assert_eq!(deltas.tails > 20 && deltas.merged > 5, unit < 4096 && count > 100, "{deltas:?}");
    if is_closed {
        user.take(&mut store, &device, &Step::Close).unwrap();
    }
    Start { device: memory, user }
}

/// The failures of one operation: once, or from then on.
#[derive(Clone, Copy, Debug)]
struct Failing {
    operation: Operation,
    nth: u64,
    is_lasting: bool,
    fault: Fault,
    /// The end that follows: a power cut, or else the process is killed.
    is_cut: bool,
}

/// Takes all steps while one operation fails, and the way back. True if there was such an
/// operation.
fn try_one(start: &Start, steps: &[Step], failing: Failing) -> bool {
    let Failing { operation, nth, is_lasting, fault, is_cut } = failing;
    let (memory, mut user) = (view(&start.device), start.user.clone());
    user.ended();
    let device = Arc::new(Faulty::new(memory, nth).with_tail(Tail::Garbage));
    device.fail(operation, nth..if is_lasting { u64::MAX } else { nth + 1 }, fault);
    let mut store = None;
    for step in steps {
        let taken = user.take(&mut store, &device, step);
        let failed = device.count(operation) >= nth;
        assert!(taken.is_ok() || failed, "{step:?} fails before anything does: {taken:?}");
    }
    let met = device.count(operation) >= nth;
    device.stop_failing();
    if let Some(store) = store {
        user.read_all(&store);
        let mut store = Some(store);
        // If it succeeds, it promises.
        let _ = user.take(&mut store, &device, &Step::Write(1));
        let _ = user.take(&mut store, &device, &Step::Sync);
        user.read_all(store.as_ref().unwrap());
    }
    let next = if is_cut { device.restart() } else { device.reopen() };
    recover(Arc::new(next.unwrap()), user, is_cut);
    met
}

/// Opens the store on a device that works, and goes on with it.
fn recover(device: Arc<Faulty>, mut user: User, is_cut: bool) {
    for operation in Operation::ALL {
        // So that what would go on for ever ends.
        device.fail(operation, BOUND..u64::MAX, Fault::PowerCut);
    }
    user.ended();
    let mut store = None;
    user.take(&mut store, &device, &Step::Open).unwrap();
    user.read_all(store.as_ref().unwrap());
    if is_cut {
        user.opened_again();
    }
    let found = store.as_mut().unwrap().check().unwrap().findings;
    assert!(found.is_empty(), "{found:#?}");
    for lba in 0..PAGES {
        user.take(&mut store, &device, &Step::Write(lba)).unwrap();
    }
    user.take(&mut store, &device, &Step::Close).unwrap();
    user.take(&mut store, &device, &Step::Open).unwrap();
    user.read_all(store.as_ref().unwrap());
}

/// Fails the n-th operation of each kind in these steps, n = 1, 2, 3 until there is none. Returns
/// how many failures were tried.
fn fail_all(name: &str, start: &Start, steps: &[Step]) -> u64 {
    let mut tried = 0;
    for operation in Operation::ALL {
        for (fault, is_lasting, is_cut) in [
            (Fault::Error, false, true),
            (Fault::Error, true, false),
            (Fault::Refused, false, false),
            (Fault::Refused, true, true),
            (Fault::Partial, false, true),
        ] {
            if fault == Fault::Partial && operation != Operation::Append {
                continue;
            }
            for nth in 1.. {
                let failing = Failing { operation, nth, is_lasting, fault, is_cut };
                let tried_it = catch_unwind(AssertUnwindSafe(|| try_one(start, steps, failing)));
                match tried_it.inspect_err(|_| eprintln!("{name}: {failing:?}")).unwrap() {
                    true => tried += 1,
                    false => break,
                }
            }
        }
    }
    println!("{name}: {tried} failures tried");
    tried
}

/// Times that histories are longer than usual: the root of what is asked for, since each of twice as
/// many operations fails in a history of twice the length.
fn longer() -> usize {
    seeds::times(1).isqrt() as usize
}

/// A history from opening to closing.
fn life(seed: u64, count: usize) -> Vec<Step> {
    let steps = steps(seed, PAGES, count * longer());
    [vec![Step::Open], steps, vec![Step::Close]].concat()
}

#[test]
fn a_crashed_store_is_recovered_and_used_while_any_operation_fails() {
    for unit in UNITS {
        let start = start(unit, "sepbit", 500, false);
        let tried = fail_all(&format!("crashed, {unit}"), &start, &life(1, 60));
        assert!(tried > 1000, "only {tried}");
    }
}

#[test]
fn a_store_that_ends_zones_early_cleans_while_any_operation_fails() {
    for unit in UNITS {
        let start = start(unit, "frozen:nosep:tiers=2", 500, true);
        let tried = fail_all(&format!("closed, {unit}"), &start, &life(2, 60));
        assert!(tried > 500, "only {tried}");
    }
}

/// A store in use, one of whose reads gives what lies elsewhere, or what lay there before.
#[test]
fn a_read_that_goes_astray_or_is_stale_is_an_error_or_harmless() {
    UNITS.into_iter().for_each(read_astray);
}

fn read_astray(unit: u32) {
    let start = start(unit, "sepbit", 500, true);
    let steps = steps(4, PAGES, 80 * longer());
    let mut tried = 0;
    for fault in [Fault::Misdirected, Fault::Stale] {
        for nth in 1.. {
            let (memory, mut user) = (view(&start.device), start.user.clone());
            user.ended();
            let (device, mut store) = (Arc::new(Faulty::new(memory, nth)), None);
            user.take(&mut store, &device, &Step::Open).unwrap();
            let nth = device.count(Operation::Read) + nth;
            device.fail(Operation::Read, nth..nth + 1, fault);
            for step in &steps {
                let taken = user.take(&mut store, &device, step);
                let met = device.count(Operation::Read) >= nth;
                assert!(taken.is_ok() || met, "{step:?}: {taken:?}");
            }
            if device.count(Operation::Read) < nth {
                break;
            }
            user.read_all(store.as_ref().unwrap());
            drop(store);
            recover(Arc::new(device.restart().unwrap()), user, true);
            tried += 1;
        }
    }
    println!("{unit}: {tried} reads tried");
    assert!(tried > 100, "only {tried}");
}

/// The device after a function that fails at an operation, once for each operation and failure, and
/// the outcome of the function.
fn fail_each(
    name: &str,
    begin: &Arc<dyn Device>,
    act: impl Fn(&Arc<Faulty>) -> Result<(), StoreError>,
    then: impl Fn(Arc<Faulty>, Result<(), StoreError>),
) -> u64 {
    let mut tried = 0;
    for operation in Operation::ALL {
        for (fault, is_lasting) in
            [(Fault::Error, false), (Fault::Error, true), (Fault::Refused, false)]
        {
            for nth in 1.. {
                let device = Arc::new(Faulty::new(view(begin), nth).with_tail(Tail::Garbage));
                device.fail(operation, nth..if is_lasting { u64::MAX } else { nth + 1 }, fault);
                let result = act(&device);
                if device.count(operation) < nth {
                    result.unwrap();
                    break;
                }
                let next = if nth % 2 == 0 { device.restart() } else { device.reopen() };
                let checked = || then(Arc::new(next.unwrap()), result);
                let failing =
                    |_: &_| eprintln!("{name}: {operation:?} {nth}, {fault:?}, {is_lasting}");
                catch_unwind(AssertUnwindSafe(checked)).inspect_err(failing).unwrap();
                tried += 1;
            }
        }
    }
    println!("{name}: {tried} failures tried");
    tried
}

#[test]
fn a_device_is_formatted_though_any_operation_failed_before() {
    let used = start(4096, "nosep", 100, false).device;
    for (name, begin, force) in [("format", empty(), false), ("format by force", used, true)] {
        let format = Format { force, ..format(4096, "sepbit") };
        let act = |device: &Arc<Faulty>| Store::format(device.clone(), &format);
        let tried = fail_each(name, &begin, act, |device, formatted| {
            // A device that was formatted in part is not empty.
            let format = Format { force: true, ..format.clone() };
            match formatted {
                Ok(()) => {}
                Err(_) => Store::format(device.clone(), &format).unwrap(),
            }
            recover(device, User::new(4096), true);
        });
        assert!(tried > 20, "only {tried}");
    }
}

/// A store without trims, and its device with all metadata lost.
fn without_metadata(unit: u32) -> (Start, Arc<dyn Device>) {
    let memory = empty();
    Store::format(memory.clone(), &format(unit, "sepbit")).unwrap();
    let (device, mut user, mut store) =
        (Arc::new(Faulty::new(memory.clone(), 1)), User::new(unit), None);
    user.take(&mut store, &device, &Step::Open).unwrap();
    let writes = steps(3, PAGES, 300).into_iter().filter(|step| matches!(step, Step::Write(_)));
    writes.for_each(|step| user.take(&mut store, &device, &step).unwrap());
    user.take(&mut store, &device, &Step::Close).unwrap();
    let lost = view(&memory);
    let info = Store::inspect(memory.clone()).unwrap().info().unwrap();
    (0..info.meta_zones).for_each(|zone| lost.reset(zone).unwrap());
    (Start { device: memory, user }, lost)
}

#[test]
fn a_store_is_rebuilt_though_any_operation_failed_before() {
    for unit in UNITS {
        let (start, lost) = without_metadata(unit);
        let format = format(unit, "sepbit");
        let act = |device: &Arc<Faulty>| Store::rebuild(device.clone(), &format, false).map(drop);
        let tried = fail_each(&format!("rebuild, {unit}"), &lost, act, |device, rebuilt| {
            if rebuilt.is_err() {
                Store::rebuild(device.clone(), &format, false).unwrap();
            }
            recover(device, start.user.clone(), true);
        });
        assert!(tried > 20, "only {tried}");
    }
}

#[test]
fn looking_into_a_store_fails_with_an_error_and_changes_nothing() {
    UNITS.into_iter().for_each(look_into);
}

fn look_into(unit: u32) {
    let start = start(unit, "sepbit", 500, false);
    let look = |device: &Arc<Faulty>| {
        Store::zones_on(&**device)?;
        let mut store = Store::inspect(device.clone())?;
        store.check()?;
        store.scrub(None, &mut |_| ()).map(drop)
    };
    let act = |device: &Arc<Faulty>| {
        let looked = look(device);
        assert_eq!(device.operations(), 0);
        looked
    };
    let tried = fail_each(&format!("inspect, {unit}"), &start.device, act, |device, _| {
        let mut user = start.user.clone();
        user.ended();
        recover(device, user, true);
    });
    assert!(tried > 20, "only {tried}");
}
