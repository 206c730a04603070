//! Replaces the writer of Parquet in a build without the feature `parquet`.

use std::path::Path;

use frostline_results::RunRecord;
use frostline_trace::TraceError;

use crate::{Error, Result};

/// Refuses.
///
/// # Errors
/// Always: this build has no Parquet.
pub fn check_parquet(path: &Path) -> Result<()> {
    Err(Error::Trace(TraceError::NotBuiltIn { file: path.to_owned(), feature: "parquet" }))
}

/// Writes nothing.
///
/// # Errors
/// Those of [`check_parquet`].
pub fn write_parquet(path: &Path, _records: &[RunRecord]) -> Result<()> {
    check_parquet(path)
}
