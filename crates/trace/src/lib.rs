//! Write traces: their formats, loading, generators, and annotation with future knowledge.
//!
//! [`load()`] reads a trace in any [`Format`] into memory, one entry a page write; [`prepare()`]
//! annotates it for replay. [`Reader`] instead streams requests in bounded memory.
//!
//! ```
//! use frostline_trace::{AccessPattern, LoadOptions, Spec, generate, load, prepare, write_lbas};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("zipf.u32");
//! let kind = AccessPattern::Zipf { alpha: 1.0 };
//! let spec = Spec { kind, pages: 1000, writes: 5000, fill: true, seed: 1 };
//! write_lbas(&path, 4096, generate(&spec)?)?;
//!
//! let mut loaded = load(&path, &LoadOptions::default(), &mut |_| {})?;
//! let writes = loaded.volumes.remove(0);
//! assert_eq!(writes.lbas.len(), 6000, "the first 1,000 fill the volume");
//! let trace = prepare(None, writes, false)?;
//! assert_eq!((trace.space, trace.unique), (1000, 1000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The features `parquet` and `zstd`, both on by default, read and write files of these kinds;
//! without them such files give [`TraceError::NotBuiltIn`].

mod bits;
mod cause;
mod compression;
mod detect;
mod digits;
mod encoder;
mod error;
mod following;
mod foreign;
mod format;
mod formats;
mod generate;
mod hotness;
mod info;
mod kinds;
mod lifespan;
mod load;
mod merges;
mod output;
mod page_writer;
mod prepare;
mod reader;
mod reads;
mod request;
mod sink;
mod source;
mod split;
mod squeeze;
mod text;
mod trace_info;
mod trim;
mod volumes;
mod word;
mod write;
mod zipf_law;
#[cfg(feature = "zstd")]
mod zstd_codec;
#[cfg(not(feature = "zstd"))]
#[path = "without_zstd.rs"]
mod zstd_codec;

pub use bits::Bits;
pub use error::{Place, TraceError, some_of};
pub use following::Following;
pub use format::{Format, ParseFormatError};
pub use frostline_placement::NEVER;
pub use generate::{AccessPattern, Generator, Oltp, Spec, SpecError, generate};
pub use hotness::hotness_columns;
pub use info::{Lifespans, VolumeInfo};
pub use kinds::{RecordKind, RecordKinds};
pub use lifespan::{lifespans, mean_lifespans};
pub use load::{LoadOptions, Loaded, Writes, load};
pub use merges::{MergeAt, VersionMerge};
pub use output::Output;
pub use page_writer::PageWriter;
pub use prepare::{Prepared, prepare};
pub use reader::{Reader, ReaderOptions};
pub use reads::Read;
pub use request::{LONGEST_REQUEST, Op, Request};
pub use split::{SplitVolume, split};
pub use trace_info::TraceInfo;
pub use trim::Trim;
pub use word::FINAL;
pub use write::{Converted, convert, write_lbas};
pub use zipf_law::ZipfLaw;
