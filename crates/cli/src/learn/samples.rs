//! From a trace on the command line to samples.

use std::path::Path;

use frostline_learn::{Layout, Records, Sampling, Split};
use frostline_sim::{SampleError, Samples, sample};
use frostline_trace::{LoadOptions, Loaded, Writes, some_of};

use crate::args::{Loading, RecordsArg, SamplingArgs, TrainSplitArg};
use crate::failure::Failure;
use crate::inputs::{load_options, load_with_bar};

/// How samples are taken.
pub fn sampling(args: &SamplingArgs, split: Split) -> Sampling {
    let SamplingArgs { horizon, age, samples, seed } = *args;
    Sampling { split, horizon, age, most: samples as usize, seed }
}

/// The split of samples in two parts.
pub fn split(arg: TrainSplitArg) -> Split {
    match arg {
        TrainSplitArg::Random => Split::Random,
        TrainSplitArg::Time => Split::Time,
    }
}

/// Samples of a trace.
pub fn of_trace(
    command: &str,
    path: &Path,
    loading: &Loading,
    history: u8,
    records: Option<RecordsArg>,
    how: &Sampling,
    quiet: bool,
) -> Result<Samples, Failure> {
    of_writes(path, load_for(command, path, loading, records, quiet)?, history, records, how)
}

/// The writes of a trace, with hotness records if they may be wanted.
pub fn load_for(
    command: &str,
    path: &Path,
    loading: &Loading,
    records: Option<RecordsArg>,
    quiet: bool,
) -> Result<Writes, Failure> {
    load(command, path, loading, records != Some(RecordsArg::Block), quiet)
}

/// Samples of the writes of a trace.
pub fn of_writes(
    path: &Path,
    writes: Writes,
    history: u8,
    records: Option<RecordsArg>,
    how: &Sampling,
) -> Result<Samples, Failure> {
    let records = match (records, &writes.hotness) {
        (Some(RecordsArg::Block), _) | (None, None) => Records::Block,
        (Some(RecordsArg::Engine), _) | (None, Some(_)) => Records::Engine,
    };
    samples(path, writes, Layout::new(records, history.into())?, how)
}

/// Samples of a trace with these features.
pub fn of_layout(
    command: &str,
    path: &Path,
    loading: &Loading,
    layout: Layout,
    how: &Sampling,
    quiet: bool,
) -> Result<Samples, Failure> {
    let writes = load(command, path, loading, layout.records() == Records::Engine, quiet)?;
    samples(path, writes, layout, how)
}

fn samples(
    path: &Path,
    writes: Writes,
    layout: Layout,
    how: &Sampling,
) -> Result<Samples, Failure> {
    sample(writes, layout, how).map_err(|error| match error {
        SampleError::Trace(error) => error.into(),
        SampleError::NoHotness => Failure::usage(&path.display().to_string(), &error.to_string())
            .hint("frostline bench tpcc --record writes traces that have them"),
    })
}

/// Loads the only volume.
fn load(
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
