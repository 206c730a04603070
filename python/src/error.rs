//! Errors of the crates as exceptions.

use std::path::Path;

use frostline::placement::BuildError;
use frostline::sim::SimError;
use frostline::trace::{SpecError, TraceError};
use frostline::zone::ParseSizeError;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyFileNotFoundError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

create_exception!(frostline, Error, PyException, "Frostline can't do what it was asked.");

/// An exception for each kind of error of the crate.
macro_rules! kinds {
    ($($name:ident $doc:literal)*) => {$(create_exception!(frostline, $name, Error, $doc);)*};
}

kinds! {
    Conflict "Another transaction, committed meanwhile, wrote the same key: try again."
    TooOld "So much was overwritten since the transaction began that what it sees is no longer kept: begin it again."
    ReadOnly "A snapshot, or a database that is open for reading only, was to be written."
    Refused "The call can never succeed: a key, a value or a transaction is too large, or options contradict each other."
    Full "All pages are in use: delete records, or move them to a database with a larger bound."
    InUse "Another process, or this one, has the database or store open: close it there."
    NotUsable "The file or device holds no database or store, or one of a newer version."
    Damaged "Bytes on the device differ from what was written."
    DeviceFailed "The device or the system failed. What was committed or synced before is safe."
    BackupFailed "A backup could not be made or restored. The one before is as it was."
}

/// An exception for a file that is not there: a `FileNotFoundError` too, with errno and file name.
pub struct NotFound;

impl NotFound {
    /// The class, made once.
    pub fn class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
        static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let class = CLASS.get_or_try_init(py, || -> PyResult<_> {
            let bases = (py.get_type::<Error>(), py.get_type::<PyFileNotFoundError>());
            let members = PyDict::new(py);
            members.set_item("__module__", "frostline")?;
            members.set_item("__doc__", "There is no file, directory or device of that name.")?;
            let class = py.get_type::<PyType>().call1(("NotFound", bases, members))?;
            Ok(class.cast_into::<PyType>()?.unbind())
        })?;
        Ok(class.bind(py))
    }

    fn new_err(file: &Path) -> PyErr {
        let arguments = (ENOENT, "No such file or directory", file.as_os_str().to_owned());
        Python::attach(|py| match NotFound::class(py) {
            Ok(class) => PyErr::from_type(class.clone(), arguments),
            Err(error) => error,
        })
    }
}

/// The system's number for a file that is not there, the same on all systems.
const ENOENT: i32 = 2;

impl From<frostline::Error> for Failure {
    fn from(error: frostline::Error) -> Self {
        use frostline::Error as E;
        let text = error.to_string();
        Failure(match &error {
            E::NotFound(_) => NotFound::new_err(error.file().unwrap_or(Path::new(""))),
            E::Conflict => Conflict::new_err(text),
            E::TooOld(_) => TooOld::new_err(text),
            E::ReadOnly => ReadOnly::new_err(text),
            E::Refused(_) => Refused::new_err(text),
            E::Full(_) => Full::new_err(text),
            E::InUse(_) => InUse::new_err(text),
            E::NotUsable(_) => NotUsable::new_err(text),
            E::Damaged(_) => Damaged::new_err(text),
            E::Device(_) => DeviceFailed::new_err(text),
            E::Backup(_) => BackupFailed::new_err(text),
            _ => Error::new_err(text),
        })
    }
}

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
        if let TraceError::Missing { file } = &error {
            return Failure(NotFound::new_err(file));
        }
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
