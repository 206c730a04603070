//! The valid pages of a victim, for a scheme that places them all at once.

use frostline_placement::{Hotness, Pages, Scheme, Victim};

use crate::{MAX_LBA, WORD_LAST};

/// The valid pages of a victim in slot order, and the classes that the scheme gave them.
pub(super) struct Batch<P> {
    lbas: Vec<u32>,
    states: Vec<P>,
    /// True for the pages with the mark [`WORD_LAST`].
    last: Vec<bool>,
    /// The hotness record of each page; none if the engine gave none.
    hotness: Vec<Hotness>,
    pub classes: Vec<Option<u8>>,
}

impl<P> Default for Batch<P> {
    fn default() -> Self {
        let (lbas, states, last, hotness, classes) = Default::default();
        Batch { lbas, states, last, hotness, classes }
    }
}

impl<P> Batch<P> {
    pub(super) fn clear(&mut self) {
        self.lbas.clear();
        self.states.clear();
        self.last.clear();
        self.hotness.clear();
        self.classes.clear();
    }

    /// Adds a page. All have a hotness record, or none has one.
    pub(super) fn add(&mut self, word: u32, state: P, hotness: Option<Hotness>) {
        self.lbas.push(word & MAX_LBA);
        self.last.push(word & WORD_LAST != 0);
        self.states.push(state);
        self.hotness.extend(hotness);
    }

    /// Lets the scheme place all pages of the batch.
    pub(super) fn ask<S: Scheme<Page = P>>(&mut self, scheme: &mut S, victim: &Victim) {
        let Batch { lbas, states, last, hotness, classes } = self;
        classes.resize(lbas.len(), None);
        let hotness = (!hotness.is_empty()).then_some(&hotness[..]);
        scheme.place_batch(victim, &Pages { lbas, states, hotness, last }, classes);
    }
}
