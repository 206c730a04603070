//! Results of replays in files: one record per run, with everything that led to it.

mod columns;
mod manifest;
mod parquet;
mod reading;
mod record;
mod shard;

pub use columns::csv;
pub use manifest::{CellSource, Cells};
pub use parquet::write_parquet;
pub use reading::read_results;
pub use record::{RunRecord, records};
pub use shard::{ParseShardError, Shard};

pub(crate) use manifest::hexadecimal;
