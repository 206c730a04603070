//! A database through several crashes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_db::wal::WalError;
use frostline_db::{Create, Db, DbError, Options, Replacement};
use frostline_store::{Cleaning, Compression, Format, StoreError};
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, Tail, in_memory};
use rand::RngExt;

use super::world::World;

/// The activity during which the power was cut.
#[derive(Default)]
pub(crate) struct Tally {
    pub crashes: AtomicU64,
    pub kills: AtomicU64,
    pub recoveries: AtomicU64,
    pub most_pages: AtomicU64,
    pub commits: AtomicU64,
    pub pages_evicted: AtomicU64,
    pub pages_kept: AtomicU64,
    pub records_without_page: AtomicU64,
    pub records_unread: AtomicU64,
    pub pages_checkpointed: AtomicU64,
    pub pages_rewritten: AtomicU64,
    pub deltas: AtomicU64,
    pub tails: AtomicU64,
    pub log_pages_saved: AtomicU64,
    pub deltas_merged: AtomicU64,
}

fn is_crash(error: &DbError) -> bool {
    match error {
        DbError::Store(error) => is_crash_of_store(error),
        DbError::Wal(WalError::Device(error)) => matches!(**error, DeviceError::Crashed),
        _ => false,
    }
}

fn is_crash_of_store(error: &StoreError) -> bool {
    match error {
        StoreError::Device(error) => matches!(**error, DeviceError::Crashed),
        StoreError::Failed(error) => is_crash_of_store(error),
        _ => false,
    }
}

/// A database through several crashes.
pub(crate) struct Life<'t> {
    pub world: World,
    pub device: Arc<Faulty>,
    /// The device below the faults.
    memory: Arc<dyn Device>,
    options: Options,
    size: Size,
    tally: &'t Tally,
}

/// How many pages a database has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// Some hundreds: one leaf of the store's map has them.
    Small,
    /// Some thousands, at times.
    Large,
}

impl<'t> Life<'t> {
    pub(crate) fn begin(seed: u64, unit: u32, size: Size, tally: &'t Tally) -> Self {
        let mut world = World::new(seed);
        let rng = &mut world.rng;
        let zone_bytes = 4096 * rng.random_range(20..80u64);
        let log_zones = rng.random_range(4..9u64);
        let of_pages = match size {
            // With fewer a store with deltas may have no room for a page.
            Size::Small => rng.random_range(24..54u64),
            Size::Large => (40 << 20) / zone_bytes,
        };
        let zones = log_zones + of_pages;
        let shape = Shape::of_zones(zones, zone_bytes);
        let memory: Arc<dyn Device> = in_memory(&shape).unwrap();
        let schemes = ["sepbit", "nosep", "sepgc", "dac", "mida:classes=4", "2r-fifo"];
        let store = Format {
            scheme: schemes[rng.random_range(0..schemes.len())].to_string(),
            checkpoint_writes: Some(rng.random_range(30..400)),
            unit,
            ..Format::default()
        };
        let log_bytes = Some(log_zones * zone_bytes);
        Db::create(&memory, &Create { store, log_bytes, instances: 1 }).unwrap();
        let tail = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes][rng.random_range(0..4)];
        let replacement = [Replacement::Clock, Replacement::Watt][rng.random_range(0..2)];
        let frames = [64, 64, 100, 1000][rng.random_range(0..4)];
        let options = Options {
            buffer_bytes: frames * 4096,
            replacement,
            background: false,
            cleaning: Cleaning::Inline,
            compression: [Compression::Zstd, Compression::None, Compression::Lz4]
                [seed as usize / 4 % 3],
            // Half of the histories use a part of their log, but for large transactions.
            recovery_bytes: (seed / 12 % 2 == 1).then_some(0),
            // In a third of the histories long values have pages of their own.
            longest_logged_value: if seed.is_multiple_of(3) { 1500 } else { usize::MAX },
            fill: [0.9, 1.0, 0.7][seed as usize / 24 % 3],
            ..Options::default()
        };
        let device = Arc::new(Faulty::new(memory.clone(), seed).with_tail(tail));
        Life { world, device, memory, options, size, tally }
    }

    pub(crate) fn open(&self) -> Result<Db, DbError> {
        let device: Arc<dyn Device> = self.device.clone();
        Db::open(&device, &self.options)
    }

    /// Schedules a power cut, or a kill of the database's process.
    fn schedule_end(&mut self, within: u64) -> Fault {
        let end = if self.world.rng.random_bool(0.2) { Fault::Kill } else { Fault::PowerCut };
        let at = self.device.operations() + self.world.rng.random_range(1..within);
        self.device.schedule(at, end);
        end
    }

    /// Cuts the power.
    pub(crate) fn crash(&mut self) {
        self.go_on(Fault::PowerCut);
    }

    /// The device after a power cut, or as the next process finds it.
    fn go_on(&mut self, end: Fault) {
        let (ended, next) = match end {
            Fault::Kill => (&self.tally.kills, self.device.reopen()),
            _ => (&self.tally.crashes, self.device.restart()),
        };
        ended.fetch_add(1, Relaxed);
        self.device = Arc::new(next.unwrap());
    }

    /// Opens the database, perhaps with power cuts and kills on the way, and compares it with what
    /// is expected.
    pub(crate) fn reopen(&mut self) -> Db {
        while self.world.rng.random_bool(0.3) {
            let end = self.schedule_end(15);
            if let Err(error) = self.open() {
                assert!(is_crash(&error), "{error}");
                self.tally.recoveries.fetch_add(1, Relaxed);
            }
            self.go_on(end);
        }
        let db = self.open().unwrap();
        self.world.opened_again(&db).unwrap();
        db
    }

    /// Opens the database and uses it until the power is cut, or its program is killed.
    pub(crate) fn pass(&mut self) {
        let mut db = self.reopen();
        if self.world.rng.random_bool(0.15) {
            return self.kill(db);
        }
        let is_closed = self.world.rng.random_bool(0.3);
        if is_closed {
            db.close().unwrap();
            self.world.closed();
            db = self.open().unwrap();
        }
        if self.size == Size::Large && self.world.rng.random_bool(0.5) {
            self.world.ingest_many(&db).unwrap();
        }
        let within = if self.world.rng.random_bool(0.2) { 600 } else { 60 };
        let end = self.schedule_end(within);
        let error = self.world.use_it(&db, u32::MAX).unwrap_err();
        assert!(is_crash(&error), "{error}");
        self.count(&db);
        drop(db);
        self.go_on(end);
    }

    /// Uses the database, and ends it in the middle. What reached the device is there, synced or
    /// not, unless the power is cut as well.
    fn kill(&mut self, db: Db) {
        let steps = self.world.rng.random_range(1..300);
        self.world.use_it(&db, steps).unwrap();
        self.count(&db);
        drop(db);
        self.go_on(Fault::Kill);
        if self.world.rng.random_bool(0.5) {
            self.crash();
        }
    }

    fn count(&self, db: &Db) {
        if let Ok(stats) = db.stats() {
            self.tally.most_pages.fetch_max(stats.pages.into(), Relaxed);
            self.tally.commits.fetch_add(stats.commits, Relaxed);
            self.tally.pages_evicted.fetch_add(stats.pages_evicted, Relaxed);
            self.tally.pages_kept.fetch_add(stats.pages_kept, Relaxed);
            self.tally.records_without_page.fetch_add(stats.records_without_page, Relaxed);
            self.tally.records_unread.fetch_add(stats.records_unread, Relaxed);
            self.tally.pages_checkpointed.fetch_add(stats.pages_checkpointed, Relaxed);
            self.tally.pages_rewritten.fetch_add(stats.pages_rewritten, Relaxed);
            self.tally.deltas.fetch_add(stats.store.deltas.written, Relaxed);
            self.tally.tails.fetch_add(stats.store.deltas.tails, Relaxed);
            self.tally.log_pages_saved.fetch_add(stats.log.pages_saved, Relaxed);
            self.tally.deltas_merged.fetch_add(stats.store.deltas.merged, Relaxed);
        }
    }

    /// The device is as it is, and works from now on.
    pub(crate) fn mend(&mut self) {
        let seed = self.world.rng.random();
        self.device = Arc::new(Faulty::new(self.memory.clone(), seed));
    }
}
