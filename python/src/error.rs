//! Errors of the crates as exceptions.

use frostline::placement::BuildError;
use frostline::sim::SimError;
use frostline::trace::{SpecError, TraceError};
use frostline_lab::ParseSizeError;
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(frostline, Error, PyException, "Frostline can't do what it was asked.");

/// The result of a function of the module.
pub type Result<T> = std::result::Result<T, Failure>;

/// An exception to be raised.
pub struct Failure(PyErr);

impl Failure {
    /// An [`Error`] with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Failure(Error::new_err(text.into()))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> PyErr {
        failure.0
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure(error)
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Failure::new(match error.hint() {
            Some(hint) => format!("{error}; hint: {hint}"),
            None => error.to_string(),
        })
    }
}

macro_rules! by_text {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::new(error.to_string())
            }
        }
    )*};
}

by_text!(BuildError, SimError, SpecError, ParseSizeError, serde_json::Error);
