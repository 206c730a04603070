//! The record in each slot.

use crate::zone_log::{Options, ZoneLog};
use crate::{Array, LogError, WORD_LAST};

/// The record that begins in each slot, if one does.
#[derive(Default)]
pub(super) struct ReverseMap {
    /// The word of the record's page.
    words: Array<u32>,
    /// Its units; 0 if none was written there since the zone was opened.
    lengths: Array<u8>,
}

impl ReverseMap {
    /// Bytes of a slot.
    pub(super) const BYTES: usize = size_of::<u32>() + size_of::<u8>();

    /// Grows to the slots that there are.
    pub(super) fn cover(&mut self, log: &ZoneLog) -> Result<(), LogError> {
        self.words.cover(log.slots())?;
        self.lengths.cover(log.slots())
    }

    /// The slots from a place on belong to a zone that was opened.
    pub(super) fn begin_zone(&mut self, place: usize, slots: usize) {
        self.lengths[place..place + slots].fill(0);
    }

    /// A record was written.
    pub(super) fn set(&mut self, place: usize, word: u32, units: u32) {
        assert!((1..=Options::MOST_UNITS).contains(&units), "a record of {units} units");
        self.words[place] = word;
        self.lengths[place] = units as u8;
    }

    /// The record is part of a version that lives to the end of the trace.
    pub(super) fn mark_last(&mut self, place: usize) {
        self.words[place] |= WORD_LAST;
    }

    pub(super) fn word(&self, place: usize) -> u32 {
        self.words[place]
    }

    pub(super) fn units(&self, place: usize) -> u32 {
        self.lengths[place].into()
    }
}
