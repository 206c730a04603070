//! Errors of workloads.

/// An error that ends a workload, in one line. `E` is the engine's own error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E: std::error::Error + 'static> {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] E),
    /// The tables do not have the data that the workload needs: they were not loaded, or with other
    /// data.
    #[error("table {table}: {what}")]
    Data {
        /// The table's name.
        table: &'static str,
        /// The fault.
        what: &'static str,
    },
    /// Loading was interrupted, so the data can't be used.
    #[error("the load of {contents} was not finished")]
    Unfinished {
        /// The contents that were being loaded.
        contents: String,
    },
    /// The database has other contents.
    #[error("{wanted} is wanted, and there is {}", found.as_deref().unwrap_or("no workload's data"))]
    OtherContents {
        /// The contents that the workload needs.
        wanted: String,
        /// The contents of the database; `None` if no workload loaded it.
        found: Option<String>,
    },
    /// The system refused a thread.
    #[error("a thread could not be started: {0}")]
    Thread(#[source] std::io::Error),
    /// The workload can't be run with these options.
    #[error("{what}: {why}")]
    Options {
        /// The option.
        what: &'static str,
        /// The reason.
        why: &'static str,
    },
}

/// The result of a workload's function that uses engine `E`.
pub type Result<T, E> = std::result::Result<T, Error<<E as crate::Engine>::Error>>;
