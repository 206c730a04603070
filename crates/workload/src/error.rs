//! Why a workload could not go on.

/// What ends a workload, told in one line. `E` is the engine's own error.
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
        /// What is wrong with it.
        what: &'static str,
    },
    /// Loading was broken off: what is there is of no use.
    #[error("the load of {contents} was not finished")]
    Unfinished {
        /// What was being loaded.
        contents: String,
    },
    /// The database holds something else.
    #[error("{wanted} is wanted, and there is {}", found.as_deref().unwrap_or("no workload's data"))]
    OtherContents {
        /// What the workload needs.
        wanted: String,
        /// What was loaded; none if no workload loaded anything.
        found: Option<String>,
    },
    /// Options that the workload cannot be run with.
    #[error("{what}: {why}")]
    Options {
        /// Which.
        what: &'static str,
        /// Why not.
        why: &'static str,
    },
}

/// What a workload's function returns that uses engine `E`.
pub type Result<T, E> = std::result::Result<T, Error<<E as crate::Engine>::Error>>;
