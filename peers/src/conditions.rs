//! The conditions that are the same for every engine.

use std::path::PathBuf;

/// The conditions that are the same for every engine, and those of Frostline alone.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// An empty directory for its files.
    pub directory: PathBuf,
    /// All its memory: caches, write buffers, maps.
    pub memory: u64,
    /// The size of a write-ahead log, where it has one that can be set.
    pub log: u64,
    /// True to read and write its files past the page cache, where it can.
    pub direct: bool,
    /// About how many bytes of records it will hold, for engines that need to know.
    pub expected: u64,
    /// Frostline's placement.
    pub placement: Placement,
}

/// The scheme by which Frostline places pages.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Its scheme, as on the command line.
    pub scheme: String,
    /// The garbage proportion above which it cleans.
    pub gp: f64,
    /// The space over data above which it cleans, in place of the garbage proportion.
    pub space: Option<f64>,
    /// Bytes of the units of its store.
    pub unit: u32,
}
