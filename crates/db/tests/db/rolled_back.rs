//! Zones of the store or of the log that are as they were before: each of the two tells how far the
//! other was durable, so a database that lost what it promised is not opened.

use std::sync::Arc;

use frostline_db::wal::WalError;
use frostline_db::{Create, Db, DbError, Options, Table};
use frostline_store::{Cleaning, Format, Store, StoreError};
use frostline_zone::{Device, Shape, Span, ZoneState, in_memory};

const ZONE: u64 = 1 << 18;
const KEYS: u32 = 1200;

fn shape() -> Shape {
    Shape::of_zones(64, ZONE)
}

fn options() -> Options {
    Options {
        background: false,
        cleaning: Cleaning::Inline,
        buffer_bytes: 40 * 4096,
        ..Options::default()
    }
}

fn create(unit: u32) -> Arc<dyn Device> {
    let device = in_memory(&shape()).unwrap();
    // One class, so that all of the store's chunks are in one zone for long.
    let store = Format { scheme: "nosep".to_string(), unit, ..Create::default().store };
    Db::create(&device, &Create { log_bytes: Some(20 * ZONE), store, ..Create::default() })
        .unwrap();
    device
}

/// Commits a version of so many keys at once.
fn commit(db: &Db, table: Table, version: u8, keys: impl Iterator<Item = u32>) {
    let mut transaction = db.begin().unwrap();
    for key in keys {
        transaction.put(table, &key.to_be_bytes(), &[version; 300]).unwrap();
    }
    transaction.commit().unwrap();
}

/// The first zone of the log: the store's are before it.
fn first_log_zone(device: &dyn Device) -> u32 {
    frostline_store::Store::zones_on(device).unwrap()
}

fn zone_bytes(device: &dyn Device, zone: u32) -> Vec<u8> {
    let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
    device.read(zone, 0, &mut bytes).unwrap();
    bytes
}

/// A device that has some zones of one, and the others of another.
fn mixed(
    one: &dyn Device,
    other: &dyn Device,
    is_of_other: impl Fn(u32) -> bool,
) -> Arc<dyn Device> {
    let to = in_memory(&shape()).unwrap();
    for zone in 0..one.geometry().zones {
        let from = if is_of_other(zone) { other } else { one };
        to.append(zone, 0, &zone_bytes(from, zone)).unwrap();
        if from.zone(zone).unwrap().state == ZoneState::Full {
            to.finish(zone).unwrap();
        }
    }
    to
}

fn copy(device: &dyn Device) -> Arc<dyn Device> {
    mixed(device, device, |_| false)
}

fn refused(device: &Arc<dyn Device>) -> DbError {
    Db::open(device, &options()).err().expect("a database that lost something")
}

#[test]
fn a_log_as_it_was_before_pages_were_written_is_refused() {
    for unit in [4096, 64] {
        let device = create(unit);
        let db = Db::open(&device, &options()).unwrap();
        let table = db.create_table("keys").unwrap();
        commit(&db, table, 1, 0..KEYS);
        db.checkpoint().unwrap();
        let earlier = copy(&*device);
        // So many that pages leave the buffer, and so few that no checkpoint is due: headers tell
        // of the log.
        for step in 0..600 {
            commit(&db, table, step as u8, (0..4).map(|n| (4 * step + n) * 7919 % KEYS));
        }
        assert_eq!(db.stats().unwrap().checkpoints, 1);
        drop(db);
        let first = first_log_zone(&*device);
        let error = refused(&mixed(&*device, &*earlier, |zone| zone >= first));
        let what = "what was durable behind it is missing";
        assert!(
            matches!(error, DbError::Wal(WalError::Damaged { why, .. }) if why == what),
            "{unit}: {error}"
        );
        Db::open(&device, &options()).unwrap();
    }
}

#[test]
fn a_log_of_a_closed_database_that_lacks_a_commit_is_refused() {
    let device = create(4096);
    let db = Db::open(&device, &Options { buffer_bytes: 1 << 20, ..options() }).unwrap();
    let table = db.create_table("keys").unwrap();
    commit(&db, table, 1, 0..10);
    let earlier = copy(&*device);
    commit(&db, table, 2, 0..1);
    db.close().unwrap();
    let first = first_log_zone(&*device);
    let error = refused(&mixed(&*device, &*earlier, |zone| zone >= first));
    let DbError::Wal(WalError::Damaged { zone, page, .. }) = error else { panic!("{error}") };
    assert_eq!(page * 4096, earlier.zone(first + zone).unwrap().write_pointer);
    // Of the store no more is missing than its chunks tell.
    let superblock = 1u32.to_le_bytes();
    let is_metadata =
        |zone| zone < first && zone_bytes(&*device, zone).get(8..12) == Some(&superblock[..]);
    let db = Db::open(&mixed(&*device, &*earlier, is_metadata), &options()).unwrap();
    let table = db.table("keys").unwrap();
    let value = db.begin_read().unwrap().get(table, &0u32.to_be_bytes()).unwrap();
    assert_eq!(value.as_deref(), Some(&[2; 300][..]));
    Db::open(&device, &options()).unwrap();
}

#[test]
fn a_store_as_it_was_before_a_checkpoint_that_the_log_tells_of_is_refused() {
    for unit in [4096, 64] {
        let device = create(unit);
        let db = Db::open(&device, &options()).unwrap();
        let table = db.create_table("keys").unwrap();
        commit(&db, table, 1, 0..KEYS);
        db.checkpoint().unwrap();
        let earlier = copy(&*device);
        commit(&db, table, 2, 0..KEYS);
        db.checkpoint().unwrap();
        commit(&db, table, 3, 0..1);
        drop(db);
        let first = first_log_zone(&*device);
        let error = refused(&mixed(&*device, &*earlier, |zone| zone < first));
        let DbError::Store(error) = error else { panic!("{unit}: {error}") };
        let is_it = matches!(*error, StoreError::Damaged { .. } | StoreError::Missing(_));
        assert!(is_it && error.to_string().contains("missing"), "{unit}: {error}");
        Db::open(&device, &options()).unwrap();
    }
}

/// A rebuild can't know how many notes there were, of which the log tells.
#[test]
fn a_database_whose_store_was_rebuilt_is_opened_though_the_log_tells_of_notes_that_are_gone() {
    let device = create(64);
    let db = Db::open(&device, &options()).unwrap();
    let table = db.create_table("keys").unwrap();
    for version in 1..4 {
        commit(&db, table, version, 0..KEYS);
        db.checkpoint().unwrap();
    }
    commit(&db, table, 4, 0..1);
    drop(db);
    let first = first_log_zone(&*device);
    let superblock = 1u32.to_le_bytes();
    let without_metadata = in_memory(&shape()).unwrap();
    for zone in 0..device.geometry().zones {
        let mut bytes = zone_bytes(&*device, zone);
        if zone < first && bytes.get(8..12) == Some(&superblock[..]) {
            bytes.truncate(2 * 4096);
        }
        without_metadata.append(zone, 0, &bytes).unwrap();
    }
    refused(&without_metadata);
    let store = Span::new(without_metadata.clone(), 0, first, None, None).unwrap();
    Store::rebuild(Arc::new(store), &Format::default(), false).unwrap();
    let db = Db::open(&without_metadata, &options()).unwrap();
    let table = db.table("keys").unwrap();
    for key in 0..KEYS {
        let value = db.begin_read().unwrap().get(table, &key.to_be_bytes()).unwrap();
        let version = if key == 0 { 4 } else { 3 };
        assert_eq!(value.as_deref(), Some(&[version; 300][..]), "key {key}");
    }
}
