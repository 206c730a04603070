//! A crash-safe, log-structured page store on zoned devices.
//!
//! A [`Store`] keeps pages of 4,096 bytes by LBA on a [`frostline_zone::Device`]. It places and
//! cleans with the very volume, schemes and victim policies that the simulator replays traces
//! through: what was simulated is what runs.
//!
//! ```
//! use frostline_store::{Format, Open, Store};
//! use frostline_zone::{Shape, in_memory};
//!
//! let shape = Shape { bytes: 64 << 20, ..Shape::default() };
//! let device = in_memory(&shape)?;
//! Store::format(device.clone(), &Format::default())?;
//!
//! let store = Store::open(device.clone(), Open::default())?;
//! store.write(7, &[1; 4096])?;
//! store.sync()?;
//! let mut page = [0; 4096];
//! assert!(store.read(7, &mut page)?);
//! assert_eq!(page, [1; 4096]);
//! assert!(!store.read(8, &mut page)?);
//! store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The way of a page: admitted (`admission.rs`), written ([`Store::write`], `writing.rs`), placed and
//! put into a chunk (`mapped_page.rs`, `records.rs`, `state.rs`), made durable (`durability.rs`), alone or as a group
//! (`group.rs`), cleaned (`cleaning.rs`, `rewriting.rs`), read back (`reading.rs`), recovered (`recovery/`); when it is closed, a last chunk tells so (`witness.rs`). The state in memory
//! (`state.rs`) is composed of the volume with the map (`volume.rs`, `map_cache.rs`), the zones
//! (`zone_pool.rs`), the chunks (`chunk_table.rs`) and the notes (`notes.rs`). docs/recovery.md draws
//! the format on the device and argues why no crash loses what was promised.
//!
//! The store emits events of [`tracing`]: zones that fail are warnings, the end of all writing is an
//! error, steps of recovery, checkpoints and cleanings are for debugging. Zones that failed are
//! counted as well ([`Failures`]).

mod admission;
mod background;
mod buffer;
mod check;
mod checkpoint;
mod chunk;
mod chunk_place;
mod chunk_table;
mod cleaning;
pub mod compression;
mod copies;
mod counters;
mod delta;
mod durability;
mod error;
mod failed_zone;
mod failures;
mod finding;
mod format;
mod group;
mod head;
mod image;
mod inner;
mod layout;
mod leaf;
mod loss;
mod map_cache;
mod mapped_page;
mod merging;
mod meta;
mod meta_scan;
pub mod metrics;
mod notes;
mod observer;
mod options;
mod other_copy;
mod packing;
mod page_delta;
mod promises;
mod reading;
mod records;
mod recovery;
mod repair;
mod residency;
mod rewriting;
mod room;
mod scrub;
mod state;
mod stats;
mod store;
mod survey;
mod sync;
mod view;
mod volume;
mod witness;
mod writing;
mod written;
mod zone_pool;

pub use buffer::Buffer;
pub use check::CheckReport;
pub use copies::Copied;
pub use delta::ChangedWords;
pub use error::StoreError;
pub use failures::Failures;
pub use finding::Finding;
pub use layout::chunk_shape_of;
pub use loss::Loss;
pub use observer::{Observer, StoreEvent};
pub use options::{Cleaning, Compression, Format, Open};
pub use packing::PageWrite;
pub use page_delta::{DeltaWrite, PageDelta};
pub use reading::PageRead;
pub use records::RecordKind;
pub use recovery::Rebuilt;
pub use room::Space;
pub use scrub::ScrubReport;
pub use stats::Stats;
pub use store::{Durable, Store};
pub use survey::{Role, StoreInfo, ZoneStatus};
pub use view::{CallView, ClassView, StoreView};
pub use written::{DeltaCounts, Written};
