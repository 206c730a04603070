//! Transactions.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use crate::catalog::{Catalog, Table};
use crate::core::Core;
use crate::layout::{CATALOG, PIECES_TREE};
use crate::mvcc::{Kind, Snapshot, WriteSet, hash_of};
use crate::node::{LONGEST_KEY, LONGEST_RECORD};
use crate::record::{CREATE, TRANSACTION, put_writes};
use crate::scan::{Direction, Scan};
use crate::tree::{Found, places};
use crate::{Commit, DbError};

/// Bytes of a long value that are kept together: three pieces fill a page.
pub(crate) const PIECE: usize = 1240;

/// The longest value, in bytes. A transaction must also fit into the log.
pub const LONGEST_VALUE: usize = 1 << 30;

/// A transaction. It reads what was committed when it began, and its own writes; what it writes
/// is seen by others once it is committed, all at once. Dropped without that, it never was.
///
/// Readers wait for nobody and nobody waits for them. Of two transactions that write the same key
/// and overlap, the one that commits first wins, and the other gets [`DbError::Conflict`]. That
/// is snapshot isolation: no dirty writes or reads, no lost updates, no read skew, no phantoms.
/// What it allows is write skew: two transactions that each read what the other writes, and write
/// different keys.
pub struct Transaction<'d> {
    core: &'d Core,
    snapshot: Snapshot<'d>,
    /// None if it may not write.
    writes: Option<Arc<WriteSet>>,
    /// A tree that the commit makes.
    creates: Option<u32>,
}

impl<'d> Transaction<'d> {
    pub(crate) fn begin(core: &'d Core, read_only: bool) -> Result<Self, DbError> {
        core.check()?;
        let trees = &core.trees;
        let Some(snapshot) = trees.snapshots.take(&trees.window) else {
            let why = "too many transactions at a time".to_string();
            return Err(DbError::Options { what: "transactions", why });
        };
        let writes = (!read_only).then(|| core.write_set());
        Ok(Transaction { core, snapshot, writes, creates: None })
    }

    pub(crate) fn core(&self) -> &'d Core {
        self.core
    }

    #[inline]
    pub(crate) fn writes(&self) -> &WriteSet {
        static NOTHING: WriteSet = WriteSet::new();
        self.writes.as_deref().unwrap_or(&NOTHING)
    }

    pub(crate) fn seen_up_to(&self) -> u64 {
        self.snapshot.position()
    }

    /// The value of a key.
    ///
    /// # Errors
    /// A damaged page; an error of the device.
    pub fn get(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        let mut value = Vec::new();
        Ok(self.get_into(table, key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key into `value`, whose content is lost; false if there is none.
    ///
    /// # Errors
    /// As for [`Transaction::get`].
    #[inline]
    pub fn get_into(&self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, DbError> {
        match self.find(table.root, key, value)? {
            Found::Nothing => Ok(false),
            Found::Value => Ok(true),
            Found::Pieces => self.join(value).map(|()| true),
        }
    }

    /// What the transaction sees of a key: its own writes, or what the snapshot has.
    #[inline]
    pub(crate) fn find(
        &self,
        tree: u32,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<Found, DbError> {
        let (trees, snapshot) = (&self.core.trees, self.snapshot.position());
        let Some(writes) = &self.writes else {
            return Ok(trees.get(tree, key, snapshot, value)?.0);
        };
        let hash = hash_of(tree, key);
        let Some(change) = writes.find(tree, key, hash) else {
            let (found, place) = trees.get(tree, key, snapshot, value)?;
            places::note(hash, place);
            return Ok(found);
        };
        value.clear();
        match change.kind {
            Kind::Put | Kind::PutPieces => value.extend_from_slice(change.value),
            Kind::Delete => {}
            Kind::Patch => {
                let (found, _) = trees.get(tree, key, snapshot, value)?;
                change.patch(value);
                return Ok(found);
            }
        }
        Ok(match change.kind {
            Kind::PutPieces => Found::Pieces,
            Kind::Delete => Found::Nothing,
            _ => Found::Value,
        })
    }

    /// Puts the pieces that `value` tells of together, in its place.
    pub(crate) fn join(&self, value: &mut Vec<u8>) -> Result<(), DbError> {
        let (id, len) = parse_pieces(value)?;
        let mut piece = Vec::new();
        value.clear();
        for n in 0..len.div_ceil(PIECE) {
            let key = piece_key(id, n);
            if self.find(PIECES_TREE, &key, &mut piece)? != Found::Value {
                return Err(DbError::Page { page: PIECES_TREE, what: "a piece is missing" });
            }
            value.extend_from_slice(&piece);
        }
        Ok(())
    }

    fn own(&mut self) -> Result<&mut WriteSet, DbError> {
        let writes = self.writes.as_mut().ok_or(DbError::ReadOnly)?;
        // Nobody else has it before the commit.
        Arc::get_mut(writes).ok_or(DbError::Panicked)
    }

    fn set(&mut self, tree: u32, key: &[u8], kind: Kind, value: &[u8]) -> Result<(), DbError> {
        if key.len() > LONGEST_KEY {
            return Err(DbError::KeyTooLong { bytes: key.len(), longest: LONGEST_KEY });
        }
        match self.own()?.set(tree, key, kind, value) {
            true => Ok(()),
            false => Err(DbError::TooLarge { bytes: usize::MAX, most: u32::MAX as usize }),
        }
    }

    /// Sets the value of a key.
    ///
    /// # Errors
    /// A read-only transaction; a key or a value that is too long; a damaged page; an error of
    /// the device.
    #[inline]
    pub fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), DbError> {
        self.drop_pieces(table, key)?;
        if key.len() + value.len() > LONGEST_RECORD {
            return self.put_in_pieces(table, key, value);
        }
        self.set(table.root, key, Kind::Put, value)
    }

    /// Overwrites bytes of the value of a key from `at`: cheaper than to get and put it all.
    /// What would lie beyond the value is left out, and nothing happens if there is none.
    ///
    /// # Errors
    /// As for [`Transaction::put`].
    pub fn patch(
        &mut self,
        table: Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
    ) -> Result<(), DbError> {
        if at.saturating_add(bytes.len()) <= LONGEST_RECORD && !self.core.catalog.has_pieces(table)
        {
            if key.len() > LONGEST_KEY {
                return Err(DbError::KeyTooLong { bytes: key.len(), longest: LONGEST_KEY });
            }
            self.own()?.patch(table.root, key, at as u16, bytes);
            return Ok(());
        }
        let Some(mut value) = self.get(table, key)? else { return Ok(()) };
        for (byte, &new) in value.iter_mut().skip(at).zip(bytes) {
            *byte = new;
        }
        self.put(table, key, &value)
    }

    /// Removes a key and its value, if they are there.
    ///
    /// # Errors
    /// As for [`Transaction::put`].
    pub fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        self.drop_pieces(table, key)?;
        self.set(table.root, key, Kind::Delete, &[])
    }

    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    fn drop_pieces(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
        if !self.core.catalog.has_pieces(table) {
            return Ok(());
        }
        let mut value = Vec::new();
        if self.find(table.root, key, &mut value)? == Found::Pieces {
            let (id, len) = parse_pieces(&value)?;
            for n in 0..len.div_ceil(PIECE) {
                self.set(PIECES_TREE, &piece_key(id, n), Kind::Delete, &[])?;
            }
        }
        Ok(())
    }

    /// Sets a value that is too long for a page, under a number of its own.
    #[cold]
    fn put_in_pieces(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), DbError> {
        if value.len() > LONGEST_VALUE {
            return Err(DbError::ValueTooLong { bytes: value.len(), longest: LONGEST_VALUE });
        }
        self.announce_pieces(table)?;
        let id = self.core.next_pieces.fetch_add(1, Relaxed);
        for (n, piece) in value.chunks(PIECE).enumerate() {
            self.set(PIECES_TREE, &piece_key(id, n), Kind::Put, piece)?;
        }
        let mut whole = [0; 12];
        whole[..8].copy_from_slice(&id.to_le_bytes());
        whole[8..].copy_from_slice(&(value.len() as u32).to_le_bytes());
        self.set(table.root, key, Kind::PutPieces, &whole)
    }

    /// Sees to it that the catalog says that values of a table may be in pieces: in a commit of
    /// its own, as this transaction may never be committed, while others rely on what is known.
    fn announce_pieces(&self, table: Table) -> Result<(), DbError> {
        let catalog = &self.core.catalog;
        let _one_at_a_time = catalog.lock();
        let (false, Some(name)) = (catalog.has_pieces(table), catalog.name(table)) else {
            return Ok(());
        };
        let mut announcement = Transaction::begin(self.core, false)?;
        let entry = Catalog::entry(table, true);
        announcement.set(CATALOG, name.as_bytes(), Kind::Put, &entry)?;
        announcement.commit_soon()?;
        catalog.note_pieces(table);
        Ok(())
    }

    /// The records from `bound` (itself included) in the direction's order.
    pub fn scan(&self, table: Table, bound: &[u8], direction: Direction) -> Scan<'_, 'd> {
        Scan::new(self, table.root, Some(bound), direction)
    }

    /// All records in the direction's order.
    pub fn scan_all(&self, table: Table, direction: Direction) -> Scan<'_, 'd> {
        Scan::new(self, table.root, None, direction)
    }

    /// The commit makes a tree, and names it.
    pub(crate) fn create_tree(&mut self, name: &str, table: Table) -> Result<(), DbError> {
        self.creates = Some(table.root);
        self.set(CATALOG, name.as_bytes(), Kind::Put, &Catalog::entry(table, false))
    }

    /// Makes what was written visible to transactions that begin from now on, and durable.
    ///
    /// # Errors
    /// [`DbError::Conflict`]: nothing was written. A full database, a transaction too large for
    /// the log: nothing was written. An error of the device: whether it is durable is known when
    /// the database is opened again.
    pub fn commit(self) -> Result<(), DbError> {
        let core = self.core;
        let commit = self.commit_soon()?;
        Ok(core.trees.pool.wal.wait(commit.0)?)
    }

    /// As [`Transaction::commit`], but durable a little later: [`crate::Db::wait`] tells when. Many
    /// commits on their way need few flushes.
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub fn commit_soon(mut self) -> Result<Commit, DbError> {
        let Some(writes) = self.writes.take().filter(|writes| !writes.is_empty()) else {
            return Ok(Commit(self.snapshot.position()));
        };
        let core = self.core;
        core.check()?;
        let committed = self.commit_writes(&writes);
        // Whoever collects versions takes it back as well, if they are needed no longer than this.
        drop(self);
        core.reuse(writes);
        core.collect().map_err(|error| core.fail(error))?;
        match committed {
            Ok(position) => {
                core.commits.fetch_add(1, Relaxed);
                Ok(Commit(position))
            }
            Err(error) => {
                let lost = matches!(error, DbError::Conflict);
                core.conflicts.fetch_add(u64::from(lost), Relaxed);
                Err(error)
            }
        }
    }

    fn commit_writes(&self, writes: &Arc<WriteSet>) -> Result<u64, DbError> {
        let (core, trees) = (self.core, &self.core.trees);
        let _admission = core.admit(writes)?;
        if !trees.versions.claim(writes, self.snapshot.position()) {
            return Err(DbError::Conflict);
        }
        let position = match self.log(writes) {
            Ok(in_log) => {
                // From here on there is no way back: the log has it.
                let position = in_log.position();
                if let Err(error) = self.apply(writes, position) {
                    // What is half done must never be seen, or be taken for complete.
                    std::mem::forget(in_log);
                    return Err(core.fail(error));
                }
                position
            }
            Err(error) => {
                trees.versions.give_up(writes);
                return Err(error);
            }
        };
        if !trees.window.wait(position, || core.check().is_err()) {
            core.check()?;
        }
        core.keep_until_unseen(position, writes.clone());
        Ok(position)
    }

    fn log(&self, writes: &WriteSet) -> Result<crate::mvcc::InLog<'d>, DbError> {
        thread_local! {
            static RECORD: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
        }
        RECORD.with_borrow_mut(|record| {
            record.clear();
            put_writes(writes, record);
            let logged = match self.creates {
                Some(root) => self.core.trees.log(CREATE, &[&root.to_le_bytes(), record]),
                None => self.core.trees.log(TRANSACTION, &[record]),
            };
            if record.capacity() > 1 << 20 {
                *record = Vec::new();
            }
            logged
        })
    }

    /// Writes to the trees what the log has.
    fn apply(&self, writes: &Arc<WriteSet>, position: u64) -> Result<(), DbError> {
        let trees = &self.core.trees;
        if let Some(root) = self.creates {
            trees.create_root(root, position)?;
        }
        for (index, write) in writes.iter().enumerate() {
            let change = writes.change(write);
            let (key, place) = (writes.key(write), places::find(write.hash));
            trees.apply(write.tree, key, change, position, place, |before| {
                trees.versions.keep(writes, index, position, before());
            })?;
        }
        Ok(())
    }

    /// Ends the transaction; nothing was written.
    pub fn rollback(self) {}
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if let Some(writes) = self.writes.take() {
            self.core.reuse(writes);
        }
    }
}

fn piece_key(id: u64, n: usize) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

/// The number and the length of a long value.
pub(crate) fn parse_pieces(value: &[u8]) -> Result<(u64, usize), DbError> {
    let wrong = || DbError::Page { page: PIECES_TREE, what: "is not where pieces are said to be" };
    let (id, len) = value.split_first_chunk::<8>().ok_or_else(wrong)?;
    let len = u32::from_le_bytes(len.try_into().map_err(|_| wrong())?) as usize;
    if len > LONGEST_VALUE {
        return Err(wrong());
    }
    Ok((u64::from_le_bytes(*id), len))
}

/// The number of the long value that a piece belongs to, and its place in it.
pub(crate) fn piece_number(key: &[u8]) -> Option<(u64, usize)> {
    let (number, n) = key.split_first_chunk::<8>()?;
    let n = u32::from_be_bytes(n.try_into().ok()?);
    Some((u64::from_be_bytes(*number), n as usize))
}

/// The number behind that of a piece.
pub(crate) fn number_behind(key: &[u8]) -> u64 {
    key.first_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id).saturating_add(1))
}
