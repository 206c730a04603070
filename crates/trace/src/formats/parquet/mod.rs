//! `parquet`: our own columns in a Parquet file.
//!
//! `time` (microseconds), `op` (`R`, `W`, `T` or the words read, write, trim; or 0, 1, 2), `offset`
//! and `length` (bytes), and optionally `volume` (a name or a number). Integers have 32 or 64 bits.
//! The optional column `bytes` has the number of bytes that must be written of each page of a
//! write, and `delta` says which of these are deltas (1) or tails (2). The optional column
//! `following` has the number of pages in later rows that belong to the same request. Recorded runs
//! of a page store also have the operations sync (`S`, or 3) and merge (`M`, or 4). Hotness records
//! have columns of their own, which are read if wanted. Other columns are ignored.

mod checksum;
mod column;
mod file;
mod hotness;
mod table;
mod writer;

pub(crate) use table::ParquetTable;
pub(crate) use writer::TableWriter;
