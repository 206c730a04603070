//! Options and progress of loading.

/// Options of loading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loading {
    /// Threads that load side by side.
    pub threads: usize,
    /// The seed of the content, which depends on nothing else: not on the threads.
    pub seed: u64,
}

impl Default for Loading {
    fn default() -> Loading {
        Loading { threads: 1, seed: 42 }
    }
}

/// The progress of loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Records put into tables, index entries included.
    pub records: u64,
    /// Parts of the work that are done, of about the same size each.
    pub parts: u64,
    /// Parts that there are.
    pub parts_in_all: u64,
}

impl Loaded {
    /// True unless loading was broken off.
    pub fn is_complete(self) -> bool {
        self.parts == self.parts_in_all
    }
}
