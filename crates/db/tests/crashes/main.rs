//! Power cuts at any moment, from a seed: commits that were waited for are there, of the others
//! the first ones, each whole; the structure is sound, and the database goes on working.
//!
//! Every history is a function of its seed. `FROSTLINE_CRASH_SEED=n` runs that one alone, and
//! `FROSTLINE_CRASHES=n` as many crashes.

mod history;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_db::wal::WalError;
use frostline_db::{Create, Db, DbError, Options, Replacement};
use frostline_store::{Cleaning, Format, StoreError};
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, Tail, in_memory};
use rand::RngExt;
use world::World;

/// What was going on when the power was cut.
#[derive(Default)]
struct Tally {
    crashes: AtomicU64,
    kills: AtomicU64,
    recoveries: AtomicU64,
    commits: AtomicU64,
    pages_evicted: AtomicU64,
    pages_checkpointed: AtomicU64,
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
struct Life<'t> {
    world: World,
    device: Arc<Faulty>,
    options: Options,
    tally: &'t Tally,
}

impl<'t> Life<'t> {
    fn begin(seed: u64, tally: &'t Tally) -> Self {
        let mut world = World::new(seed);
        let rng = &mut world.rng;
        let zone_bytes = 4096 * rng.random_range(20..80u64);
        let log_zones = rng.random_range(4..9u64);
        let zones = log_zones + rng.random_range(20..50u64);
        let shape =
            Shape { bytes: zones * zone_bytes, zone_bytes: Some(zone_bytes), ..Shape::default() };
        let memory: Arc<dyn Device> = in_memory(&shape).unwrap();
        let schemes = ["sepbit", "nosep", "sepgc", "dac", "mida:classes=4", "2r-fifo"];
        let store = Format {
            scheme: schemes[rng.random_range(0..schemes.len())].to_string(),
            checkpoint_writes: Some(rng.random_range(30..400)),
            ..Format::default()
        };
        let log_bytes = Some(log_zones * zone_bytes);
        Db::create(&memory, &Create { store, log_bytes, instances: 1 }).unwrap();
        let tail = [Tail::Whole, Tail::Torn, Tail::Garbage][rng.random_range(0..3)];
        let replacement = [Replacement::Clock, Replacement::Watt][rng.random_range(0..2)];
        let frames = [64, 64, 100, 1000][rng.random_range(0..4)];
        let options = Options {
            buffer_bytes: frames * 4096,
            replacement,
            background: false,
            cleaning: Cleaning::Inline,
            ..Options::default()
        };
        let device = Arc::new(Faulty::new(memory, seed).with_tail(tail));
        Life { world, device, options, tally }
    }

    fn open(&self) -> Result<Db, DbError> {
        let device: Arc<dyn Device> = self.device.clone();
        Db::open(&device, &self.options)
    }

    fn schedule_cut(&mut self, within: u64) {
        let cut = self.device.operations() + self.world.rng.random_range(1..within);
        self.device.schedule(cut, Fault::PowerCut);
    }

    fn crash(&mut self) {
        self.tally.crashes.fetch_add(1, Relaxed);
        self.device = Arc::new(self.device.restart().unwrap());
    }

    /// Opens the database, perhaps with power cuts on the way, and compares it with what is
    /// expected.
    fn reopen(&mut self) -> Db {
        while self.world.rng.random_bool(0.3) {
            self.schedule_cut(15);
            if let Err(error) = self.open() {
                assert!(is_crash(&error), "{error}");
                self.tally.recoveries.fetch_add(1, Relaxed);
            }
            self.crash();
        }
        let db = self.open().unwrap();
        self.world.settle(&db).unwrap();
        db
    }

    /// Opens the database and uses it until the power is cut, or its program is killed.
    fn pass(&mut self) {
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
        let within = if self.world.rng.random_bool(0.2) { 600 } else { 60 };
        self.schedule_cut(within);
        let error = self.world.use_it(&db, u32::MAX).unwrap_err();
        assert!(is_crash(&error), "{error}");
        self.count(&db);
        drop(db);
        self.crash();
    }

    /// Uses the database, and ends it in the middle. What reached the device is there, synced or
    /// not, unless the power is cut as well.
    fn kill(&mut self, db: Db) {
        let steps = self.world.rng.random_range(1..300);
        self.world.use_it(&db, steps).unwrap();
        self.tally.kills.fetch_add(1, Relaxed);
        self.count(&db);
        drop(db);
        if self.world.rng.random_bool(0.5) {
            self.crash();
        }
    }

    fn count(&self, db: &Db) {
        if let Ok(stats) = db.stats() {
            self.tally.commits.fetch_add(stats.commits, Relaxed);
            self.tally.pages_evicted.fetch_add(stats.pages_evicted, Relaxed);
            self.tally.pages_checkpointed.fetch_add(stats.pages_checkpointed, Relaxed);
        }
    }
}

fn live(seed: u64, passes: u32, tally: &Tally) {
    let mut life = Life::begin(seed, tally);
    (0..passes).for_each(|_| life.pass());
    life.device = Arc::new(life.device.restart().unwrap());
    life.reopen().close().unwrap();
}

#[test]
fn commits_survive_power_cuts_whole_and_in_their_order() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let tally = Tally::default();
    let wanted = number("FROSTLINE_CRASHES").unwrap_or(5_000);
    if let Some(seed) = number("FROSTLINE_CRASH_SEED") {
        live(seed, 20, &tally);
        return;
    }
    let seeds = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while tally.crashes.load(Relaxed) < wanted {
                    let seed = seeds.fetch_add(1, Relaxed);
                    let lived = std::panic::catch_unwind(|| live(seed, 20, &tally));
                    if let Err(thrown) = lived {
                        eprintln!("FROSTLINE_CRASH_SEED={seed} fails again");
                        std::panic::resume_unwind(thrown);
                    }
                }
            });
        }
    });
    let of = |n: &AtomicU64| n.load(Relaxed);
    println!(
        "{} crashes and {} kills of {} databases, {} in recovery; {} commits, {} pages evicted, {} written by checkpoints",
        of(&tally.crashes),
        of(&tally.kills),
        of(&seeds) - 1,
        of(&tally.recoveries),
        of(&tally.commits),
        of(&tally.pages_evicted),
        of(&tally.pages_checkpointed),
    );
    assert!(of(&tally.crashes) >= wanted);
}
