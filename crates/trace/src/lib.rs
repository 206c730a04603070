//! Write traces: their formats, loading, generators, and annotation with future knowledge.
//!
//! [`load()`] reads a trace of any [`Format`] into memory, one entry a page written; [`prepare()`]
//! annotates it for replay. [`Reader`] streams requests instead, in bounded memory.

mod bits;
mod cause;
mod detect;
mod digits;
mod error;
mod format;
mod formats;
mod generate;
mod hotness;
mod info;
mod lifespan;
mod load;
mod output;
mod page_writer;
mod prepare;
mod reader;
mod request;
mod sink;
mod source;
mod squeeze;
mod text;
mod trim;
mod volumes;
mod write;
mod write_parquet;

pub use bits::Bits;
pub use error::{Place, TraceError, some_of};
pub use format::Format;
pub use frostline_placement::NEVER;
pub use generate::{Generator, Kind, Oltp, Random, Spec, SpecError, generate};
pub use hotness::hotness_columns;
pub use info::{Lifespans, VolumeInfo};
pub use lifespan::{lifespans, mean_lifespans};
pub use load::{LoadOptions, Loaded, Writes, load};
pub use page_writer::PageWriter;
pub use prepare::{FINAL, Prepared, prepare};
pub use reader::{Reader, ReaderOptions};
pub use request::{LONGEST_REQUEST, Op, Request};
pub use trim::Trim;
pub use write::{Converted, convert, write_lbas};
