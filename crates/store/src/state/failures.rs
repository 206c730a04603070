//! Counts of failed zones, by the operation that failed.

/// Zones of the device that failed since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Failures {
    /// Data zones that ended early, because an append to them failed.
    pub appends: u64,
    /// Data zones that could not be reset: they are no longer used.
    pub resets: u64,
    /// Data zones that are no longer cleaned, because a page in them can't be read.
    pub unreadable: u64,
    /// Metadata zones that could not be written or reset: they are no longer used.
    pub metadata: u64,
}
