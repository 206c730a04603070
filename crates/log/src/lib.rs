//! The log itself, as a deterministic state machine without I/O.
//!
//! A [`Volume`] holds the map from LBAs to slots, the zones and the trigger of cleaning. It asks
//! a scheme for classes and a victim policy for victims (`frostline-placement`), and never does
//! I/O: it says what must be written where.
//!
//! There are two ways to drive it, and they do the same:
//! * step by step, for a driver that writes pages down and keeps the map ([`Map`]):
//!   [`Volume::place_user`], [`Volume::end_stale`], [`Volume::begin_cleaning`],
//!   [`Volume::place_relocation`], [`Volume::release`]; its zones can be restored as they were
//!   ([`ZoneImage`]);
//! * in runs, for a driver that only counts: [`Volume::write`].

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
pub use steps::{Placed, Slot};
pub use volume::{MAX_LBA, Options, Volume, WORD_LAST};
pub use zones::ZoneTable;
