//! Results of replays in files: one record per run, with everything that led to it.

mod columns;
mod manifest;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(not(feature = "parquet"))]
#[path = "without_parquet.rs"]
mod parquet;
mod reading;
mod record;
mod shard;

pub use columns::csv;
pub use manifest::{CellSource, Cells};
pub use parquet::{check_parquet, write_parquet};
pub use reading::read_results;
pub use record::{RunRecord, records};
pub use shard::{ParseShardError, Shard};

pub(crate) use manifest::hexadecimal;
