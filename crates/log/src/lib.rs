//! The log itself, as a deterministic state machine without I/O.
//!
//! A [`ZoneLog`] holds the zones, their garbage and the trigger of cleaning. It gets classes from a
//! scheme and victims from a victim policy (`frostline-placement`). It never does I/O: it says what
//! must be written where. It has no map from LBAs to slots.
//!
//! Three drivers have one, with the same results:
//! * [`Steps`], over the map ([`Map`]) of a store that writes pages to a device:
//!   [`Steps::place_user`], [`ZoneLog::end_stale`], [`ZoneLog::begin_cleaning`],
//!   [`Steps::place_relocation`], [`ZoneLog::release`]; the zones can be restored after a restart
//!   ([`ZoneImage`]);
//! * [`PageReplay`] for traces of whole pages, which are written in runs and only counted;
//! * [`RecordReplay`] for traces of records of any length.
//!
//! ```
//! use frostline_log::{Options, PageReplay, Replay as _, Writes};
//! use frostline_placement::{SchemeSpec, Setup, victims};
//!
//! // 4096 pages are written, then every second write goes to 256 of them, in zones of 64 pages that
//! // are cleaned while more than 15 % of the written pages are garbage.
//! let mixed = |i: u32| i.wrapping_mul(2_654_435_761).rotate_right(15);
//! let again = (0..60_000).map(|i| mixed(i) % if i % 2 == 0 { 256 } else { 4096 });
//! let pages: Vec<u32> = (0..4096).chain(again).collect();
//! let waf = |scheme: &str| -> Result<f64, Box<dyn std::error::Error>> {
//!     let scheme = SchemeSpec::parse(scheme)?.build_any(&Setup::new(64, 4096))?;
//!     let policy = victims::build("cost-benefit", 1).expect("a known policy");
//!     let mut replay = PageReplay::new(Options::elastic(64, 4096, 0.15), scheme, policy)?;
//!     replay.write(&Writes::new(&pages), 0..pages.len())?;
//!     assert_eq!(replay.log().valid_pages(), 4096);
//!     Ok(replay.log_mut().counts().waf())
//! };
//! let (nosep, sepbit) = (waf("nosep")?, waf("sepbit")?);
//! assert!(sepbit < nosep, "{sepbit} {nosep}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod map;
mod memory;
mod places;
mod replay;
mod steps;
mod survey;
mod writes;
mod zone_log;

pub use error::LogError;
pub use map::{Map, MapEntry, PageEntry};
pub use memory::Array;
pub use places::{Extent, Slot, Units};
pub use replay::{PageReplay, RecordReplay, Replay};
pub use steps::{Given, MergeUnits, Steps, scheme_lba, takes_delta};
pub use writes::{Lengths, Merge, Writes};
pub use zone_log::{
    Capacity, ChunkFill, ChunkShape, ClassCounts, Counts, Options, Placed, ZoneImage, ZoneLog,
    ZoneTable,
};

/// The largest LBA: the top bit of a page's word has another meaning ([`WORD_LAST`]).
pub const MAX_LBA: u32 = WORD_LAST - 1;

/// Marks, in the word of a written page, a frozen version: the trace neither writes nor trims its
/// LBA again. The mark is counted when the version is relocated, and has no other effect.
pub const WORD_LAST: u32 = 1 << 31;
