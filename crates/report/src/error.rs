//! Errors of results in files.

use std::path::PathBuf;

use frostline_trace::TraceError;

/// The result of reading or writing results.
pub type Result<T> = std::result::Result<T, Error>;

/// The error of reading or writing results, printed in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file can't be written, or this build has no Parquet.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file has no results.
    #[error("{}: {why}", path.display())]
    Results {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// Results can't be converted into a form.
    #[error("{form}: {why}")]
    Writing {
        /// The form.
        form: &'static str,
        /// The reason.
        why: String,
    },
    /// This build can't do that.
    #[error("this program was built without {what}")]
    NotBuiltIn {
        /// The missing part.
        what: &'static str,
    },
}

impl Error {
    /// Makes an [`Error`] of an error of converting results into a form.
    pub(crate) fn writing<E: std::fmt::Display>(form: &'static str) -> impl Fn(E) -> Error {
        move |error| Error::Writing { form, why: error.to_string() }
    }
}
