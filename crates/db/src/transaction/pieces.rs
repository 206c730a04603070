//! Values that are too long for a page, in pieces: records of a tree of their own.

use std::sync::atomic::Ordering::Relaxed;

use super::Transaction;
use crate::DbError;
use crate::catalog::{Catalog, Table};
use crate::layout::{CATALOG, PIECES_TREE};
use crate::mvcc::{Found, Kind};

/// Bytes of a long value that are kept together: three pieces fill a page.
pub const PIECE: usize = 1240;

/// The longest value, in bytes. A transaction must also fit into the log.
pub const LONGEST_VALUE: usize = 1 << 30;

impl Transaction<'_> {
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
            if piece.len() != (len - n * PIECE).min(PIECE) {
                return Err(DbError::Page {
                    page: PIECES_TREE,
                    what: "a piece is of another value",
                });
            }
            value.extend_from_slice(&piece);
        }
        Ok(())
    }

    /// Removes the pieces of the value that a key has, if there are any.
    #[inline]
    pub(super) fn drop_pieces(&mut self, table: Table, key: &[u8]) -> Result<(), DbError> {
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
    pub(super) fn put_in_pieces(
        &mut self,
        table: Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<(), DbError> {
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
}

fn piece_key(id: u64, n: usize) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

/// The number and the length of a long value.
pub fn parse_pieces(value: &[u8]) -> Result<(u64, usize), DbError> {
    let wrong = || DbError::Page { page: PIECES_TREE, what: "is not where pieces are said to be" };
    let (id, len) = value.split_first_chunk::<8>().ok_or_else(wrong)?;
    let len = u32::from_le_bytes(len.try_into().map_err(|_| wrong())?) as usize;
    if len > LONGEST_VALUE {
        return Err(wrong());
    }
    Ok((u64::from_le_bytes(*id), len))
}

/// The number of the long value that a piece belongs to, and its place in it.
pub fn piece_number(key: &[u8]) -> Option<(u64, usize)> {
    let (number, n) = key.split_first_chunk::<8>()?;
    let n = u32::from_be_bytes(n.try_into().ok()?);
    Some((u64::from_be_bytes(*number), n as usize))
}

/// The number behind that of a piece.
pub fn number_behind(key: &[u8]) -> u64 {
    key.first_chunk::<8>().map_or(0, |id| u64::from_be_bytes(*id).saturating_add(1))
}
