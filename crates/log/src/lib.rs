//! The log itself, as a deterministic state machine without I/O.
//!
//! A [`Volume`] holds the map from LBAs to slots, the zones and the trigger of cleaning. It gets
//! classes from a scheme and victims from a victim policy (`frostline-placement`). It never does
//! I/O: it says what must be written where.
//!
//! There are two ways to drive it, with the same results:
//! * step by step, for a driver that writes pages to a device and keeps the map ([`Map`]):
//!   [`Volume::place_user`], [`Volume::end_stale`], [`Volume::begin_cleaning`],
//!   [`Volume::place_relocation`], [`Volume::release`]; its zones can be restored after a restart
//!   ([`ZoneImage`]);
//! * in runs, for a driver that only counts: [`Volume::write`].
//!
//! ```
//! use frostline_log::{LogError, Options, Volume, Writes};
//! use frostline_placement::{SchemeSpec, Visitor};
//! use frostline_placement::{Scheme, Setup, victims};
//!
//! /// Writes 4096 pages, then every second write goes to 256 of them, in zones of 64 pages that are
//! /// cleaned while more than 15 % of the written pages are garbage.
//! struct Replay;
//!
//! impl Visitor for Replay {
//!     type Output = Result<f64, LogError>;
//!
//!     fn visit<S: Scheme>(self, scheme: S) -> Result<f64, LogError> {
//!         let policy = victims::build("cost-benefit", 1).expect("a known policy");
//!         let mut volume = Volume::new(Options::elastic(64, 4096, 0.15), scheme, policy)?;
//!         let mixed = |i: u32| i.wrapping_mul(2_654_435_761).rotate_right(15);
//!         let again = (0..60_000).map(|i| mixed(i) % if i % 2 == 0 { 256 } else { 4096 });
//!         let pages: Vec<u32> = (0..4096).chain(again).collect();
//!         volume.write(&Writes::new(&pages), 0..pages.len())?;
//!         assert_eq!(volume.valid_pages(), 4096);
//!         Ok(volume.counts().waf())
//!     }
//! }
//!
//! let setup = Setup::new(64, 4096);
//! let nosep = SchemeSpec::parse("nosep")?.build(&setup, Replay)??;
//! let sepbit = SchemeSpec::parse("sepbit")?.build(&setup, Replay)??;
//! assert!(sepbit < nosep, "{sepbit} {nosep}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod capacity;
mod chunk_shape;
mod chunks;
mod cleaning;
mod counts;
mod deltas;
mod error;
mod exceptions;
mod extents;
mod garbage;
mod image;
mod inspect;
mod map;
mod memory;
mod places;
mod room;
mod run;
mod stale;
mod steps;
mod survey;
mod volume;
mod writes;
mod zones;

pub use capacity::Capacity;
pub use chunk_shape::{ChunkFill, ChunkShape};
pub use counts::{ClassCounts, Counts};
pub use deltas::{MergeUnits, takes_delta};
pub use error::LogError;
pub use image::ZoneImage;
pub use map::{Map, MapEntry, PageEntry};
pub use memory::Array;
pub use places::{Extent, Slot, Units};
pub use steps::{Placed, scheme_lba};
pub use volume::{MAX_LBA, Options, Volume, WORD_LAST};
pub use writes::{Lengths, Merge, Writes};
pub use zones::ZoneTable;
