//! The log itself, as a deterministic state machine without I/O.
//!
//! A [`Volume`] holds the map from LBAs to slots, the zones and the trigger of cleaning. It asks
//! a scheme for classes and a victim policy for victims (`frostline-placement`), and never does
//! I/O: it says what must be written where, and is told when that has happened.
//!
//! There are two ways to drive it, and they do the same:
//! * step by step, for a driver whose writes take time: [`Volume::place_user`],
//!   [`Volume::commit_user`], [`Volume::end_stale`], [`Volume::begin_cleaning`],
//!   [`Volume::place_relocation`], [`Volume::commit_relocation`], [`Volume::release`]; its map may
//!   be the driver's ([`Map`]), and what it was can be restored ([`ZoneImage`]);
//! * in runs, for a driver in which everything completes at once: [`Volume::write`].

mod capacity;
mod cleaning;
mod counts;
mod error;
mod exceptions;
mod garbage;
mod image;
mod inspect;
mod map;
mod memory;
mod prefetch;
mod run;
mod stale;
mod steps;
mod volume;
mod zones;

pub use capacity::Capacity;
pub use counts::Counts;
pub use error::LogError;
pub use image::ZoneImage;
pub use map::{Entry, LOST, Map};
pub use memory::Array;
pub use run::Writes;
pub use steps::{Slot, Ticket};
pub use volume::{MAX_LBA, Options, Volume, WORD_LAST};
pub use zones::ZoneTable;
