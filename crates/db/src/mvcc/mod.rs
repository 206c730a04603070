//! Versions: who sees what.
//!
//! A transaction reads as of its snapshot, a position of the log: it sees what commits up to
//! there wrote. The newest version of a record is in its tree; those before it, as long as
//! somebody may need them, are in [`Versions`]. [`Window`] knows which commits are complete, and
//! [`Snapshots`] which snapshots are in use.

mod snapshots;
mod versions;
mod window;
mod writes;

pub use snapshots::{Snapshot, Snapshots};
pub use versions::{Before, Versions};
pub use window::{InLog, Window};
pub use writes::{Change, Kind, Write, WriteSet, hash_of};
