//! A scheme as the registry lists it.

use crate::build::{Foresight, Info};
use crate::scheme::Scheme;

/// A scheme of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, source and parameters.
    pub info: Info,
    /// Bytes of state per page, beside the four of its slot.
    pub page_bytes: usize,
    /// The knowledge of the future that it needs.
    pub foresight: Foresight,
    /// True if it makes use of an engine's hotness records.
    pub wants_hotness: bool,
    /// True if it makes use of a trace's reads.
    pub wants_reads: bool,
    /// The victim policy that a replay has where none is asked for; its own victim side, if it has
    /// one. Stores and databases have a default of theirs.
    pub victim: &'static str,
    /// The name of its own victim side, if it has one.
    pub own_victim: Option<&'static str>,
    /// True if it decides which zones the victim policy chooses among.
    pub orders_cleaning: bool,
    /// The most bytes that the scheme keeps across a restart.
    pub most_memory: usize,
}

impl Entry {
    /// True if the scheme takes part in the choice of victims, and so needs a log that supports
    /// this.
    pub fn chooses_victims(&self) -> bool {
        self.own_victim.is_some() || self.orders_cleaning
    }
}

pub(crate) const fn entry<S: Scheme>() -> Entry {
    Entry {
        info: S::INFO,
        page_bytes: size_of::<S::Page>(),
        foresight: S::FORESIGHT,
        wants_hotness: S::WANTS_HOTNESS,
        wants_reads: S::WANTS_READS,
        victim: match S::OWN_VICTIM {
            Some(own) => own,
            None => S::VICTIM,
        },
        own_victim: S::OWN_VICTIM,
        orders_cleaning: S::ORDERS_CLEANING,
        most_memory: S::MOST_MEMORY,
    }
}
