//! Interleavings of threads, one step at a time.

use std::sync::Arc;

use frostline_store::{Cleaning, Format};
use frostline_zone::{Device, Fault, Faulty, Shape, in_memory};

use crate::mvcc::{Change, WriteKind, WriteSet};
use crate::pages::Take;
use crate::tree::SpaceEstimate;
use crate::wal::WalError;
use crate::{Create, Db, DbError, Direction, Options, Table};

/// A database whose log is much larger than all its pages.
fn open() -> Db {
    open_with(8 << 20, 64 << 20)
}

fn open_with(log_bytes: u64, buffer_bytes: usize) -> Db {
    open_sized(3 << 20, log_bytes, buffer_bytes)
}

fn open_sized(store_bytes: u64, log_bytes: u64, buffer_bytes: usize) -> Db {
    let bytes = store_bytes + log_bytes;
    let shape = Shape { bytes, zone_bytes: Some(1 << 17), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    // Of so few zones a scheme of many classes would leave little.
    let store = Format { scheme: "sepbit".to_string(), ..Format::default() };
    let create = Create { store, log_bytes: Some(log_bytes), ..Create::default() };
    Db::create(&device, &create).unwrap();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Db::open(&device, &Options { buffer_bytes, ..quiet }).unwrap()
}

fn key(n: u32) -> [u8; 4] {
    n.to_be_bytes()
}

fn put(db: &Db, table: Table, keys: std::ops::Range<u32>) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    keys.into_iter().try_for_each(|n| transaction.put(table, &key(n), &[7; 400]))?;
    transaction.commit()
}

fn delete(db: &Db, table: Table, keys: std::ops::Range<u32>) {
    let mut transaction = db.begin().unwrap();
    keys.into_iter().for_each(|n| transaction.delete(table, &key(n)).unwrap());
    transaction.commit().unwrap();
}

#[test]
fn a_leaf_that_was_merged_away_can_neither_be_held_nor_read_in() {
    let db = open();
    let table = db.create_table("t").unwrap();
    put(&db, table, 0..12).unwrap();
    let trees = &db.core().trees;
    let last = trees.leaf(table.root, &key(11)).unwrap();
    let page = last.cached_frame();
    assert!(trees.pool.look_at(page).is_some() && last.node().count() < 6);
    let first = 12 - last.node().count() as u32;
    // The leaf before becomes so empty that it takes this one in.
    delete(&db, table, 1..first);
    let merged = trees.leaf(table.root, &key(11)).unwrap();
    assert_ne!(merged.cached_frame().page(), page.page());
    assert!(!last.is_unchanged() && last.lock().is_none());
    assert!(trees.pool.look_at(page).is_none());
    assert!(trees.pool.look(page.page()).is_err());
    let pages_read = trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    assert!(trees.pool.look(page.page()).is_err());
    let now = trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(pages_read, now);
}

/// Keys of the leaf that a key belongs to.
fn keys_of_leaf(db: &Db, table: Table, n: u32) -> std::ops::Range<u32> {
    let leaf = db.core().trees.leaf(table.root, &key(n)).unwrap();
    let number = |index: usize| {
        let mut key = Vec::new();
        leaf.node().key(index, &mut key);
        u32::from_be_bytes(key.try_into().unwrap())
    };
    number(0)..number(leaf.node().count() - 1) + 1
}

/// Pages of a database with this fill after keys came in ascending order, and after two more in
/// most of their leaves.
fn pages_of_a_load(fill: f64, value: usize) -> [u32; 2] {
    let device: Arc<dyn Device> =
        in_memory(&Shape { bytes: 32 << 20, ..Shape::default() }).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let db = Db::open(&device, &Options { fill, ..quiet }).unwrap();
    let table = db.create_table("t").unwrap();
    let put = |keys: std::iter::StepBy<std::ops::Range<u32>>| {
        let mut transaction = db.begin().unwrap();
        keys.for_each(|n| transaction.put(table, &key(n), &vec![7; value]).unwrap());
        transaction.commit().unwrap();
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        db.stats().unwrap().pages
    };
    [(0..3_000).step_by(10), (5..3_000).step_by(180)].map(put)
}

#[test]
fn a_load_in_order_leaves_room_for_records_that_come_later() {
    let [loaded, later] = pages_of_a_load(1.0, 100);
    assert!(later >= loaded + 6, "most of 8 leaves are split: {loaded}, {later}");
    let [roomy, later] = pages_of_a_load(0.9, 100);
    assert_eq!(roomy, later, "no leaf is split");
    assert!((loaded..=loaded + 2).contains(&roomy), "{loaded}, {roomy}");
}

#[test]
fn records_that_are_longer_than_the_room_fill_leaves() {
    assert_eq!(pages_of_a_load(0.9, 410), pages_of_a_load(1.0, 410));
}

#[test]
fn a_fill_that_leaves_too_much_is_refused() {
    let device: Arc<dyn Device> =
        in_memory(&Shape { bytes: 32 << 20, ..Shape::default() }).unwrap();
    Db::create(&device, &Create::default()).unwrap();
    for fill in [0.69, 1.01, f64::NAN] {
        let opened = Db::open(&device, &Options { fill, ..Options::default() });
        assert!(matches!(opened, Err(DbError::Options { what: "fill", .. })), "{fill}");
    }
}

#[test]
fn an_empty_leaf_is_unlinked_though_its_neighbours_are_full() {
    let db = open();
    let table = db.create_table("t").unwrap();
    (0..30).for_each(|n| put(&db, table, 10 * n..10 * n + 10).unwrap());
    // At both ends as well, and leaves of different parents would not differ.
    let mut next = 0;
    let mut all = Vec::new();
    while next < 300 {
        all.push(keys_of_leaf(&db, table, next));
        next = all.last().unwrap().end;
    }
    let used = db.core().trees.pages.used() as usize;
    for keys in all.iter().step_by(2) {
        delete(&db, table, keys.clone());
    }
    db.checkpoint().unwrap();
    assert_eq!(db.core().trees.pages.used() as usize, used - all.len().div_ceil(2));
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn pages_that_were_freed_are_there_for_commits_that_reserved_them() {
    let db = open();
    let table = db.create_table("t").unwrap();
    for round in 0..4 {
        let mut end = 0;
        while put(&db, table, end..end + 10).is_ok() {
            end += 10;
        }
        assert!(matches!(put(&db, table, end..end + 10), Err(DbError::Full { .. })), "{round}");
        for from in (0..end).step_by(50) {
            delete(&db, table, from..(from + 50).min(end));
        }
    }
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn a_page_to_be_split_that_must_be_read_is_read_before_a_frame_is_taken() {
    let db = open_sized(6 << 20, 8 << 20, 0);
    let table = db.create_table("t").unwrap();
    (0..100).for_each(|n| put(&db, table, 10 * n..10 * n + 10).unwrap());
    let trees = &db.core().trees;
    let pages_read = || trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    let (before, used) = (pages_read(), trees.pages.used());
    // In debug builds, a thread that has a frame and asks for another panics.
    let change = Change { kind: WriteKind::Put, value: &[7; 1500] };
    trees.make_room(table.root, &key(0), change, 0).unwrap();
    assert!(pages_read() > before, "the leaf was in memory");
    assert_eq!(trees.pages.used(), used + 1);
}

#[test]
fn a_long_scan_reads_more_and_more_leaves_at_once() {
    const RECORDS: u32 = 4000;
    let db = open_sized(6 << 20, 8 << 20, 1 << 20);
    let table = db.create_table("t").unwrap();
    (0..RECORDS / 10).for_each(|n| put(&db, table, 10 * n..10 * n + 10).unwrap());
    let pages_read =
        || db.core().trees.pool.counters.read.load(std::sync::atomic::Ordering::Relaxed);
    for direction in [Direction::Forward, Direction::Backward] {
        let look = db.begin_read().unwrap();
        let mut scan = look.scan_all(table, direction);
        let (mut expected, mut reads) = (Vec::from_iter(0..RECORDS), Vec::new());
        if direction == Direction::Backward {
            expected.reverse();
        }
        for n in expected {
            let before = pages_read();
            assert_eq!(scan.next().unwrap().unwrap().0, key(n));
            reads.push(pages_read() - before);
        }
        assert!(scan.next().unwrap().is_none());
        reads.retain(|&pages| pages > 0);
        assert!(reads.iter().any(|&pages| pages >= 5), "{direction:?}: {reads:?}");
        assert!(direction == Direction::Backward || reads[1..8] == [1; 7], "{reads:?}");
    }
}

#[test]
fn a_commit_for_which_no_checkpoint_makes_room_is_refused_and_does_not_wait_for_ever() {
    let db = Arc::new(open_with(4 << 17, 64 << 20));
    let (held, written) = (db.create_table("held").unwrap(), db.create_table("written").unwrap());
    put(&db, held, 0..1).unwrap();
    db.checkpoint().unwrap();
    put(&db, held, 0..1).unwrap();
    let trees = &db.core().trees;
    // No checkpoint can write this page, so none can let go of the log from here on.
    let mut leaf = trees.leaf(held.root, &key(0)).unwrap().lock().unwrap();
    leaf.leave_unchanged();
    let (done, ended) = std::sync::mpsc::channel();
    let writer = db.clone();
    // It is not joined, as it might wait for ever.
    std::thread::spawn(move || {
        let refused = (0..2000).find_map(|_| put(&writer, written, 0..5).err());
        done.send(refused).unwrap();
    });
    let refused = ended.recv_timeout(std::time::Duration::from_secs(60)).expect("it waits");
    assert!(matches!(refused, Some(DbError::Wal(WalError::Full { .. }))), "{refused:?}");
    drop(leaf);
    (0..2000).for_each(|_| put(&db, written, 0..5).unwrap());
}

#[test]
fn a_table_gets_a_page_that_was_freed_if_there_is_no_other() {
    let db = open();
    let table = db.create_table("t").unwrap();
    let mut end = 0;
    while put(&db, table, end..end + 10).is_ok() {
        end += 10;
    }
    while put(&db, table, end..end + 1).is_ok() {
        end += 1;
    }
    (0..end).step_by(50).for_each(|from| delete(&db, table, from..(from + 50).min(end)));
    let pages = &db.core().trees.pages;
    // All pages that are free without trimming are taken.
    let untrimmed = || match pages.take() {
        Ok(Take::Page(page)) => Some(page),
        _ => None,
    };
    let taken: Vec<u32> = std::iter::from_fn(untrimmed).collect();
    assert!(pages.first_freed().is_some(), "nothing is freed");
    let made = db.create_table("another").unwrap();
    taken.into_iter().for_each(|page| pages.give_back(page));
    put(&db, made, 0..50).unwrap();
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn who_takes_a_page_gets_one_while_others_free_and_trim_as_many_as_they_take() {
    const THREADS: usize = 4;
    let db = open();
    let trees = &db.core().trees;
    let position = trees.wal().durable();
    let pages: Vec<u32> = std::iter::from_fn(|| trees.take_page().ok()).collect();
    pages[..THREADS].iter().for_each(|&page| trees.pages.free(position, page));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..5000 {
                    trees.pages.free(position, trees.take_page().unwrap());
                }
            });
        }
    });
}

#[test]
fn a_table_that_is_not_made_keeps_no_page() {
    let db = open();
    let used = db.core().trees.pages.used();
    let name = "t".repeat(600);
    assert!(matches!(db.create_table(&name), Err(DbError::KeyTooLong { .. })));
    assert_eq!(db.core().trees.pages.used(), used);
}

#[test]
fn the_root_of_a_table_stays_in_use_if_its_commit_may_have_become_durable() {
    let shape = Shape { bytes: 11 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    let faulty = Arc::new(Faulty::new(device, 1));
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    let failing: Arc<dyn Device> = faulty.clone();
    let db = Db::open(&failing, &quiet).unwrap();
    let used = db.core().trees.pages.used();
    faulty.schedule(faulty.operations() + 1, Fault::Error);
    assert!(db.create_table("t").is_err());
    assert_eq!(db.core().trees.pages.used(), used + 1);
    assert!(db.create_table("u").is_err(), "the log failed");
}

#[test]
fn commits_that_split_many_leaves_take_no_more_pages_than_they_reserved() {
    let db = open_sized(16 << 20, 16 << 20, 64 << 20);
    let table = db.create_table("t").unwrap();
    let trees = &db.core().trees;
    const ORDERS: u32 = 120;
    // Behind each order a record of another, which leaves when the leaf is full, and leaves little.
    let mut others = db.begin().unwrap();
    for order in 0..ORDERS {
        others.put(table, &key(order * 1000 + 900), &[7; 10]).unwrap();
    }
    others.commit().unwrap();
    for n in 0..20 {
        let mut writes = WriteSet::default();
        let mut transaction = db.begin().unwrap();
        for order in 0..ORDERS {
            let key = key(order * 1000 + n);
            writes.set(table.root, &key, WriteKind::Put, &[7; 400]);
            transaction.put(table, &key, &[7; 400]).unwrap();
        }
        let needs = SpaceEstimate::looked_up(trees, &writes).unwrap();
        let used = trees.pages.used();
        transaction.commit().unwrap();
        assert!(trees.pages.used() - used <= needs.pages, "{n}");
    }
}

/// Keys and values of records of a size, in the order of keys.
fn records(numbers: std::ops::Range<u32>, size: usize) -> impl Iterator<Item = ([u8; 4], Vec<u8>)> {
    numbers.map(move |n| (key(n), vec![n as u8; size]))
}

fn commit(
    db: &Db,
    table: Table,
    records: impl Iterator<Item = ([u8; 4], Vec<u8>)>,
) -> Result<(), DbError> {
    let mut transaction = db.begin()?;
    for (key, value) in records {
        transaction.put(table, &key, &value)?;
    }
    transaction.commit()
}

#[test]
fn a_transaction_that_overwrites_takes_a_quarter_of_the_log_and_no_more() {
    for size in [0, 7, 60, 400, 880] {
        let db = open_sized(12 << 20, 4 << 20, 64 << 20);
        let table = db.create_table("t").unwrap();
        let wal = db.core().trees.wal();
        let each = crate::record::WRITE_BYTES + 4 + size;
        let most = ((wal.capacity_bytes() / 4) as usize - 4096).min(wal.largest_record() - 4);
        let fits = (most / each) as u32;
        for from in (0..fits + 1).step_by(100) {
            commit(&db, table, records(from..(from + 100).min(fits + 1), size)).unwrap();
        }
        commit(&db, table, records(0..fits, size)).unwrap();
        let over = (wal.largest_record() / each) as u32 + 1;
        let refused = commit(&db, table, records(0..over, size));
        assert!(matches!(refused, Err(DbError::TooLarge { .. })), "{size}: {refused:?}");
    }
}

#[test]
fn new_records_are_taken_as_long_as_the_log_has_room_for_their_splits() {
    // Shares of the log as docs/database.md has them; the last records are kept in pieces.
    for (size, share) in [(0, 12), (60, 12), (400, 14), (880, 20), (3000, 20), (60_000, 20)] {
        let db = open_sized(12 << 20, 4 << 20, 64 << 20);
        let table = db.create_table("t").unwrap();
        let capacity = db.core().trees.wal().capacity_bytes() as usize;
        let each = crate::record::WRITE_BYTES + 4 + size;
        let (mut most, mut too_many) = (1, (capacity / each) as u32 + 1);
        while most + 1 < too_many {
            let middle = most.midpoint(too_many);
            match commit_is_small(&db, table, middle, size) {
                true => most = middle,
                false => too_many = middle,
            }
        }
        let written = (most + 1) as usize * each;
        assert!(written >= capacity / share, "{size}: {written} of {capacity}");
        let refused = commit(&db, table, records(0..most + 1, size));
        assert!(matches!(refused, Err(DbError::TooLarge { .. })), "{size}: {refused:?}");
        assert_eq!(db.begin_read().unwrap().get(table, &key(0)).unwrap(), None);
        commit(&db, table, records(0..most, size)).unwrap();
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
    }
}

/// True if `count` new records of a size fit into the log.
fn commit_is_small(db: &Db, table: Table, count: u32, size: usize) -> bool {
    let mut transaction = db.begin().unwrap();
    for (key, value) in records(0..count, size) {
        transaction.put(table, &key, &value).unwrap();
    }
    let core = db.core();
    !matches!(core.admit(transaction.writes(), 0, false), Err(DbError::TooLarge { .. }))
}

/// Keys of many lengths in scattered order: fences become longer, and keys shorter in their leaves.
fn scattered(n: u32) -> Vec<u8> {
    let hash = n.wrapping_mul(0x9e37_79b1);
    [&hash.to_be_bytes()[..], &vec![7; (hash >> 3) as usize % 40]].concat()
}

#[test]
fn leaves_that_were_written_before_they_were_split_again_and_again_are_cut_after_a_crash() {
    let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Db::create(&device, &Create { log_bytes: Some(8 << 20), ..Create::default() }).unwrap();
    let open = || {
        let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        Db::open(&device, &Options { recovery_bytes: Some(4 << 20), ..quiet }).unwrap()
    };
    let put = |db: &Db, numbers: std::ops::Range<u32>, len: usize| {
        for n in numbers {
            let mut transaction = db.begin().unwrap();
            transaction.put(db.table("t").unwrap(), &scattered(n), &vec![n as u8; len]).unwrap();
            transaction.commit_soon().unwrap();
        }
    };
    let db = open();
    db.create_table("t").unwrap();
    put(&db, 0..2000, 40);
    db.close().unwrap();
    let db = open();
    put(&db, 2000..12_000, 40);
    // Some leaves shrink before they are split.
    put(&db, 4000..5000, 10);
    put(&db, 12_000..16_000, 40);
    db.core().trees.wal().wait(db.core().trees.wal().end()).unwrap();
    drop(db);
    let db = open();
    assert!(db.recovered().structure > 150, "{:?}", db.recovered());
    let look = db.begin_read().unwrap();
    for n in 0..16_000 {
        let len = if (4000..5000).contains(&n) { 10 } else { 40 };
        let value = look.get(db.table("t").unwrap(), &scattered(n)).unwrap();
        assert_eq!(value, Some(vec![n as u8; len]), "{n}");
    }
    let check = db.check().unwrap();
    assert!(check.findings.is_empty(), "{:?}", check.findings);
}

#[test]
fn a_table_that_is_built_is_whole_though_its_root_had_a_number_that_is_due_for_a_visit() {
    let db = open();
    let trees = &db.core().trees;
    let records = (0..400).map(|n| {
        if n == 300 {
            (0..trees.pages.used()).for_each(|page| trees.visits.note(page));
            while trees.make_visit() {}
        }
        Ok::<_, DbError>((key(n), [7; 400]))
    });
    let table = db.ingest("t", 0.9, records).unwrap();
    let look = db.begin_read().unwrap();
    assert!((0..400).all(|n| look.get(table, &key(n)).unwrap() == Some(vec![7; 400])));
}

#[test]
fn a_visit_reads_no_neighbours_that_have_no_room() {
    let db = open_sized(16 << 20, 8 << 20, 100 * 4096);
    let table = db.create_table("t").unwrap();
    (0..3000).step_by(100).for_each(|n| put(&db, table, n..n + 100).unwrap());
    // The first leaves are evicted by others.
    let keys = keys_of_leaf(&db, table, 300);
    assert!(keys.len() > 8);
    let read = || db.stats().unwrap().pages_read;
    let before = read();
    delete(&db, table, keys.start + 3..keys.end);
    assert_eq!(read(), before);
    assert_eq!(keys_of_leaf(&db, table, keys.start), keys.start..keys.start + 3);
    // Once there is room, they are merged.
    let pages = db.core().trees.pages.used();
    delete(&db, table, keys.end..keys.end + 6);
    db.core().make_all_visits().unwrap();
    assert!(db.core().trees.pages.used() < pages);
    assert!(db.check().unwrap().findings.is_empty());
}
