//! A scheme as the registry lists it.

use crate::build::Info;
use crate::scheme::Scheme;
use crate::wants::{Foresight, Victims};

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
    /// The victim policy that is used where none is asked for; its own victim side, if it has one.
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
    let wants = S::WANTS;
    let (victim, own_victim, orders_cleaning) = match wants.victims {
        Victims::Policy(name) => (name, None, false),
        Victims::Ordered(name) => (name, None, true),
        Victims::Own(name) => (name, Some(name), false),
    };
    Entry {
        info: S::INFO,
        page_bytes: size_of::<S::Page>(),
        foresight: wants.foresight,
        wants_hotness: wants.hotness,
        wants_reads: wants.reads,
        victim,
        own_victim,
        orders_cleaning,
        most_memory: wants.most_memory,
    }
}
