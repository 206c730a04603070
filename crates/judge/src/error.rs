//! Stores of which the judge can say nothing.

use frostline_zone::DeviceError;

/// The reason why the judge can't say which pages a store must have.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Undecided {
    /// The device can't be read.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A structure that must be there is missing or damaged.
    #[error("{0}")]
    Damaged(String),
}
