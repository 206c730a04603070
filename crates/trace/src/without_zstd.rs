//! Replaces zstd in a build without the feature `zstd`: such files are neither read nor written.

use std::fs::File;
use std::io::{BufRead, Read};
use std::path::Path;

use crate::encoder::Encoder;
use crate::error::TraceError;

const FEATURE: &str = "zstd";

pub(crate) fn decoder(
    path: &Path,
    _bytes: impl BufRead,
) -> Result<Box<dyn Read + Send>, TraceError> {
    Err(TraceError::NotBuiltIn { file: path.to_owned(), feature: FEATURE })
}

pub(crate) fn encoder(to: &Path, _file: File) -> Result<Box<dyn Encoder>, TraceError> {
    Err(TraceError::NotBuiltIn { file: to.to_owned(), feature: FEATURE })
}
