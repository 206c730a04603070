//! Many threads on a database with little memory and a short log: every thread knows what its own
//! records must be, and scanners what must hold for all.
//!
//! `FROSTLINE_TIMES=n` goes on for longer, and `FROSTLINE_FIRST_SEED=n` begins elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::shapes::{Load, SHAPES, SLOT, Step, enough_pages};
use frostline_db::{Create, Db, DbError, Direction, Options, Replacement, Table};
use frostline_store::{Cleaning, Format};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Accounts, whose sum stays.
const ACCOUNTS: u32 = 60;

/// The sum of all accounts.
const SUM: u64 = 60 * 1000;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A database whose pages do not fit into its memory, nor their changes into its log.
fn device(seed: u64) -> Arc<dyn Device> {
    let shape = Shape { bytes: 40 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    let log_bytes = Some([2 << 20, 4 << 20, 8 << 20][seed as usize % 3]);
    let unit = [4096, 64][seed as usize / 2 % 2];
    let store = Format { unit, ..Create::default().store };
    Db::create(&device, &Create { store, log_bytes, ..Create::default() }).unwrap();
    device
}

fn options(seed: u64, background: bool) -> Options {
    Options {
        buffer_bytes: [64, 80, 200][seed as usize / 3 % 3] * 4096,
        replacement: [Replacement::Clock, Replacement::Watt][seed as usize % 2],
        background,
        cleaning: if background { Cleaning::Background } else { Cleaning::Inline },
        commit_delay: Duration::from_millis(1),
        ..Options::default()
    }
}

/// Writes records that no other thread writes, and knows what they are.
struct Writer {
    rng: SmallRng,
    number: u8,
    model: Model,
    /// Keys that come and go, in place of any.
    load: Option<Load>,
}

impl Writer {
    /// The next key to be put or deleted.
    fn step(&mut self, deletes: bool) -> Step {
        let number = self.number;
        // Threads' records lie in the same leaves here as well.
        let own = |key: Vec<u8>| [&key[..], &[number]].concat();
        match self.load.as_mut().map(|load| load.step(&mut self.rng)) {
            Some(Step::Put(key)) => Step::Put(own(key)),
            Some(Step::Delete(key)) => Step::Delete(own(key)),
            None if deletes => Step::Delete(self.key()),
            None => Step::Put(self.key()),
        }
    }

    fn key(&mut self) -> Vec<u8> {
        let n: u32 = self.rng.random_range(0..3000);
        let mut key = (n / 8).to_be_bytes().to_vec();
        key.extend(std::iter::repeat_n(b'k', (n % 97) as usize));
        // Threads' records lie in the same leaves.
        key.extend([self.number, n as u8]);
        key
    }

    fn act(&mut self, db: &Db, table: Table) -> Result<(), DbError> {
        let mut transaction = db.begin()?;
        let mut model = Model::new();
        let mut deleted = Vec::new();
        let deletes = [0.1, 0.5, 0.9][self.rng.random_range(0..3)];
        for _ in 0..self.rng.random_range(1..40) {
            let deletes = self.rng.random_bool(deletes);
            match self.step(deletes) {
                Step::Delete(key) => {
                    transaction.delete(table, &key)?;
                    model.remove(&key);
                    deleted.push(key);
                }
                Step::Put(key) => {
                    let longest = if self.rng.random_bool(0.02) { 5000 } else { 300 };
                    let value = vec![self.rng.random(); self.rng.random_range(0..longest)];
                    transaction.put(table, &key, &value)?;
                    deleted.retain(|other| *other != key);
                    model.insert(key, value);
                }
            }
        }
        match self.rng.random_range(0..10) {
            0 => return Ok(()),
            1 => transaction.commit()?,
            _ => drop(transaction.commit_soon()?),
        }
        deleted.iter().for_each(|key| drop(self.model.remove(key)));
        self.model.extend(model);
        let key = self.key();
        let found = db.begin_read()?.get(table, &key)?;
        assert_eq!(found.as_ref(), self.model.get(&key));
        Ok(())
    }
}

/// Moves something from one account to another.
fn transfer(rng: &mut SmallRng, db: &Db, table: Table) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    let mut accounts = [0, 0].map(|_| rng.random_range(0..ACCOUNTS).to_be_bytes());
    if accounts[0] == accounts[1] {
        accounts[1] = ((u32::from_be_bytes(accounts[0]) + 1) % ACCOUNTS).to_be_bytes();
    }
    let amount = rng.random_range(1..5);
    for (account, is_given) in accounts.iter().zip([false, true]) {
        let balance = balance(&transaction.get(table, account)?.unwrap());
        let after = if is_given { balance + amount } else { balance.wrapping_sub(amount) };
        // Of different lengths, so that pages split, and often of the same, as records without page
        // need it.
        let mut value = after.to_le_bytes().to_vec();
        value.resize(8 + [100, rng.random_range(0..400)][rng.random_range(0..2)], 7);
        transaction.put(table, account, &value)?;
    }
    transaction.commit_soon().map(drop)
}

fn balance(value: &[u8]) -> u64 {
    u64::from_le_bytes(value[..8].try_into().unwrap())
}

fn scan_accounts(rng: &mut SmallRng, db: &Db, table: Table) -> Result<(), DbError> {
    let look = db.begin_read()?;
    for _ in 0..2 {
        let direction = [Direction::Forward, Direction::Backward][rng.random_range(0..2)];
        let mut scan = look.scan_all(table, direction);
        let (mut sum, mut count) = (0u64, 0);
        while let Some((_, value)) = scan.next()? {
            sum = sum.wrapping_add(balance(value));
            count += 1;
        }
        assert_eq!((sum, count), (SUM, ACCOUNTS));
    }
    Ok(())
}

/// Scans the writers' records: they come in order, each once.
fn scan_records(rng: &mut SmallRng, db: &Db, table: Table) -> Result<(), DbError> {
    let look = db.begin_read()?;
    let bound = rng.random_range(0..400u32).to_be_bytes();
    let mut last: Option<Vec<u8>> = None;
    let mut scan = look.scan(table, &bound, Direction::Forward);
    while let Some((key, _)) = scan.next()? {
        assert!(last.as_deref().is_none_or(|last| last < key));
        last = Some(key.to_vec());
    }
    Ok(())
}

/// Lets a thread do one thing again and again until the time is over.
fn repeat(stop: &AtomicBool, done: &AtomicU64, mut act: impl FnMut() -> Result<(), DbError>) {
    while !stop.load(Relaxed) {
        match act() {
            Ok(()) => drop(done.fetch_add(1, Relaxed)),
            Err(DbError::Conflict | DbError::Full { .. } | DbError::TooLarge { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Transactions of writers, transfers, scans of accounts and of records that each seed makes at
/// least.
const ENOUGH: [u64; 4] = [300, 200, 10, 10];

fn stress(seed: u64, background: bool) {
    println!("seed {seed}, background {background}");
    let device = device(seed);
    let db = Db::open(&device, &options(seed, background)).unwrap();
    let (records, accounts) = (db.create_table("r").unwrap(), db.create_table("a").unwrap());
    let mut first = db.begin().unwrap();
    for n in 0..ACCOUNTS {
        first.put(accounts, &n.to_be_bytes(), &(SUM / u64::from(ACCOUNTS)).to_le_bytes()).unwrap();
    }
    first.commit().unwrap();
    let stop = AtomicBool::new(false);
    let done = [const { AtomicU64::new(0) }; 4];
    let rng = |n: u64| SmallRng::seed_from_u64(seed << 8 | n);
    let models: Vec<Model> = std::thread::scope(|scope| {
        let (db, stop, done) = (&db, &stop, &done);
        let writers: Vec<_> = (0..4u8)
            .map(|number| {
                let rng = rng(u64::from(number));
                scope.spawn(move || {
                    let shape = SHAPES[(seed as usize + usize::from(number)) % SHAPES.len()];
                    let load = (number % 2 == 1).then(|| Load::new(shape, 500));
                    let mut writer = Writer { rng, number, model: Model::new(), load };
                    repeat(stop, &done[0], || writer.act(db, records));
                    writer.model
                })
            })
            .collect();
        for n in 10..12 {
            let mut rng = rng(n);
            scope.spawn(move || repeat(stop, &done[1], || transfer(&mut rng, db, accounts)));
        }
        let (mut one, mut other) = (rng(20), rng(21));
        scope.spawn(move || repeat(stop, &done[2], || scan_accounts(&mut one, db, accounts)));
        scope.spawn(move || repeat(stop, &done[3], || scan_records(&mut other, db, records)));
        let is_enough =
            || done.iter().zip(ENOUGH).all(|(done, enough)| done.load(Relaxed) >= enough);
        while !is_enough() && !writers.iter().any(|writer| writer.is_finished()) {
            std::thread::sleep(Duration::from_millis(2));
        }
        stop.store(true, Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let model: Model = models.into_iter().flatten().collect();
    compare(&db, records, &model);
    let stats = db.stats().unwrap();
    let (kept, records) = (stats.pages_kept, stats.records_without_page);
    println!(
        "{done:?} {:?}, changes of {kept} pages kept, {records} records without page",
        stats.log_used
    );
    match seed % 2 {
        0 => db.close().unwrap(),
        // As if the program had been killed.
        _ => {
            db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
            drop(db);
        }
    }
    let db = Db::open(&device, &options(seed, background)).unwrap();
    compare(&db, db.table("r").unwrap(), &model);
}

fn compare(db: &Db, table: Table, model: &Model) {
    let look = db.begin_read().unwrap();
    let mut scan = look.scan_all(table, Direction::Forward);
    for (key, value) in model {
        assert_eq!(scan.next().unwrap(), Some((&key[..], &value[..])));
    }
    assert_eq!(scan.next().unwrap(), None);
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:#?}", check.findings);
    let bytes: u64 = check.trees.iter().map(|tree| tree.bytes + tree.records * SLOT).sum();
    assert!(u64::from(check.pages) <= enough_pages(bytes), "{check:#?}");
}

#[test]
fn threads_that_write_and_scan_lose_nothing() {
    // Closed and killed, with threads of the database and without, each with pages written whole
    // and in units: eight seeds have all of that, four most of it.
    for seed in seeds::first()..seeds::first() + seeds::times(4) {
        stress(seed, seed % 4 != 3);
    }
}

/// Commits until something fails; what was promised until then.
fn write_until_it_fails(db: &Db, table: Table, number: u8) -> Model {
    let mut model = Model::new();
    for n in 0u64.. {
        let key = [&[number][..], &(n % 500).to_be_bytes()].concat();
        let value = n.to_le_bytes().repeat(20);
        let committed = db.begin().and_then(|mut transaction| {
            transaction.put(table, &key, &value)?;
            transaction.commit()
        });
        if committed.is_err() {
            break;
        }
        model.insert(key, value);
    }
    model
}

#[test]
fn a_device_that_fails_ends_every_thread_and_takes_nothing_that_was_promised() {
    for seed in 0..8 {
        let memory = device(seed);
        let faulty = Arc::new(Faulty::new(memory.clone(), seed));
        let failing: Arc<dyn Device> = faulty.clone();
        let db = Db::open(&failing, &options(seed, true)).unwrap();
        let table = db.create_table("t").unwrap();
        let first = faulty.operations() + 100 + 40 * seed;
        (0..2000).for_each(|n| faulty.schedule(first + n, Fault::Error));
        let model: Model = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6u8)
                .map(|number| {
                    scope.spawn({
                        let db = &db;
                        move || write_until_it_fails(db, table, number)
                    })
                })
                .collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        assert!(db.begin().and_then(|t| t.commit()).is_err() || db.checkpoint().is_err());
        drop(db);
        let db = Db::open(&memory, &options(seed, false)).unwrap();
        let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
        for (key, value) in &model {
            let found = look.get(table, key).unwrap().unwrap();
            // A commit that was under way when the device failed may have arrived.
            let version = |value: &[u8]| u64::from_le_bytes(value[..8].try_into().unwrap());
            assert!(version(&found) >= version(value));
        }
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:#?}", check.findings);
    }
}
