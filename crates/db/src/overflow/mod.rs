//! Values that are too long for a page. The value's record has its number and its length in its
//! place.
//!
//! One that goes through the log is kept in pieces: records of a tree of their own. A longer one
//! has pages of its own (`page.rs`), which are written before the commit that names them
//! (`ahead.rs`, `writer.rs`). In the tree of pieces it has a head, which says what is to become of
//! the pages, and records that say which they are. Pages that no value has any more are freed once
//! no snapshot sees them (`unowned.rs`).

mod ahead;
mod loading;
mod page;
mod reader;
mod unowned;
mod writer;

pub(crate) use ahead::{Ahead, Pinned, Taken};
pub(crate) use loading::PieceLeaves;
pub(crate) use page::{PAGE_DATA, PageOfValue, value_page};
pub use reader::ValueReader;
pub(crate) use unowned::{Unfreed, Unowned, note_unowned, runs_under_way};
pub(crate) use writer::Gathered;
pub use writer::{LongValue, ValueWriter};

use crate::DbError;
use crate::layout::OVERFLOW_TREE;
use crate::node::REFERENCE;

/// Bytes of a long value that are kept together: three pieces fill a page.
pub(crate) const PIECE: usize = 1240;

/// The longest value, in bytes.
pub const LONGEST_VALUE: usize = 1 << 30;

/// In the number of a record's key: it is the head of the value.
pub(crate) const HEAD: u64 = 1 << 63;

/// The pages of a value: what its head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Owner {
    /// They are being written. After a crash there is nothing else.
    UnderWay = 0,
    /// A record of a table.
    Record = 1,
    /// Nothing, any more.
    Nothing = 2,
}

/// A table that was deleted, as far as its pages are not freed, as a head has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeletedTree {
    /// The root.
    pub root: u32,
    /// True if values may be in pieces or pages of their own.
    pub has_overflow: bool,
    /// Leaves whose keys are all below this are free.
    pub from: Vec<u8>,
}

/// In place of an owner.
const DELETED_TREE: u8 = 3;

impl DeletedTree {
    /// The value of a head.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![DELETED_TREE, u8::from(self.has_overflow)];
        bytes.extend_from_slice(&self.root.to_le_bytes());
        bytes.extend_from_slice(&self.from);
        bytes
    }

    /// What a head's value says; none if it is not one of a table.
    pub(crate) fn parse(value: &[u8]) -> Option<DeletedTree> {
        let (&[DELETED_TREE, has_overflow], rest) = value.split_first_chunk()? else { return None };
        let (root, from) = rest.split_first_chunk()?;
        let root = u32::from_le_bytes(*root);
        Some(DeletedTree { root, has_overflow: has_overflow != 0, from: from.to_vec() })
    }
}

impl Owner {
    /// What a head's value says.
    pub(crate) fn parse(value: &[u8]) -> Option<Owner> {
        [Owner::UnderWay, Owner::Record, Owner::Nothing]
            .into_iter()
            .find(|&owner| value == [owner as u8])
    }
}

/// The key of the head of a value with pages.
pub(crate) fn head_key(number: u64) -> [u8; 12] {
    piece_key(number | HEAD, 0)
}

/// Pages that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Bytes of a run in a record.
const RUN: usize = 8;

/// Runs that a record has at most.
pub(crate) const MOST_RUNS: usize = 100;

impl Run {
    /// Its pages.
    pub(crate) fn pages(self) -> std::ops::Range<u32> {
        self.first..self.first.saturating_add(self.count)
    }

    /// The runs of these pages, which are in order.
    pub(crate) fn of(pages: &[u32]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for &page in pages {
            match runs.last_mut().filter(|run| run.first + run.count == page) {
                Some(run) => run.count += 1,
                None => runs.push(Run { first: page, count: 1 }),
            }
        }
        runs
    }

    /// The bytes of some runs.
    pub(crate) fn encode(runs: &[Run]) -> Vec<u8> {
        runs.iter().flat_map(|run| [run.first, run.count]).flat_map(u32::to_le_bytes).collect()
    }

    /// The runs of these bytes; none if they are not some.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Vec<Run>> {
        let (runs, rest) = bytes.as_chunks::<RUN>();
        let run = |bytes: &[u8; RUN]| {
            let [first, count] = [0, 4].map(|at| {
                u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            });
            (count > 0 && first.checked_add(count).is_some()).then_some(Run { first, count })
        };
        if rest.is_empty() { runs.iter().map(run).collect() } else { None }
    }
}

/// The key of a piece: the number of its value, and its place in it.
pub(crate) fn piece_key(id: u64, n: usize) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&(n as u32).to_be_bytes());
    key
}

/// The reference to a long value, in place of the value: number (u64) and length (u32).
pub(crate) fn reference_to(id: u64, len: usize) -> [u8; REFERENCE] {
    let mut whole = [0; REFERENCE];
    whole[..8].copy_from_slice(&id.to_le_bytes());
    whole[8..].copy_from_slice(&(len as u32).to_le_bytes());
    whole
}

/// The number and the length of a long value.
pub(crate) fn parse_overflow(value: &[u8]) -> Result<(u64, usize), DbError> {
    let wrong =
        || DbError::Page { page: OVERFLOW_TREE, what: "is not where pieces are said to be" };
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
