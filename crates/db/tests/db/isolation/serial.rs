//! Histories of appends to lists, with snapshots and serializable: write skew is there without the
//! option and never with it, whatever crashes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use frostline_db::{Commit, Create, Db, DbError, Options, Table};
use frostline_store::Cleaning;
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Shape, Tail, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::appends::{Attempt, fresh, lists};
use super::judge::{Done, Lists, check_snapshots, is_serializable};
use super::{database, is_sound};

/// A database through crashes, with several transactions at a time in one thread.
struct Life {
    rng: SmallRng,
    device: Arc<Faulty>,
    serializable: bool,
    number: u32,
    /// Transactions of all openings before, that are there.
    history: Vec<Done>,
    /// Those of this opening. If a commit failed, it is seen later whether it happened.
    later: Vec<(Done, Option<Commit>)>,
    /// Commits up to here survive the next crash.
    durable: Commit,
    crashes: u32,
}

fn options() -> Options {
    let cleaning = Cleaning::Inline;
    Options { buffer_bytes: 0, background: false, cleaning, ..Options::default() }
}

impl Life {
    fn new(seed: u64, serializable: bool) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let shape = Shape { bytes: 32 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
        let memory: Arc<dyn Device> = in_memory(&shape).unwrap();
        let create = Create { log_bytes: Some(4 << 20), ..Create::default() };
        Db::create(&memory, &create).unwrap();
        let db = Db::open(&memory, &options()).unwrap();
        db.create_table("t").unwrap();
        db.close().unwrap();
        let tail = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes][rng.random_range(0..4)];
        let device = Arc::new(Faulty::new(memory, seed).with_tail(tail));
        let (history, later) = (Vec::new(), Vec::new());
        let durable = Commit::default();
        Life { rng, device, serializable, number: 1, history, later, durable, crashes: 0 }
    }

    /// Opens it, and uses it until the power is cut or it had all transactions.
    fn pass(&mut self, most: u32) -> Lists {
        let device: Arc<dyn Device> = self.device.clone();
        let db = Db::open(&device, &options()).unwrap();
        let table = db.table("t").unwrap();
        let lists = lists(&db, table).unwrap();
        self.opened_again(&lists);
        let at = self.device.operations() + self.rng.random_range(5..150);
        self.device.schedule(at, Fault::PowerCut);
        let ended = self.use_it(&db, table, most);
        drop(db);
        self.crashes += u32::from(ended.is_err());
        self.device = Arc::new(self.device.restart().unwrap());
        lists
    }

    fn use_it(&mut self, db: &Db, table: Table, most: u32) -> Result<(), DbError> {
        let mut open: Vec<Attempt<'_>> = Vec::new();
        while self.number < most {
            let which = self.rng.random_range(0..6);
            if which >= open.len() {
                let (done, is_writer) =
                    (fresh(self.number, self.number), self.rng.random_bool(0.8));
                self.number += 1;
                open.push(Attempt::begin(db, table, self.serializable, done, is_writer)?);
            } else if self.rng.random_bool(0.7) {
                open[which].step(&mut self.rng)?;
            } else {
                self.commit(db, open.swap_remove(which))?;
            }
        }
        Ok(())
    }

    fn commit(&mut self, db: &Db, attempt: Attempt<'_>) -> Result<(), DbError> {
        let (done, outcome) = attempt.commit();
        if matches!(outcome, Err(DbError::Conflict)) {
            return Ok(());
        }
        self.later.push((done, outcome.as_ref().ok().copied()));
        let commit = outcome?;
        if self.rng.random_bool(0.5) {
            db.wait(commit)?;
            self.durable = self.durable.max(commit);
        }
        Ok(())
    }

    /// Of the transactions of the last opening, those count that the lists have, and readers that
    /// saw nothing else.
    fn opened_again(&mut self, lists: &Lists) {
        for (done, commit) in std::mem::take(&mut self.later) {
            let of = |list| lists.get(list).map_or(&[][..], |order| order);
            let is_there = match done.appends.first() {
                Some(list) => of(list).contains(&done.number),
                None => done.reads.iter().all(|(list, read)| of(list).starts_with(read)),
            };
            if is_there || commit.is_some_and(|commit| commit <= self.durable) {
                self.history.push(done);
            }
        }
    }
}

/// A history of crashes, and its lists at the end.
fn live(seed: u64, serializable: bool) -> (Vec<Done>, Lists, u32) {
    let mut life = Life::new(seed, serializable);
    let most = seeds::times(4000) as u32;
    while life.number < most {
        life.pass(most);
    }
    let lists = life.pass(0);
    (life.history, lists, life.crashes)
}

#[test]
fn of_crashes_snapshots_remain_and_write_skew_is_found_without_serializable_only() {
    for seed in 1..4 {
        for serializable in [false, true] {
            let (history, lists, crashes) = live(seed, serializable);
            println!("{} transactions, {crashes} crashes", history.len());
            check_snapshots(&history, &lists);
            assert_eq!(is_serializable(&history, &lists), serializable, "seed {seed}");
            assert!(crashes > 10 && history.len() > 500);
        }
    }
}

/// A history of threads, and its lists at the end.
fn run_in_threads(serializable: bool, background: bool) -> (Vec<Done>, Lists) {
    let (db, table) = database(background);
    let (all, numbers) = (Mutex::new(Vec::new()), AtomicU32::new(1));
    let most = seeds::times(1400) as u32;
    std::thread::scope(|scope| {
        for session in 0..4 {
            let (db, all, numbers) = (&db, &all, &numbers);
            scope.spawn(move || {
                let mut rng = SmallRng::seed_from_u64(session.into());
                let mut number = numbers.fetch_add(1, Relaxed);
                while number < most {
                    let (done, is_writer) = (fresh(number, session), rng.random_bool(0.8));
                    let begun = Attempt::begin(db, table, serializable, done, is_writer);
                    let mut attempt = begun.unwrap();
                    for _ in 0..rng.random_range(1..8) {
                        attempt.step(&mut rng).unwrap();
                        std::thread::yield_now();
                    }
                    match attempt.commit() {
                        (done, Ok(_)) => all.lock().unwrap().push(done),
                        (_, Err(DbError::Conflict)) => {}
                        (_, Err(error)) => panic!("{error}"),
                    }
                    number = numbers.fetch_add(1, Relaxed);
                }
            });
        }
    });
    let lists = lists(&db, table).unwrap();
    is_sound(&db);
    let mut history = all.into_inner().unwrap();
    history.sort_by_key(|done| done.number);
    (history, lists)
}

#[test]
fn transactions_of_threads_are_serializable_where_that_is_asked_for() {
    for background in [false, true] {
        for serializable in [false, true] {
            let (history, lists) = run_in_threads(serializable, background);
            println!("{} transactions", history.len());
            check_snapshots(&history, &lists);
            assert!(!serializable || is_serializable(&history, &lists));
            assert!(history.len() > 100);
        }
    }
}

#[test]
fn a_serializable_transaction_conflicts_with_what_changed_of_its_reads_and_nothing_else() {
    type Read = fn(&frostline_db::Transaction<'_>, Table);
    let get: Read = |transaction, table| drop(transaction.get(table, b"d").unwrap());
    let scan: Read = |transaction, table| {
        let mut scan = transaction.scan(table, b"c", frostline_db::Direction::Forward);
        assert_eq!(scan.next().unwrap().unwrap().0, b"d");
        assert_eq!(scan.next().unwrap().unwrap().0, b"f");
    };
    let back: Read = |transaction, table| {
        let mut scan = transaction.scan(table, b"f", frostline_db::Direction::Backward);
        assert_eq!(scan.next().unwrap().unwrap().0, b"f");
        assert_eq!(scan.next().unwrap().unwrap().0, b"d");
    };
    let all: Read = |transaction, table| drop(super::all(transaction, table));
    for (read, touched) in [(get, "d"), (scan, "cdef"), (back, "def"), (all, "abcdefgh")] {
        for other in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            for (deletes, bytes) in [(false, 1), (true, 1), (false, 3000), (true, 3000)] {
                let (db, table) = database(false);
                let (one, two) = ("1".repeat(bytes), "2".repeat(bytes));
                super::set(&db, table, &["b", "d", "f", "g"].map(|key| (key, &one[..])));
                let mut transaction = db.begin_serializable().unwrap();
                read(&transaction, table);
                transaction.put(table, b"x", b"1").unwrap();
                match deletes {
                    true => super::delete(&db, table, other),
                    false => super::set(&db, table, &[(other, &two)]),
                }
                let conflicts = super::is_conflict(transaction.commit());
                let expected = touched.contains(other);
                assert_eq!(conflicts, expected, "{touched} {other} {deletes} {bytes}");
            }
        }
    }
}

#[test]
fn of_two_that_would_skew_the_first_to_commit_wins_and_readers_always_may() {
    let (db, table) = database(false);
    super::set(&db, table, &[("alice", "on call"), ("bob", "on call")]);
    let (mut a, mut b) = (db.begin_serializable().unwrap(), db.begin_serializable().unwrap());
    let reader = db.begin_serializable().unwrap();
    for (transaction, other) in [(&a, "bob"), (&b, "alice"), (&reader, "alice")] {
        assert_eq!(super::get(transaction, table, other).unwrap(), "on call");
    }
    a.put(table, b"alice", b"off").unwrap();
    b.put(table, b"bob", b"off").unwrap();
    a.commit().unwrap();
    assert!(super::is_conflict(b.commit()));
    reader.commit().unwrap();
    let states: BTreeMap<_, _> = super::all(&db.begin_read().unwrap(), table).into_iter().collect();
    assert_eq!((&states["alice"][..], &states["bob"][..]), ("off", "on call"));
}
