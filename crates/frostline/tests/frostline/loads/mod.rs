//! Random loads through everything that a database offers: tables come, are renamed, cleared and
//! deleted, values of all lengths come and go, snapshots and ranges are held meanwhile, transactions
//! overlap, the database is full, closed, dropped, copied, backed up and opened with other options.
//! A model of ordered maps has the answers.
//!
//! `FROSTLINE_TIMES=n` runs n times as many, `FROSTLINE_SEED=n` one alone.

mod compare;
mod draw;
mod medium;
mod model;
mod opening;
mod tables;
mod writes;

use std::path::Path;
use std::thread;
use std::time::Duration;

use frostline::zone::{Shape, in_memory};
use frostline::{Db, Error, Options};
use frostline_testkit::seeds;
use rand::RngExt;

use self::compare::all_same;
use self::draw::Load;
use self::medium::{World, restored};
use self::model::{Came, Map, Model, may_be};
use self::opening::use_it;

fn options(load: &mut Load) -> Options {
    let options = Options::new()
        .memory([1 << 20, 2 << 20, 8 << 20][load.below(3)])
        .longest_logged_value([4096, 20_000, 256 << 10][load.below(3)])
        .fill([0.7, 0.9, 1.0][load.below(3)]);
    match load.one_in(4) {
        true => options.space(1.3),
        false => options,
    }
}

/// The device's shape, and how many zones of data it has for each of parity, if any.
fn shape(load: &mut Load) -> (Shape, Option<u32>) {
    let bytes = if load.is_large { [16, 20, 40] } else { [6, 12, 40] }[load.below(3)] << 20;
    let zone_bytes = Some([1 << 17, 1 << 18][load.below(2)]);
    match load.one_in(3) {
        true => {
            let (bytes, zone_bytes) = (bytes * 3 / 2, Some(1 << 16));
            (Shape { bytes, zone_bytes, ..Shape::default() }, Some(3))
        }
        false => (Shape { bytes, zone_bytes, ..Shape::default() }, None),
    }
}

/// Makes a database, and loads it if it is a large one. False if the device is too small for what
/// was drawn.
fn make(load: &mut Load, world: &World, model: &mut Model, came: &mut Came) -> bool {
    let made = options(load)
        .log_bytes([1 << 20, 2 << 20][load.below(2)])
        .unit([64, 4096, 512][load.below(3)]);
    let db = match made.open_device(world.device()) {
        Ok(db) => db,
        Err(Error::Refused(cause)) => {
            println!("{cause}");
            return false;
        }
        Err(error) => panic!("{error:?}"),
    };
    if load.is_large {
        // Over several leaves of the store's map, and in memory for a part of it.
        let all = (0..load.keys).filter(|_| load.rng.random_bool(0.7)).collect::<Vec<_>>();
        let records: Map = all.into_iter().map(|n| (load.key_of(n), vec![n as u8; 380])).collect();
        match db.ingest("table 0", &records) {
            Ok(_) => drop(model.tables.insert("table 0".to_string(), (0, records))),
            Err(error) => *came.entry(may_be(&error)).or_default() += 1,
        }
        model.next_table = 1;
    }
    db.close().unwrap();
    true
}

fn check(db: &Db) {
    let check = db.engine().check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
}

/// Opens the database and uses it, while backups follow or zones are lost, or not. Returns what it
/// is on from then on.
fn live_once(
    load: &mut Load,
    world: World,
    model: &mut Model,
    directory: &Path,
    came: &mut Came,
) -> World {
    let (mut world, backup) = (world, directory.join("backup"));
    let db = options(load).open_device(world.device()).unwrap();
    all_same(&db, &model.tables);
    model.reopened(&db);
    let within = load.one_in(3).then(|| Duration::from_millis(load.below(20) as u64));
    let follower = within.map(|within| db.follow(&backup, within).unwrap());
    if load.one_in(2) {
        world.lose_a_zone(load);
    }
    let steps = load.below(if load.is_large { 200 } else { 600 });
    use_it(load, &db, model, steps, came);
    check(&db);
    all_same(&db, &model.tables);
    if let Some(follower) = follower {
        db.sync().unwrap();
        let followed = follower.finish().unwrap();
        assert_eq!(followed.failures, 0, "{followed:?}");
        *came.entry("backups").or_default() += followed.backups;
        let again = restored(&backup);
        let copy = options(load).open_device(again.clone()).unwrap();
        all_same(&copy, &model.tables);
        if load.one_in(2) {
            // The machine is lost: the copy goes on.
            return World::of(again, load.seed, None);
        }
    }
    if world.data_zones.is_some() && load.one_in(3) {
        match db.engine().store().repair(None, &mut |_| {}) {
            Ok(report) => assert_eq!(report.findings, [], "not repaired"),
            Err(error) => println!("seed {}: {error}", load.seed),
        }
    }
    end(load, db, world, model, directory)
}

/// Ends an opening. Returns what the database is on from then on.
fn end(load: &mut Load, db: Db, mut world: World, model: &Model, directory: &Path) -> World {
    match load.below(5) {
        0 => db.close().unwrap(),
        1 => {
            let backup = directory.join("backup");
            db.sync().unwrap();
            db.back_up(&backup).unwrap();
            world = World::of(restored(&backup), load.seed, None);
        }
        2 => same_copy(load, &db, model, &directory.join("copy")),
        3 => {}
        _ => {
            db.sync().unwrap();
            world.lose_power(db);
        }
    }
    world
}

/// A copy with other options has the same records.
fn same_copy(load: &mut Load, db: &Db, model: &Model, path: &Path) {
    let _ = std::fs::remove_file(path);
    let copied = options(load).bound(256 << 20).copy(db, path).unwrap();
    let records: usize = model.tables.values().map(|(_, map)| map.len()).sum();
    assert_eq!(copied, records as u64);
    let copy = options(load).read_only(load.one_in(2)).open(path).unwrap();
    all_same(&copy, &model.tables);
}

/// Nothing stays of what is deleted.
fn delete_all(load: &mut Load, world: &World, model: &Model) {
    let db = options(load).open_device(world.device()).unwrap();
    all_same(&db, &model.tables);
    db.tables().iter().for_each(|name| db.delete_table(name).unwrap());
    db.close().unwrap();
    let db = options(load).open_device(world.device()).unwrap();
    let mut pages = 0;
    for _ in 0..400 {
        let table = db.table("last").unwrap();
        db.update(|tx| tx.put(table, "a", "b")).unwrap();
        pages = db.stats().unwrap().pages;
        if pages <= 6 {
            break;
        }
        // A thread frees them.
        thread::sleep(Duration::from_millis(5));
    }
    check(&db);
    assert!(pages <= 6, "{pages} pages are in use");
}

fn live(seed: u64) {
    let mut load = Load::of(seed);
    let directory = tempfile::tempdir().unwrap();
    let (shape, data_zones) = shape(&mut load);
    let mut world = World::of(in_memory(&shape).unwrap(), seed, data_zones);
    let (mut model, mut came) = (Model::default(), Came::new());
    if make(&mut load, &world, &mut model, &mut came) {
        for _ in 0..5 {
            world = live_once(&mut load, world, &mut model, directory.path(), &mut came);
        }
        delete_all(&mut load, &world, &model);
    }
    println!("seed {seed}: {came:?}");
}

#[test]
fn a_database_does_what_ordered_maps_do_whatever_is_done_to_it() {
    match seeds::only() {
        Some(seed) => live(seed),
        None => drop(seeds::each(seeds::first()..seeds::first() + seeds::times(6), live)),
    }
}
