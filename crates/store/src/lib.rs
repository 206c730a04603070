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
//! Five rooms, each above those that follow it:
//!
//! | room | has |
//! |---|---|
//! | `face/` | [`Store`], and its reports: statistics, checks, scrubs, repairs |
//! | `recovery/` | formatting, opening after a crash, rebuilding |
//! | `engine/` | writing, reading, cleaning, checkpoints, the metadata log: all that uses the device |
//! | `state/` | the state in memory: volume and map, zones, chunks, notes; no I/O |
//! | `format/` | bytes as they lie on the device; no I/O |
//!
//! The way of a page, in `engine/`: admitted and placed ([`Store::write`], `writer/`), put into a
//! chunk (`state/mapped_page.rs`), written and made durable (`chunk_writer/`), alone or as a group
//! (`writer/group.rs`), cleaned (`cleaner/`), read back (`reader.rs`). After each operation
//! `upkeep.rs` decides what is due. When the store is closed, a last chunk says so
//! (`cleaner/witness.rs`). docs/recovery.md draws the format on the device and argues why no crash
//! loses what was promised.
//!
//! The store emits events of [`tracing`]: zones that fail are warnings, the end of all writing is
//! an error, steps of recovery, checkpoints and cleanings are for debugging. Zones that failed are
//! counted as well ([`Failures`]).

mod engine;
mod error;
mod face;
mod format;
mod loss;
mod options;
mod recovery;
mod state;
mod sync;

pub use engine::buffer::Buffer;
pub use engine::reader::PageRead;
pub use error::StoreError;
pub use face::check::CheckReport;
pub use face::finding::Finding;
pub use face::metrics;
pub use face::scrub::ScrubReport;
pub use face::stats::Stats;
pub use face::store::Store;
pub use face::survey::{Role, StoreInfo, ZoneStatus};
pub use face::view::{CallView, ClassView, StoreView};
pub use format::compression;
pub use format::delta::ChangedWords;
pub use format::layout::chunk_shape_of;
pub use format::packing::PageWrite;
pub use format::page_delta::{DeltaWrite, PageDelta};
pub use format::records::RecordKind;
pub use format::slots::SlotArray;
pub use loss::Loss;
pub use options::{Cleaning, Compression, Durable, Format, Open};
pub use recovery::Rebuilt;
pub use state::copies::Copied;
pub use state::failures::Failures;
pub use state::observer::{Observer, StoreEvent};
pub use state::room::{RoomFor, Space};
pub use state::written::{DeltaCounts, Written};
