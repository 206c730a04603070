//! The parts of a log that a scheme takes part in.

/// The most bytes of a scheme's [`memory`](crate::Scheme::memory), unless the scheme sets another
/// bound; also the bound for an inner scheme.
pub const LARGEST_MEMORY: usize = 1 << 10;

/// Knowledge of the future that a scheme is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foresight {
    /// Nothing: it can run on a device.
    None,
    /// The mean lifespan of each page over the whole trace, and which write of a page is its last.
    Rates,
    /// The lifespan of every single write.
    Lifespans,
}

/// The wishes of a scheme besides that its pages are placed: what it is told, asked and given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// The knowledge of the future that the scheme needs.
    pub foresight: Foresight,
    /// True if the log shall call [`on_request`](crate::Scheme::on_request).
    pub requests: bool,
    /// True if the log shall call [`place_batch`](crate::Scheme::place_batch).
    pub batches: bool,
    /// True if the log shall call [`on_neighbour`](crate::Scheme::on_neighbour) and
    /// [`on_survey`](crate::Scheme::on_survey), which show pages other than the one being placed.
    pub others: bool,
    /// True if the log shall call [`fetch`](crate::Scheme::fetch). Always false for a scheme whose
    /// type is not known: the call would cost more than it saves.
    pub fetches: bool,
    /// True if the scheme makes use of an engine's [`Hotness`](crate::Hotness) records.
    pub hotness: bool,
    /// True if a replay shall call [`on_read`](crate::Scheme::on_read) for the reads of a trace.
    pub reads: bool,
    /// True if the scheme itself counts the pages of zones, so that it works only where every page
    /// takes one slot.
    pub whole_pages: bool,
    /// True if the log shall seal an open zone early when it hardly fills and its garbage builds
    /// up. Worth it for a scheme that gives some classes few pages. The published schemes wait
    /// until zones are full.
    pub seals_stale: bool,
    /// Meta pages at the tail of each zone, which the scheme fills with its state of the zone's
    /// pages. They count as written when the zone is sealed. A driver that keeps the state
    /// elsewhere, as a store does, has none.
    pub meta_pages: u32,
    /// The choice of victims.
    pub victims: Victims,
    /// The most bytes of [`memory`](crate::Scheme::memory).
    pub most_memory: usize,
}

/// The part that a scheme has in the choice of victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    /// None. This policy is used where none is asked for: the one of the scheme's paper, or the
    /// best measured.
    Policy(&'static str),
    /// [`pick`](crate::Scheme::pick) decides which zones the policy chooses among, or changes the
    /// class of zones. This policy is used where none is asked for.
    Ordered(&'static str),
    /// The scheme's own victim side: [`pick`](crate::Scheme::pick) replaces the policies. This is
    /// its name in tables.
    Own(&'static str),
}

impl Wants {
    /// Nothing of all that.
    pub const NOTHING: Wants = Wants {
        foresight: Foresight::None,
        requests: false,
        batches: false,
        others: false,
        fetches: false,
        hotness: false,
        reads: false,
        whole_pages: false,
        seals_stale: false,
        meta_pages: 0,
        victims: Victims::Policy("cost-benefit"),
        most_memory: LARGEST_MEMORY,
    };
}
