//! Tables as wholes: they are renamed, deleted, filled at once, and measured.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;

use frostline_store::RoomFor;

use crate::catalog::{Catalog, Table};
use crate::core::Core;
use crate::direction::Direction;
use crate::layout::{CATALOG, IN_PAGES};
use crate::mvcc::WriteKind;
use crate::node::{LONGEST_KEY, LONGEST_RECORD, Node, NodeMut, PAGE_BYTES, PageBytes};
use crate::overflow::{Ahead, DeletedTree, Run, Taken, head_key};
use crate::space::Outgoing;
use crate::transaction::{Also, Isolation, Transaction};
use crate::tree::{Build, Place};
use crate::{Db, DbError};

/// The size of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSize {
    /// Pages of its tree, exact. Pieces and pages of values that are too long for a page come on
    /// top.
    pub pages: u64,
    /// Records, estimated from some leaves unless there are few.
    pub records: u64,
    /// Bytes of keys and values in the leaves, estimated as the records are.
    pub bytes: u64,
}

/// Leaves that are read for an estimate: all, if there are no more.
const SAMPLE: usize = 64;

/// The share to which the pages of a copy are full.
const FULL: f64 = 0.9;

/// Bytes of long values after which a commit of a copy ends.
const COPIED: u64 = 1 << 20;

/// Pages that are taken together for a table that is filled at once.
const TOGETHER: usize = 1024;

/// Pages that the store gets at once.
const BATCH: usize = 64;

impl Db {
    /// Gives a table another name. Its handles stay valid.
    ///
    /// # Errors
    /// There is no such table, or one that has the new name; a name that is too long for a key; as
    /// for
    /// [`Transaction::commit`].
    pub fn rename_table(&self, name: &str, to: &str) -> Result<(), DbError> {
        let core = self.core();
        let _one_at_a_time = core.catalog.lock();
        let table = self.table(name)?;
        let mut transaction = Transaction::begin(core, Isolation::Snapshot)?;
        if core.catalog.find(to).is_some() {
            return Err(DbError::TableExists { name: to.to_string() });
        }
        let entry = Catalog::entry(table.root, table.number, core.catalog.has_overflow(table));
        transaction.name_tree(to, &entry)?;
        transaction.set(CATALOG, name.as_bytes(), WriteKind::Delete, &[])?;
        let commit = transaction.commit_soon()?;
        core.catalog.rename(table, to);
        self.wait(commit)
    }

    /// Deletes a table and all its records, however many there are: it takes a short commit. Its
    /// pages are freed later, once no snapshot sees them. Snapshots read the table by no handle any
    /// more. It works on a full database.
    ///
    /// # Errors
    /// There is no such table; as for [`Transaction::commit`].
    pub fn delete_table(&self, name: &str) -> Result<(), DbError> {
        let core = self.core();
        let _one_at_a_time = core.catalog.lock();
        let table = self.table(name)?;
        let mut transaction = Transaction::begin(core, Isolation::Snapshot)?;
        let number = core.next_overflow.fetch_add(1, Relaxed) | IN_PAGES;
        let (root, from) = (table.root, Vec::new());
        let deleted = DeletedTree { root, has_overflow: core.catalog.has_overflow(table), from };
        transaction.also(Also::Deletes);
        transaction.set(CATALOG, name.as_bytes(), WriteKind::Delete, &[])?;
        let head = (head_key(number), deleted.encode());
        transaction.set(crate::layout::OVERFLOW_TREE, &head.0, WriteKind::Put, &head.1)?;
        core.catalog.delete(table);
        let commit = transaction.commit_soon().inspect_err(|_| {
            if core.check().is_ok() {
                core.catalog.undelete(table);
            }
        })?;
        core.catalog.forget_name(table);
        core.unowned.add_tree(commit.0, number, deleted);
        self.wait(commit)
    }

    /// Makes a table of records that come in the order of their keys, several times as fast as
    /// puts: its pages are built one after the other, full to a share, and written to the store. It
    /// appears when it is whole; a crash before leaves nothing of it.
    ///
    /// ```
    /// # use frostline_db::{Create, Db, DbError, Options};
    /// # use frostline_zone::{Shape, in_memory};
    /// # let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    /// # Db::create(&device, &Create::default())?;
    /// # let db = Db::open(&device, &Options::default())?;
    /// let squares = (0..10_000u32).map(|n| Ok::<_, DbError>((n.to_be_bytes(), (n * n).to_string())));
    /// let table = db.ingest("squares", 0.9, squares)?;
    /// let nine = db.begin_read()?.get(table, &9u32.to_be_bytes())?;
    /// assert_eq!(nine.as_deref(), Some(&b"81"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is a table of this name; keys that are not in order; a record that is too long for a
    /// page (keys of 512 bytes, 900 with the value); the database is full; an error of the records.
    pub fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>, E: From<DbError>>(
        &self,
        name: &str,
        fill: f64,
        records: impl IntoIterator<Item = Result<(K, V), E>>,
    ) -> Result<Table, E> {
        let core = self.core();
        core.check()?;
        if core.catalog.find(name).is_some() {
            return Err(DbError::TableExists { name: name.to_string() }.into());
        }
        let number = core.catalog.next_number()?;
        let mut filling = Filling::begin(core, number.number)?;
        let mut build = Build::new(filling.root, fill);
        let mut last: Option<Vec<u8>> = None;
        for record in records {
            let (key, value) = record?;
            let (key, value) = (key.as_ref(), value.as_ref());
            check_record(last.as_deref(), key, value)?;
            build.push(key, value, &mut filling)?;
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(key);
        }
        build.finish(&mut filling)?;
        Ok(self.name_filled(name, filling)?)
    }

    /// Commits a table that was filled.
    fn name_filled(&self, name: &str, mut filling: Filling<'_>) -> Result<Table, DbError> {
        let core = self.core();
        // What follows in the log must not name pages that a crash may lose.
        core.trees.store().sync()?;
        let entry = Catalog::entry(filling.root, filling.number, false);
        let _one_at_a_time = core.catalog.lock();
        if core.catalog.find(name).is_some() {
            return Err(DbError::TableExists { name: name.to_string() });
        }
        let mut transaction = Transaction::begin(core, Isolation::Snapshot)?;
        transaction.name_tree(name, &entry)?;
        filling.ahead.forget(&mut transaction)?;
        let unused: Vec<u32> = filling.free.drain(..).collect();
        transaction.also(Also::Gives(Run::of(&unused)));
        let commit = transaction.commit_soon()?;
        filling.is_named = true;
        for page in unused {
            core.trees.pages.free(commit.0, page);
        }
        let table = core.catalog.add(name.as_bytes(), &entry, commit.0)?;
        self.wait(commit)?;
        Ok(table)
    }

    /// Copies all tables, as they are now, to another database that has none: so they get
    /// another scheme, another unit, another log or another size, whatever the other database
    /// was made with. This one can be used meanwhile; it keeps for the copy what is
    /// overwritten (see [`crate::Options::version_bytes`]). Returns the number of records.
    ///
    /// # Errors
    /// The other one has a table; a damaged page; [`DbError::SnapshotTooOld`]; the other one is
    /// full; an error of a device. Then the other one has some of the tables.
    pub fn copy_to(&self, other: &Db) -> Result<u64, DbError> {
        let (look, mut records) = (self.begin_read()?, 0);
        if let Some((name, _)) = other.tables().pop() {
            return Err(DbError::TableExists { name });
        }
        for (name, table) in self.tables() {
            let (mut scan, mut long) = (look.scan_all(table, Direction::Forward), Vec::new());
            let short = std::iter::from_fn(|| {
                loop {
                    match scan.next_in_page() {
                        Ok(Some((key, Some(value)))) => {
                            return Some(Ok((key.to_vec(), value.to_vec())));
                        }
                        Ok(Some((key, None))) => long.push(key.to_vec()),
                        Ok(None) => return None,
                        Err(error) => return Some(Err(error)),
                    }
                }
            });
            let copy = other.ingest(&name, FULL, short.inspect(|_| records += 1))?;
            records += long.len() as u64;
            let mut long = long.iter().peekable();
            while long.peek().is_some() {
                let (mut transaction, mut bytes) = (other.begin()?, 0);
                while bytes < COPIED
                    && let Some(key) = long.next()
                {
                    let Some(mut reader) = look.value_reader(table, key)? else { continue };
                    let mut value = transaction.long_value();
                    loop {
                        let part = reader.next_part()?;
                        let count = part.len() as u64;
                        if count == 0 {
                            break;
                        }
                        value.append(part)?;
                        reader.pass(count);
                        bytes += count;
                    }
                    transaction.put_value(copy, key, value)?;
                }
                transaction.commit_soon()?;
            }
        }
        other.wait(other.begin_read()?.commit_soon()?)?;
        Ok(records)
    }

    /// The size of a table. It reads the nodes above the leaves, and 64 leaves at most, however
    /// large the table is.
    ///
    /// # Errors
    /// The handle is of another database, or its table was deleted; a damaged page; an error of the
    /// device.
    pub fn table_size(&self, table: Table) -> Result<TableSize, DbError> {
        let core = self.core();
        let mut leaves = Vec::new();
        // Leaves that are merged meanwhile would be missed.
        let no_visits = core.trees.visits.pause();
        let tree = core.catalog.tree(table)?;
        core.leaves_of(tree, &mut leaves)?;
        // Some are split as they get what waits for them.
        sample(&leaves).into_iter().try_for_each(|leaf| core.trees.give_rows_of(leaf))?;
        leaves.clear();
        let inner = core.leaves_of(tree, &mut leaves)?;
        let sampled = sample(&leaves);
        let (mut records, mut bytes) = (0, 0);
        for &page in &sampled {
            let leaf = core.trees.copy_page(page)?;
            let leaf = Node::of(&leaf);
            for slot in (0..leaf.count()).map(|index| leaf.slot(index)) {
                if !slot.is_ghost() {
                    records += 1;
                    bytes += (leaf.prefix_len() + slot.bytes()) as u64;
                }
            }
        }
        drop(no_visits);
        let pages = (leaves.len() + inner) as u64;
        let scaled =
            |count: u64| (count as f64 * leaves.len() as f64 / sampled.len() as f64).round() as u64;
        Ok(TableSize { pages, records: scaled(records), bytes: scaled(bytes) })
    }
}

/// All of a few leaves, or some from all over.
fn sample(leaves: &[u32]) -> Vec<u32> {
    match leaves.len() {
        count if count <= SAMPLE => leaves.to_vec(),
        count => (0..SAMPLE).map(|n| leaves[n * count / SAMPLE]).collect(),
    }
}

fn check_record(last: Option<&[u8]>, key: &[u8], value: &[u8]) -> Result<(), DbError> {
    if key.len() > LONGEST_KEY {
        return Err(DbError::KeyTooLong { bytes: key.len(), longest: LONGEST_KEY });
    }
    let longest = LONGEST_RECORD - key.len();
    if value.len() > longest {
        return Err(DbError::ValueTooLong { bytes: value.len(), longest });
    }
    if last.is_some_and(|last| last >= key) {
        let why = format!("{} does not come behind the key before it", key.escape_ascii());
        return Err(DbError::Options { what: "records", why });
    }
    Ok(())
}

impl Core {
    /// Appends the leaves of a tree in order; the number of its other nodes.
    fn leaves_of(&self, root: u32, leaves: &mut Vec<u32>) -> Result<usize, DbError> {
        let (mut level_of, mut inner) = (vec![root], 0);
        loop {
            let mut below = Vec::new();
            for &page in &level_of {
                let node = self.trees.copy_page(page)?;
                let node = Node::of(&node);
                if node.level() == 0 {
                    leaves.push(page);
                    continue;
                }
                inner += 1;
                let children = (0..node.count()).map(|index| node.child(index));
                if node.level() == 1 { leaves.extend(children) } else { below.extend(children) }
            }
            if below.is_empty() {
                return Ok(inner);
            }
            level_of = below;
        }
    }
}

/// A table that is being filled.
struct Filling<'d> {
    core: &'d Core,
    ahead: Ahead<'d>,
    root: u32,
    number: u32,
    /// Pages that were taken last: the log needs to know of them until they are written.
    taken: Option<Taken<'d>>,
    free: VecDeque<u32>,
    /// Nodes that are to be written, with their pages.
    waiting: Vec<(u32, bool, [u8; PAGE_BYTES])>,
    is_named: bool,
}

impl<'d> Filling<'d> {
    fn begin(core: &'d Core, number: u32) -> Result<Self, DbError> {
        let (ahead, free, waiting) = (Ahead::begin(core), VecDeque::new(), Vec::new());
        let mut filling =
            Filling { core, ahead, root: 0, number, taken: None, free, waiting, is_named: false };
        filling.root = filling.take()?;
        core.trees.pool.name_tree(filling.root, number + 2);
        // The root is built last; until then it is an empty leaf, as pages that were taken have to
        // be written.
        let page = PageBytes::new();
        NodeMut::format(&page, filling.root, 0, crate::node::Fences { lower: &[], upper: None });
        filling.write_later(filling.root, &page)?;
        Ok(filling)
    }

    /// A page for a node.
    fn take(&mut self) -> Result<u32, DbError> {
        if self.free.is_empty() {
            self.write()?;
            // Only now are those before written.
            self.taken = None;
            let taken = self.ahead.take(TOGETHER.min(self.worth_taking()))?;
            self.free.extend(&taken.pages);
            self.taken = Some(taken);
        }
        let page = self.free.pop_front().ok_or(DbError::Panicked)?;
        self.core.trees.pool.is_on_device(page)?;
        Ok(page)
    }

    /// Few pages at first: most tables are small.
    fn worth_taking(&self) -> usize {
        (self.ahead.taken() as usize).max(16)
    }

    fn write_later(&mut self, page: u32, node: &PageBytes) -> Result<(), DbError> {
        let position = self.taken.as_ref().map_or(0, |taken| taken.position);
        let mut bytes = [0; PAGE_BYTES];
        let node = node.clone();
        NodeMut::of(&node).raise_position(position);
        let is_inner = Node::of(&node).level() > 0;
        node.copy_to(&mut bytes);
        self.waiting.push((page, is_inner, bytes));
        if self.waiting.len() == BATCH { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), DbError> {
        let position = self.taken.as_ref().map_or(0, |taken| taken.position);
        let pool = &self.core.trees.pool;
        let outgoing = self.waiting.iter().map(|(page, is_inner, bytes)| Outgoing {
            page: *page,
            bytes,
            position,
            hotness: pool.of_new(self.root, *is_inner),
            changed: None,
        });
        // The store's room is promised to changed pages otherwise.
        let _room = self.core.page_room(self.waiting.len() as u64, RoomFor::Any)?;
        pool.write_ahead(&outgoing.collect::<Vec<_>>())?;
        self.waiting.clear();
        Ok(())
    }
}

impl Place for Filling<'_> {
    fn node(&mut self, node: &PageBytes) -> Result<u32, DbError> {
        let page = self.take()?;
        self.write_later(page, node)?;
        Ok(page)
    }

    fn root(&mut self, node: &PageBytes) -> Result<(), DbError> {
        self.write_later(self.root, node)?;
        self.write()?;
        // A visit that is due to a leaf which had this number may have read the empty one.
        let pool = &self.core.trees.pool;
        pool.forget(self.root, |_| ())?;
        pool.is_on_device(self.root)
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            self.core.unowned.add(0, self.ahead.number());
        }
    }
}
