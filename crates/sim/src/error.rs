//! Why a replay can't be made or can't go on.

use frostline_log::LogError;
use frostline_placement::BuildError;

/// Why a replay can't be made or can't go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The scheme or the victim policy can't be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The volume can't be made, or took no more writes.
    #[error("{scheme}: {error}")]
    Log {
        /// The scheme.
        scheme: String,
        /// What the log says.
        error: LogError,
    },
    /// A zone must be a whole number of pages.
    #[error("a zone of {zone} bytes is not a whole number of pages of {page} bytes")]
    ZoneSize {
        /// Bytes in a zone.
        zone: u64,
        /// Bytes in a page.
        page: u32,
    },
    /// The scheme brings its own cleaning, which the semantics don't know.
    #[error("{scheme} is not part of the semantics sepbit-fast22")]
    NotInSemantics {
        /// The scheme.
        scheme: String,
    },
}
