//! What the store does with the device: it writes, reads, cleans, checkpoints.
//!
//! The state in memory is [`State`](crate::state::State), and bytes are [`format`](crate::format)'s.

pub mod admission;
pub mod background;
pub mod buffer;
pub mod checkpoint;
pub mod cleaning;
pub mod durability;
pub mod failed_zone;
pub mod group;
pub mod inner;
pub mod merging;
pub mod meta;
pub mod other_copy;
pub mod reading;
pub mod residency;
pub mod rewriting;
pub mod witness;
pub mod writing;
