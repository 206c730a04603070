//! The settings of a replay, in its report.

use serde::{Deserialize, Serialize};

/// The settings of a replay that all its runs share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct ReplaySetup {
    /// The reading of the papers that was followed: `published`, `sepbit-fast22` or `midas-fast24`.
    pub semantics: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// User writes of each volume, after the preload, that were not counted.
    pub warmup: u64,
    /// User writes in a window; 0 if there are no windows.
    pub window: u64,
    /// True if user writes were counted by class and lifespan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lifespans: bool,
    /// True if what follows in the requests of traces that have none was not guessed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_guess: bool,
    /// Bytes in a page.
    pub page_bytes: u32,
    /// Zones that could be open at once; none if there was no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open: Option<usize>,
    /// The preload: the trace that was replayed first and not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<InputFile>,
    /// The model that recognised frozen pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<InputFile>,
}

/// A file that a run depends on.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct InputFile {
    /// Its path.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}
