//! Frostline for Python: a thin shell around the crates. Whatever has a natural form in Python is
//! in the package's Python files; a report crosses as the JSON that the command prints.

mod db;
mod error;
mod generate;
mod listing;
mod number;
mod own_scheme;
mod process;
mod simulate;
mod store;
mod trace;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    /// Version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "it is Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::db::{Db, DbOptions, Retries, Transaction, Tree};
    #[pymodule_export]
    use crate::error::{
        BackupFailed, Conflict, Damaged, DeviceFailed, Error, Full, InUse, NotUsable, ReadOnly,
        Refused, TooOld,
    };
    #[pymodule_export]
    use crate::generate::{generate, save};
    #[pymodule_export]
    use crate::listing::{schemes, trace_info};
    #[pymodule_export]
    use crate::number::size;
    #[pymodule_export]
    use crate::own_scheme::OwnScheme;
    #[pymodule_export]
    use crate::simulate::simulate;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::trace::Trace;

    #[pymodule_init]
    fn add_errors(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("NotFound", crate::error::NotFound::class(module.py())?)
    }
}
