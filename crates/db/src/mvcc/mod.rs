//! Versions of records, and the snapshots that see them.
//!
//! A transaction reads as of its snapshot, a position of the log: it sees what commits up to there
//! wrote. The newest version of a record is in its tree; those before it are in [`Versions`], as
//! long as a snapshot in use sees them. [`CommitWindow`] knows which commits are complete,
//! and compares what a serializable transaction read with what they wrote.

mod commit_history;
mod first_records;
mod reads;
mod snapshots;
mod versions;
mod window;
mod writes;

pub(crate) use reads::ReadSet;
pub(crate) use snapshots::RetainedVersion;
pub use versions::VersionStats;
pub(crate) use versions::{Lookup, Seen, Snapshot, Versions};
pub(crate) use window::{CommitWindow, PendingCommit, Reads, Validated};
pub(crate) use writes::{Change, Write, WriteKind, WriteSet, hash_of};
