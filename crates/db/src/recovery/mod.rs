//! Recovery of a database when it is opened.
//!
//! The store gives back pages, each in its state of some moment since the log's first needed
//! record. The log is read twice. The first pass redoes changes of the trees' structure, on pages
//! that are older: then the trees are whole. The second pass redoes the writes of commits, in leaves
//! that may lack them: those of some commits together, in the order of keys (`writes.rs`). Some of
//! these writes may be in the pages already; each key still gets its last value. Nothing has to be
//! undone, as no page ever holds uncommitted writes.
//!
//! A page may be freed in the log and taken again, for a node or for something that the log does
//! not have. So a node is redone only in a page that is older on the device, also if the log freed
//! it before. Writes whose leaf is gone with its tree are left out (`deleted.rs`).
//!
//! At its last write or its last change of structure, a leaf notes the position up to which all
//! records are in it, and these are left out. Redone, they would need the room that they once had,
//! in trees that have shrunk since, and pages and log for that might be missing.
//!
//! A write whose leaf is not in memory waits for it there, as in normal work, and the leaf is not
//! read. Of a record that was written several times the last state waits. So the leaf needs only
//! the room that it has, or else is split as it comes into memory (`tree/overfull.rs`). Nothing is
//! written at the end: the log is needed until a checkpoint comes, as if there had been no crash.

mod deleted;
mod writes;

use crate::core::Core;
use crate::direction::Direction;
use crate::layout::{CATALOG, FIRST_PAGES, IN_PAGES, OVERFLOW_TREE};
use crate::overflow::{Run, note_unowned, number_behind, piece_key, runs_under_way};
use crate::pages::Used;
use crate::record::{
    CREATE, DELETE, GIVE, PAGES, SPLIT, STORE, TAKE, TRANSACTION, pages_of_change, parse_create,
    parse_give, parse_take,
};
use crate::scan::Scan;
use crate::space::PageSpace;
use crate::tree::Trees;
use crate::view::View;
use crate::{DbError, Progress};
use deleted::DeletedTrees;
use writes::WaitingWrites;

/// Bytes of log records that wait to be redone together, about; writes of commits may have more.
const WAITING_BYTES: usize = 1 << 20;

/// Counters of a recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Commits that were redone.
    pub commits: u64,
    /// Changes of structure in the log.
    pub structure: u64,
    /// Bytes of the log's records that were read.
    pub log_bytes: u64,
}

/// Brings the trees up to the log's end, and reads the catalog.
pub(crate) fn recover(core: &Core, progress: Option<&Progress>) -> Result<Recovered, DbError> {
    let recovered =
        Recovery { core, progress, found: Recovered::default(), deleted: DeletedTrees::default() }
            .run()?;
    read_catalog(core)?;
    Ok(recovered)
}

/// The pages that the store has.
fn stored_pages(space: &PageSpace) -> Result<Used, DbError> {
    let mut used = Used::stored(space)?;
    (0..FIRST_PAGES).try_for_each(|page| used.list(space, page))?;
    match (0..FIRST_PAGES).all(|page| used.has(page)) {
        true => Ok(used),
        false => Err(DbError::Page { page: CATALOG, what: "is missing" }),
    }
}

struct Recovery<'c> {
    core: &'c Core,
    progress: Option<&'c Progress>,
    found: Recovered,
    deleted: DeletedTrees,
}

impl Recovery<'_> {
    fn run(mut self) -> Result<Recovered, DbError> {
        let trees = &self.core.trees;
        if trees.wal().keep_from() < trees.wal().end() {
            trees.pool.begin_replay();
        }
        let mut used = stored_pages(trees.space())?;
        self.redo_structure(&mut used)?;
        tracing::info!(records = self.found.structure, "structure changes of the log are redone");
        // The log may no more have that pages were taken which then were not written. They are free
        // once a record says so.
        let under_way = || runs_under_way(&View::begin(trees, None, false));
        let unknown =
            used.take_unknown(trees.space(), under_way()?.into_iter().flat_map(Run::pages))?;
        // The store has them still, or again: it may have got one that the log made and freed.
        used.left().try_for_each(|page| trees.space().trim(page))?;
        trees.pages.begin(used);
        self.replay_commits()?;
        let Recovered { commits, log_bytes, .. } = self.found;
        tracing::info!(commits, log_bytes, "commits of the log are replayed");
        trees.window.replayed(u64::MAX);
        trees.pool.end_replay();
        if !unknown.is_empty() {
            let named = under_way()?;
            let is_named = |page| named.iter().any(|run| run.pages().contains(page));
            // Of the others the log said so.
            let free = unknown.iter().filter(|page| !is_named(page));
            free.for_each(|&page| trees.pages.give_back(page));
        }
        Ok(self.found)
    }

    /// The first pass.
    fn redo_structure(&mut self, used: &mut Used) -> Result<(), DbError> {
        let trees = &self.core.trees;
        let (structure, deleted) = (&mut self.found.structure, &mut self.deleted);
        let mut waiting = WaitingChanges::default();
        let kinds = [PAGES, SPLIT, CREATE, TAKE, GIVE, DELETE];
        trees.wal().replay_kinds(&kinds, &mut |position, kind, record: &[u8]| {
            // The store was checked against the log when it was opened.
            if [TRANSACTION, STORE].contains(&kind) {
                return Ok(());
            }
            let malformed = |_| DbError::Record { position, what: "is no transaction" };
            match kind {
                DELETE => return deleted.add(position, record).map_err(malformed),
                GIVE if let Some((_, writes)) = parse_give(record) => {
                    deleted.freed(writes).map_err(malformed)?;
                }
                _ => {}
            }
            *structure += u64::from(![TAKE, GIVE].contains(&kind));
            waiting.add(position, kind, record);
            let is_full = waiting.pages.len() >= trees.records_together();
            match is_full || waiting.records.len() >= WAITING_BYTES {
                true => waiting.redo(trees, used),
                false => Ok(()),
            }
        })?;
        waiting.redo(trees, used)
    }

    /// The second pass. Writes wait in memory of which the log's buffers will take as much, once
    /// there are commits.
    fn replay_commits(&mut self) -> Result<(), DbError> {
        let trees = &self.core.trees;
        let (commits, bytes, progress) =
            (&mut self.found.commits, &mut self.found.log_bytes, self.progress);
        let deleted = &self.deleted;
        let mut waiting = WaitingWrites::new(trees.wal().buffer_bytes().max(WAITING_BYTES));
        trees.wal().replay(
            &mut |position, kind, record: &[u8]| {
                let malformed = DbError::Record { position, what: "is no transaction" };
                let record = match kind {
                    TRANSACTION | TAKE | DELETE => record,
                    GIVE => parse_give(record).ok_or(malformed.clone())?.1,
                    CREATE => parse_create(record).ok_or(malformed.clone())?.1,
                    _ => return Ok(()),
                };
                *commits += 1;
                let is_needed = |root, key: &_| deleted.have_leaf_of(position, root, key);
                waiting.add(position, record, is_needed).map_err(|_| malformed)?;
                match waiting.are_many() {
                    true => waiting.redo(trees),
                    false => Ok(()),
                }
            },
            &mut |done, all| {
                *bytes = done;
                if let Some(progress) = progress {
                    progress(done, all);
                }
            },
        )?;
        waiting.redo(trees)
    }
}

/// Changes of structure that are redone together, once the pages that they change are in memory.
#[derive(Default)]
struct WaitingChanges {
    /// The position of each, its kind, and its end in `records`.
    changes: Vec<(u64, u8, usize)>,
    records: Vec<u8>,
    /// The pages that they may change.
    pages: Vec<u32>,
}

impl WaitingChanges {
    fn add(&mut self, position: u64, kind: u8, record: &[u8]) {
        self.records.extend_from_slice(record);
        self.changes.push((position, kind, self.records.len()));
        self.pages.extend(pages_of_change(kind, record));
    }

    /// Redoes them in their order, and forgets them.
    fn redo(&mut self, trees: &Trees, used: &mut Used) -> Result<(), DbError> {
        self.pages.iter().try_for_each(|&page| used.list(trees.space(), page))?;
        self.pages.retain(|&page| used.is_filled(page));
        trees.pool.load_needed(&mut self.pages);
        let mut begin = 0;
        for &(position, kind, end) in &self.changes {
            redo_change(trees, used, position, kind, &self.records[begin..end])?;
            begin = end;
        }
        self.changes.clear();
        self.records.clear();
        self.pages.clear();
        Ok(())
    }
}

fn redo_change(
    trees: &Trees,
    used: &mut Used,
    position: u64,
    kind: u8,
    record: &[u8],
) -> Result<(), DbError> {
    let malformed = |what| DbError::Record { position, what };
    match kind {
        SPLIT => trees.redo_split(used, position, record),
        PAGES => trees.redo_pages(used, position, record),
        CREATE => {
            let (root, _) = parse_create(record).ok_or(malformed("makes no tree"))?;
            trees.redo_create(used, position, root)
        }
        TAKE => {
            let runs = parse_take(record).ok_or(malformed("takes no pages"))?;
            runs.into_iter().flat_map(Run::pages).try_for_each(|page| {
                used.list(trees.space(), page)?;
                used.take(page)?;
                // What it is taken for may be on the device, and is not in the log.
                if !used.is_stored(page) || !trees.pool.is_unused(page) {
                    return Ok(());
                }
                used.take_freed(page, position);
                trees.pool.is_on_device(page)
            })
        }
        GIVE => {
            let (runs, _) = parse_give(record).ok_or(malformed("frees no pages"))?;
            runs.into_iter().flat_map(Run::pages).try_for_each(|page| {
                used.list(trees.space(), page)?;
                trees.redo_free(used, page)
            })
        }
        _ => Err(malformed("is of no known kind")),
    }
}

/// Reads the tables, and the number of the next long value.
fn read_catalog(core: &Core) -> Result<(), DbError> {
    let pool = &core.trees.pool;
    pool.name_tree(CATALOG, 0);
    pool.name_tree(OVERFLOW_TREE, 1);
    let view = View::begin(&core.trees, None, false);
    let mut tables = Scan::new(&view, Ok(Some(CATALOG)), None, Direction::Forward);
    while let Some((name, entry)) = tables.next()? {
        let table = core.catalog.add(name, entry, 0)?;
        pool.name_tree(table.root, table.number + 2);
    }
    // The last number of those in pieces, and of those in pages.
    let mut next = 0;
    for end in [IN_PAGES, 2 * IN_PAGES] {
        let end = piece_key(end, 0);
        let mut pieces = Scan::new(&view, Ok(Some(OVERFLOW_TREE)), Some(&end), Direction::Backward);
        next = next.max(pieces.next()?.map_or(0, |(key, _)| number_behind(key) & !IN_PAGES));
    }
    note_unowned(core, &view)?;
    // A number is never used twice, not even if its value is gone: its pieces could come back from
    // a store that has lost the newest version of a page. A value takes more bytes of the log than
    // it takes numbers, so the numbers of this opening end below those of the next.
    let next = next.max(core.trees.wal().end());
    core.next_overflow.store(next, std::sync::atomic::Ordering::Relaxed);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_store::Cleaning;
    use frostline_zone::{Device, Shape, in_memory};

    use crate::node::PAGE_BYTES;
    use crate::{Create, Db, DbError, Options};

    /// A device with an empty database, and room for a log of all that follows.
    fn device() -> Arc<dyn Device> {
        let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
        let device: Arc<dyn Device> = in_memory(&shape).unwrap();
        Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
        device
    }

    fn open(device: &Arc<dyn Device>) -> Db {
        let options =
            Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        Db::open(device, &options).unwrap()
    }

    #[test]
    fn the_log_of_pages_that_recovery_made_anew_is_kept_until_the_device_has_them() {
        let device = device();
        let open = || open(&device);
        let change = |db: &Db, n: u32, value: Option<&[u8]>| {
            let (table, other) = (db.table("t").unwrap(), db.table("other").unwrap());
            let mut all = db.begin().unwrap();
            match value {
                Some(value) => all.put(table, &n.to_be_bytes(), value).unwrap(),
                None => all.delete(table, &n.to_be_bytes()).unwrap(),
            }
            // Other pages change as well, each at its time.
            all.put(other, &n.to_be_bytes(), &[7; 500]).unwrap();
            all.commit_soon().unwrap();
        };
        let db = open();
        db.create_table("t").unwrap();
        db.create_table("other").unwrap();
        (0..1000).for_each(|n| change(&db, n, None));
        (0..200).for_each(|n| change(&db, n, Some(&[7; 100])));
        db.checkpoint().unwrap();
        // The root gets more children, loses them, and gets the content of its last one.
        (200..600).for_each(|n| change(&db, n, Some(&[7; 100])));
        (10..600).rev().for_each(|n| change(&db, n, None));
        db.core().purge_all();
        db.wait(db.begin().unwrap().commit_soon().unwrap()).unwrap();
        drop(db);
        for _ in 0..40 {
            let db = open();
            let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
            let has = |n: u32| look.get(table, &n.to_be_bytes()).unwrap().is_some();
            assert!((0..1000).all(|n| has(n) == (n < 10)));
            drop(look);
            // A crash comes after a part of the log was released.
            db.core().checkpoint_eighth().unwrap();
            db.core().trees.wal().wait(db.core().trees.wal().end()).unwrap();
        }
    }

    #[test]
    fn a_page_that_an_interrupted_recovery_wrote_as_it_was_before_it_was_taken_is_not_split() {
        let device = device();
        let db = open(&device);
        let put = |table, numbers: &mut dyn Iterator<Item = u32>| {
            for n in numbers {
                let mut transaction = db.begin().unwrap();
                transaction.put(table, &n.to_be_bytes(), &[7; 400]).unwrap();
                transaction.commit_soon().unwrap();
            }
        };
        let free = |name| {
            db.delete_table(name).unwrap();
            db.core().purge_all();
            db.core().trees.trim_freed().unwrap();
        };
        // Pages of a first table, as they were.
        let first = db.create_table("first").unwrap();
        put(first, &mut (0..300));
        let trees = &db.core().trees;
        let before = trees.pages.used();
        let old: Vec<_> = (3..before).map(|page| (page, trees.copy_page(page).unwrap())).collect();
        free("first");
        // They are taken for another table, split, and freed again.
        let records = (300..900).map(|n: u32| Ok::<_, DbError>(((4 * n).to_be_bytes(), [7; 400])));
        let second = db.ingest("second", 1.0, records).unwrap();
        put(second, &mut (300..900).step_by(4).map(|n| 4 * n + 1));
        db.core().split_overfull().unwrap();
        free("second");
        // A recovery that went as far as to the first table, and was cut off.
        for (page, content) in &old {
            let mut bytes = [0; PAGE_BYTES];
            content.copy_to(&mut bytes);
            trees.store().write(trees.space().first + page, &bytes).unwrap();
        }
        trees.store().sync().unwrap();
        trees.wal().wait(trees.wal().end()).unwrap();
        drop(db);
        let db = open(&device);
        assert!(db.recovered().structure > 60, "{:?}", db.recovered());
        let check = db.check().unwrap();
        assert!(check.findings.is_empty(), "{:?}", check.findings);
    }
}
