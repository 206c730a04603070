//! Devices that fail with errors: calls return errors, nothing hangs, and what was promised is
//! there once the device works again.

use frostline_db::{Db, Direction};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault};
use rand::RngExt;

use super::UNITS;
use super::life::{Life, Size, Tally};

/// Uses a database that may have failed in any way, and changes nothing in it.
fn look_around(db: &Db) {
    let _ = db.checkpoint();
    let _ = db.wait(db.durable());
    let _ = db.stats();
    for (_, table) in db.tables() {
        let Ok(look) = db.begin_read() else { continue };
        let _ = look.get(table, b"11");
        let mut scan = look.scan_all(table, Direction::Backward);
        while let Ok(Some(_)) = scan.next() {}
    }
    let _ = db.check();
}

fn use_until_it_fails(life: &mut Life<'_>, db: Db) -> bool {
    let steps = life.world.rng.random_range(1..600);
    let failed = life.world.use_it(&db, steps).is_err();
    if failed {
        look_around(&db);
    }
    if life.world.rng.random_bool(0.3) && db.close().is_ok() && !failed {
        life.world.closed();
    }
    failed
}

fn fail_to_write(seed: u64) -> u32 {
    let tally = Tally::default();
    let mut life = Life::begin(seed, UNITS[seed as usize % UNITS.len()], Size::Small, &tally);
    let mut failures = 0;
    for _ in 0..15 {
        let db = life.reopen();
        for _ in 0..life.world.rng.random_range(1..4) {
            let at = life.device.operations() + life.world.rng.random_range(1..200);
            let fault = [Fault::Error, Fault::Partial][life.world.rng.random_range(0..2)];
            life.device.schedule(at, fault);
        }
        failures += u32::from(use_until_it_fails(&mut life, db));
        match life.world.rng.random_bool(0.5) {
            true => life.crash(),
            false => life.mend(),
        }
    }
    life.reopen().close().unwrap();
    failures
}

fn fail_to_read(seed: u64) -> u32 {
    let tally = Tally::default();
    let mut life = Life::begin(seed, UNITS[seed as usize % UNITS.len()], Size::Small, &tally);
    let mut failures = 0;
    for _ in 0..15 {
        let mut db = Some(life.reopen());
        if life.world.rng.random_bool(0.3)
            && let Some(db) = db.take()
        {
            db.close().unwrap();
            life.world.closed();
        }
        let geometry = life.device.geometry().clone();
        for _ in 0..life.world.rng.random_range(1..20) {
            let zone = life.world.rng.random_range(0..geometry.zones);
            let page = life.world.rng.random_range(0..geometry.zone_capacity / 4096);
            life.device.fail_reads(zone, page * 4096);
        }
        failures += match db.map_or_else(|| life.open(), Ok) {
            Ok(db) => u32::from(use_until_it_fails(&mut life, db)),
            Err(_) => 1,
        };
        life.mend();
    }
    life.reopen().close().unwrap();
    failures
}

fn fail(what: fn(u64) -> u32) {
    let one = seeds::only();
    let most = 1 + seeds::times(4);
    let range = one.map_or(1..most, |seed| seed..seed + 1);
    let failures: u32 = range.map(|seed| seeds::run(seed, what)).sum();
    println!("{failures} failures");
    assert!(one.is_some() || u64::from(failures) > most);
}

#[test]
fn errors_of_writes_lose_nothing_that_was_promised() {
    fail(fail_to_write);
}

#[test]
fn errors_of_reads_lose_nothing_that_was_promised() {
    fail(fail_to_read);
}
