//! Options and progress of loading.

/// Options of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Threads that load in parallel.
    pub threads: usize,
    /// The seed of the content, which depends on nothing else, not even on the number of threads.
    pub seed: u64,
}

impl Default for Loading {
    fn default() -> Loading {
        Loading { threads: 1, seed: 42 }
    }
}

/// The progress of loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// Records put into tables, index entries included.
    pub records: u64,
    /// Parts of the work that are done; parts have about the same size.
    pub parts: u64,
    /// The number of all parts.
    pub parts_in_all: u64,
}

impl LoadProgress {
    /// True unless loading was interrupted.
    pub fn is_complete(self) -> bool {
        self.parts == self.parts_in_all
    }
}
