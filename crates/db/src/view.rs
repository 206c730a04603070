//! What a transaction sees: a snapshot, and the writes of its own.

use std::sync::Arc;

use crate::DbError;
use crate::layout::PIECES_TREE;
use crate::mvcc::{Found, Kind, Snapshot, WriteSet, hash_of};
use crate::pieces::{PIECE, parse_pieces, piece_key};
use crate::tree::{Trees, places};

/// A view of the trees as of a snapshot, with uncommitted writes over it.
pub struct View<'d> {
    /// The trees.
    pub trees: &'d Trees,
    snapshot: Snapshot<'d>,
    /// None if it may not write.
    pub writes: Option<Arc<WriteSet>>,
}

impl<'d> View<'d> {
    /// A view of what is complete now.
    pub fn begin(trees: &'d Trees, writes: Option<Arc<WriteSet>>) -> Self {
        View { trees, snapshot: trees.versions.snapshot(&trees.window), writes }
    }

    /// Log position up to which commits are seen.
    #[inline]
    pub fn position(&self) -> u64 {
        self.snapshot.position()
    }

    /// The writes; none if it may not write.
    #[inline]
    pub fn writes(&self) -> &WriteSet {
        static NOTHING: WriteSet = WriteSet::new();
        self.writes.as_deref().unwrap_or(&NOTHING)
    }

    /// What is seen of a key: an own write, or what the snapshot has. Puts the value into `value`, or where
    /// its pieces are.
    #[inline]
    pub fn find(&self, tree: u32, key: &[u8], value: &mut Vec<u8>) -> Result<Found, DbError> {
        let (trees, snapshot) = (self.trees, self.snapshot.position());
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
    pub fn join(&self, value: &mut Vec<u8>) -> Result<(), DbError> {
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
}
