//! Errors of evaluations, studies and sweeps.

use std::io;
use std::path::PathBuf;

use frostline_learn::LearnError;
use frostline_sim::{SampleError, SimError};
use frostline_trace::{SpecError, TraceError};

/// The result of an evaluation, a study or a sweep.
pub type Result<T> = std::result::Result<T, Error>;

/// The error of an evaluation, a study or a sweep, printed in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A bench failed, whose database was to be measured.
    #[error(transparent)]
    Bench(#[from] frostline_benches::Error),
    /// A paper's evaluation has no experiment with this name.
    #[error("{paper} has no experiment {name:?} (known: {known})")]
    NoExperiment {
        /// The paper.
        paper: &'static str,
        /// The name that was asked for.
        name: String,
        /// Its experiments.
        known: String,
    },
    /// A trace can't be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The synthetic workload can't be generated.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A replay failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// Training or evaluating a model failed.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The trace has no hotness records, and a model needs them.
    #[error("{trace}: the trace has no hotness records")]
    Unrecorded {
        /// The trace.
        trace: String,
    },
    /// The system refused to list, make or remove a file.
    #[error("{what}: {source}")]
    Io {
        /// The file or directory.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file to which finished runs shall be added holds something else.
    #[error("{}: is no manifest, and is left as it is", path.display())]
    NotAManifest {
        /// The file.
        path: PathBuf,
    },
    /// The monitor stopped the evaluation before it had a result.
    #[error("stopped: {}", what.unwrap_or("there is no result yet"))]
    Stopped {
        /// The unfinished part, if it is worth mentioning.
        what: Option<&'static str>,
    },
}

impl Error {
    /// Makes an [`Error`] of an error of sampling a trace.
    pub(crate) fn sampling(trace: &str) -> impl Fn(SampleError) -> Error {
        move |error| match error {
            SampleError::Trace(error) => Error::Trace(error),
            SampleError::NoHotness => Error::Unrecorded { trace: trace.to_string() },
        }
    }
}
