//! Leaves that had no room for all changes that waited for them: they are split.
//!
//! Changes wait for a leaf that is not in memory. Whether it has a record that is put is unknown, and
//! during a replay how much it has free. So a leaf may come into memory without some of them. A
//! search gives the leaf all of them before it passes to it (`Trees::child`). The functions here
//! search for leaves that nobody else needs: the rows that wait for them take memory.

use super::Trees;
use crate::DbError;

impl Trees {
    /// Gives leaves the changes that they had no room for as they came into memory, and that need
    /// the log from before `position`.
    pub(crate) fn give_rows_before(&self, position: u64) -> Result<(), DbError> {
        self.pool.lacking(position).into_iter().try_for_each(|page| self.give_rows_of(page))
    }

    /// Gives leaves the changes that they had no room for as they came into memory of late.
    pub(crate) fn give_overfull(&self) {
        for page in self.pool.take_overfull() {
            // Its rows stay in memory, and the next checkpoint fails with the error.
            if let Err(error) = self.give_rows_of(page) {
                tracing::warn!(page, %error, "a leaf is not split");
            }
        }
    }

    /// Gives a leaf all changes that wait for it.
    pub(crate) fn give_rows_of(&self, page: u32) -> Result<(), DbError> {
        loop {
            let place = self.place_of_leaf(page);
            let found = place.as_ref().map(Option::as_ref).map_err(DbError::clone);
            let given = found.and_then(|place| match place {
                Some((tree, lower)) => self.leaf(*tree, lower).map(drop),
                None => Ok(()),
            });
            // An error does not count if the leaf was freed meanwhile, with its table. Another may
            // have its page now.
            if given.is_ok() || !self.pool.lacks_rows(page) {
                return Ok(());
            }
            if self.place_of_leaf(page).ok() == place.ok() {
                return given;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    use frostline_store::Cleaning;
    use frostline_zone::{Device, Shape, in_memory};

    use crate::mvcc::{WriteKind, WriteSet};
    use crate::record::{TRANSACTION, put_writes};
    use crate::{Create, Db, Direction, Options};

    /// Numbers of records, and the length of their values.
    type Records = BTreeMap<u32, usize>;

    fn value(n: u32, len: usize) -> Vec<u8> {
        vec![n as u8; len]
    }

    struct World {
        device: Arc<dyn Device>,
        expected: Records,
    }

    impl World {
        /// A database that was closed: even numbers, nine to a leaf.
        fn new() -> World {
            let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
            let device: Arc<dyn Device> = in_memory(&shape).unwrap();
            Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
            let expected: Records = (0..900).map(|n| (2 * n, 400)).collect();
            let world = World { device, expected };
            let db = world.open();
            let table = db.create_table("t").unwrap();
            for (&n, &len) in &world.expected {
                let mut transaction = db.begin().unwrap();
                transaction.put(table, &n.to_be_bytes(), &value(n, len)).unwrap();
                transaction.commit().unwrap();
            }
            db.close().unwrap();
            world
        }

        fn open(&self) -> Db {
            let options = Options {
                buffer_bytes: 100 * 4096,
                background: false,
                cleaning: Cleaning::Inline,
                ..Options::default()
            };
            Db::open(&self.device, &options).unwrap()
        }

        /// Logs a commit that is made in no leaf: a crash right after it may leave it so.
        fn log(&mut self, db: &Db, changes: &[(u32, Option<usize>)]) {
            let (mut writes, root) = (WriteSet::default(), db.table("t").unwrap().root);
            for &(n, len) in changes {
                match len {
                    Some(len) => {
                        writes.set(root, &n.to_be_bytes(), WriteKind::Put, &value(n, len));
                        self.expected.insert(n, len);
                    }
                    None => {
                        writes.set(root, &n.to_be_bytes(), WriteKind::Delete, &[]);
                        self.expected.remove(&n);
                    }
                }
            }
            let mut record = Vec::new();
            put_writes(&writes, &mut record);
            let wal = db.core().trees.wal();
            let (end, ()) = wal.append(TRANSACTION, &[&record], |_| ()).unwrap();
            wal.wait(end).unwrap();
        }

        fn compare(&self, db: &Db) {
            let look = db.begin_read().unwrap();
            let mut scan = look.scan(db.table("t").unwrap(), &[], Direction::Forward);
            for (&n, &len) in &self.expected {
                let (key, value) = (n.to_be_bytes(), value(n, len));
                assert_eq!(scan.next().unwrap(), Some((&key[..], &value[..])), "{n}");
            }
            assert_eq!(scan.next().unwrap(), None);
        }
    }

    /// New records in the first leaf, which has no room for them.
    const NEW: [(u32, Option<usize>); 4] =
        [(1, Some(500)), (5, Some(500)), (9, Some(500)), (11, Some(500))];

    /// A database after a crash right after these records were logged, and a delete.
    fn crashed() -> (World, Db) {
        let mut world = World::new();
        let db = world.open();
        world.log(&db, &NEW);
        world.log(&db, &[(0, None)]);
        drop(db);
        let db = world.open();
        assert_eq!(db.recovered().commits, 2);
        (world, db)
    }

    #[test]
    fn recovery_reads_no_leaf_whose_records_were_put_or_deleted() {
        let mut world = World::new();
        let db = world.open();
        let all: Vec<_> = (0..900).step_by(9).map(|n| (2 * n, Some(390))).collect();
        world.log(&db, &all);
        drop(db);
        let db = world.open();
        assert_eq!(db.recovered().commits, 1);
        let read = || db.core().trees.pool.counters.read.load(Relaxed);
        assert!(read() < 10, "{} pages", read());
        world.compare(&db);
        assert!(read() >= 100, "{} pages", read());
    }

    #[test]
    fn a_leaf_without_room_for_what_waited_is_split_when_it_is_read() {
        let (world, db) = crashed();
        let used = db.core().trees.pages.used();
        world.compare(&db);
        assert_eq!(db.core().trees.pages.used(), used + 1);
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
        world.compare(&db);
    }

    #[test]
    fn a_checkpoint_splits_it_too_and_releases_the_log() {
        let (world, db) = crashed();
        db.checkpoint().unwrap();
        let wal = db.core().trees.wal();
        wal.wait(wal.end()).unwrap();
        drop(db);
        let db = world.open();
        assert_eq!(db.recovered().commits, 0);
        world.compare(&db);
    }

    #[test]
    fn what_waits_for_a_leaf_that_was_split_survives_the_next_crash() {
        let (mut world, db) = crashed();
        // The split is in the log, and what waited is in no image of it.
        let root = db.table("t").unwrap().root;
        db.core().trees.leaf(root, &0u32.to_be_bytes()).unwrap();
        world.log(&db, &[(3, Some(10))]);
        drop(db);
        let db = world.open();
        assert!(db.recovered().structure > 0);
        world.compare(&db);
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
    }

    #[test]
    fn a_leaf_that_leaves_memory_before_it_is_split_comes_back_with_what_waits() {
        let (world, db) = crashed();
        let pool = &db.core().trees.pool;
        let lacking = pool.lacking(u64::MAX);
        assert_eq!(lacking.len(), 1);
        let loads = || {
            let before = pool.counters.read.load(Relaxed);
            pool.make_room().unwrap();
            pool.load_together(lacking.iter().copied());
            pool.counters.read.load(Relaxed) > before
        };
        assert!(loads());
        let mut came_back = 0;
        for _ in 0..30 {
            // There are more leaves than frames.
            let look = db.begin_read().unwrap();
            for n in (100..900).step_by(8) {
                look.get(db.table("t").unwrap(), &(2 * n as u32).to_be_bytes()).unwrap();
            }
            came_back += u32::from(loads());
            assert!(pool.lacks_rows(lacking[0]));
        }
        assert!(came_back > 0);
        world.compare(&db);
    }

    #[test]
    fn a_leaf_needs_nothing_any_more_once_it_is_freed_with_its_table() {
        let (_, db) = crashed();
        let trees = &db.core().trees;
        let (leaf, root) = (trees.pool.lacking(u64::MAX)[0], db.table("t").unwrap().root);
        trees.pool.load_together([leaf]);
        // The root is freed first. What waits for the leaf is dropped before that.
        trees.pool.forget(root, |_| ()).unwrap();
        assert!(trees.give_rows_of(leaf).is_err());
        trees.pool.drop_rows(leaf, |_| ());
        trees.give_rows_of(leaf).unwrap();
    }

    /// Puts a record of 500 bytes into sixty leaves each, which have no room for it.
    fn overfill(world: &mut World, db: &Db, n: u32) {
        let table = db.table("t").unwrap();
        for n in (0..900).step_by(15).map(|leaf| 2 * (leaf + n) + 1) {
            let mut transaction = db.begin().unwrap();
            transaction.put(table, &n.to_be_bytes(), &value(n, 500)).unwrap();
            transaction.commit_soon().unwrap();
            world.expected.insert(n, 500);
        }
    }

    /// The pages that were read since.
    fn read(db: &Db) -> u64 {
        db.core().trees.pool.counters.read.load(Relaxed)
    }

    #[test]
    fn puts_wait_for_leaves_without_room_and_nobody_misses_them() {
        let mut world = World::new();
        let db = world.open();
        overfill(&mut world, &db, 0);
        let (pool, used) = (&db.core().trees.pool, db.core().trees.pages.used());
        assert!(read(&db) < 10 && pool.overfull() == 60, "{} {}", read(&db), pool.overfull());
        world.compare(&db);
        assert_eq!(pool.overfull(), 0);
        assert_eq!(db.core().trees.pages.used(), used + 60, "each leaf was full");
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
    }

    #[test]
    fn a_snapshot_sees_what_was_there_before_puts_that_split_their_leaf() {
        let mut world = World::new();
        let db = world.open();
        let table = db.table("t").unwrap();
        let before = db.begin_read().unwrap();
        overfill(&mut world, &db, 0);
        // One of them replaces a record.
        let mut transaction = db.begin().unwrap();
        transaction.put(table, &0u32.to_be_bytes(), &value(0, 600)).unwrap();
        transaction.commit().unwrap();
        world.expected.insert(0, 600);
        world.compare(&db);
        assert_eq!(before.get(table, &1u32.to_be_bytes()).unwrap(), None);
        assert_eq!(before.get(table, &0u32.to_be_bytes()).unwrap(), Some(value(0, 400)));
        let mut scan = before.scan(table, &[], Direction::Forward);
        assert_eq!(std::iter::from_fn(|| scan.next().unwrap().map(drop)).count(), 900);
    }

    #[test]
    fn leaves_that_nobody_reads_are_split_when_as_many_are_overfull_as_may_be() {
        let mut world = World::new();
        let db = world.open();
        let used = db.core().trees.pages.used();
        db.core().trees.pool.set_most_overfull(48);
        overfill(&mut world, &db, 0);
        let split = db.core().trees.pages.used() - used;
        // Without that, twelve puts would read their leaf.
        assert!(split > 24, "{split} leaves");
        world.compare(&db);
    }

    #[test]
    fn a_crash_leaves_no_more_leaves_to_be_split_than_the_log_has_room_for() {
        let mut world = World::new();
        let mut left = 0;
        for n in 0..8 {
            let db = world.open();
            let pool = &db.core().trees.pool;
            let most = db.core().most_overfull();
            assert!(db.core().pages_owed() as usize / 2 <= most);
            left = left.max(db.core().pages_owed());
            overfill(&mut world, &db, n);
            assert!(pool.overfull() <= most);
            let wal = db.core().trees.wal();
            wal.wait(wal.end()).unwrap();
            if n % 3 == 2 {
                db.checkpoint().unwrap();
                assert_eq!(db.core().pages_owed(), 0);
            }
        }
        assert!(left > 100);
        let db = world.open();
        world.compare(&db);
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
    }
}
