//! A crash-safe, log-structured page store on zoned devices.
//!
//! A [`Store`] keeps pages of 4,096 bytes by LBA on a [`frostline_zone::Device`]. It places and
//! cleans with the very volume, schemes and victim policies that the simulator replays traces
//! through: what was simulated is what runs.
//!
//! The way of a page: written ([`Store::write`], `writing.rs`), placed (`placer.rs`), recorded in
//! its chunk's header (`chunk.rs`, `state.rs`), cleaned (`cleaning.rs`), read back
//! (`reading.rs`), recovered (`recovery/`). docs/recovery.md draws what lies on the device and
//! argues why no crash loses what was promised.

mod background;
mod check;
mod checkpoint;
mod chunk;
mod cleaning;
mod copies;
mod error;
mod eviction;
mod finding;
mod format;
mod inner;
mod layout;
mod leaves;
mod loss;
mod meta;
pub mod metrics;
mod options;
mod placer;
mod reading;
mod recovery;
mod scrub;
mod state;
mod stats;
mod store;
mod survey;
mod sync;
mod writing;

pub use check::CheckReport;
pub use copies::Copied;
pub use error::StoreError;
pub use finding::Finding;
pub use loss::Loss;
pub use options::{Cleaning, Format, Open};
pub use recovery::Rebuilt;
pub use scrub::ScrubReport;
pub use state::Written;
pub use stats::Stats;
pub use store::Store;
pub use survey::{Info, Role, ZoneView};
pub use writing::PageWrite;
