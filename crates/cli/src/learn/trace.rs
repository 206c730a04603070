//! The trace of a study.

use std::path::Path;

use frostline_trace::{LoadOptions, Loaded, Writes, some_of};

use crate::args::Loading;
use crate::failure::Failure;
use crate::inputs::{load_options, load_with_bar};

/// Loads the only volume of a trace, with hotness records if they are wanted.
pub(super) fn load(
    command: &str,
    path: &Path,
    loading: &Loading,
    hotness: bool,
    quiet: bool,
) -> Result<Writes, Failure> {
    let options = LoadOptions { hotness, ..load_options(loading) };
    let Loaded { mut volumes, .. } = load_with_bar(path, &options, quiet)?;
    match volumes.pop() {
        Some(volume) if volumes.is_empty() => Ok(volume),
        _ => {
            let names = some_of(volumes.iter().map(|volume| volume.name.as_str()));
            let why = format!("{} has several volumes ({names} ...)", path.display());
            Err(Failure::usage(command, &why).hint("--volume picks one"))
        }
    }
}
