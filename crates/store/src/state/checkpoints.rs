//! What the last checkpoints cover, and what came after them.

/// The last two checkpoints.
#[derive(Default)]
pub(crate) struct Checkpoints {
    /// Pages placed since the last one.
    placed: u64,
    /// Number of the first chunk that the one before the last does not cover, and of the first that
    /// the last one does not.
    covered: [u64; 2],
    /// A zone failed since the last one: recovery can no longer go by what that one says of zones.
    zone_failed: bool,
}

impl Checkpoints {
    /// The chunks before this number are covered.
    pub(crate) fn found(next_seq: u64) -> Self {
        Checkpoints { covered: [next_seq; 2], ..Checkpoints::default() }
    }

    /// A record was placed.
    pub(crate) fn record_placed(&mut self) {
        self.placed += 1;
    }

    /// A zone failed of which the last one says that it holds pages.
    pub(crate) fn zone_failed(&mut self) {
        self.zone_failed = true;
    }

    /// A checkpoint takes everything that was placed so far.
    pub(crate) fn begun(&mut self) {
        self.placed = 0;
        self.zone_failed = false;
    }

    /// A checkpoint is durable that covers the chunks before this number.
    pub(crate) fn ended(&mut self, next_seq: u64) {
        assert!(self.covered[1] <= next_seq, "a checkpoint covers less than the one before");
        self.covered = [self.covered[1], next_seq];
    }

    /// Recovery may ask for chunks from this number on, even if the last checkpoint is lost.
    pub(crate) fn needed_from(&self) -> u64 {
        self.covered[0]
    }

    /// True if the next one should come after no more than `pages` placed pages, and those were
    /// placed or a zone failed.
    pub(crate) fn is_due(&self, pages: u64) -> bool {
        self.zone_failed || self.placed >= pages
    }
}
