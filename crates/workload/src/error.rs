//! Errors of workloads.

/// An error that ends a workload, in one line. `E` is the engine's own error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E: std::error::Error + 'static> {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] E),
    /// The tables do not hold what the workload needs: nothing or something else was loaded.
    #[error("table {table}: {what}")]
    Data {
        /// The table's name.
        table: &'static str,
        /// The fault.
        what: &'static str,
    },
    /// Loading was broken off: what is there is of no use.
    #[error("the load of {contents} was not finished")]
    Unfinished {
        /// The data that were being loaded.
        contents: String,
    },
    /// The database holds something else.
    #[error("{wanted} is wanted, and there is {}", found.as_deref().unwrap_or("no workload's data"))]
    OtherContents {
        /// The contents that the workload needs.
        wanted: String,
        /// The contents that were loaded; none if no workload loaded anything.
        found: Option<String>,
    },
    /// Options that the workload cannot be run with.
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
