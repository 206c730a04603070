//! Runs of pages, which a replay appends without a call for each.

use frostline_placement::{Scheme, ZoneEvent};

use super::zones::Overwrites;
use super::{Cursor, ZoneLog};

/// What changes while a run is appended: the driver moves the cursors, and says which copies become
/// garbage.
pub(crate) struct Run<'a, S> {
    pub scheme: &'a mut S,
    pub open: &'a mut [Cursor],
    pub zones: Overwrites<'a>,
}

impl<S: Scheme> ZoneLog<S> {
    /// Begins a run.
    #[inline(always)]
    pub(crate) fn run(&mut self) -> Run<'_, S> {
        let zones = self.zones.overwrites(self.watch.bell());
        Run { scheme: &mut self.scheme, open: &mut self.open, zones }
    }
}

impl ZoneLog {
    /// The least number of user writes, at least 1, before cleaning can be due.
    #[inline]
    pub(crate) fn slack(&self) -> u64 {
        self.trigger.slack(self.garbage, self.written, self.free.len())
    }

    /// A run of so many user writes has ended.
    #[inline]
    pub(crate) fn end_run(&mut self, written: u64) {
        let firsts = self.zones.take_firsts();
        assert!(firsts <= written, "{firsts} first writes of {written}");
        self.valid += firsts;
        self.counts.user_writes += written;
        self.counts.runs += 1;
        self.now = self.now.wrapping_add(written as u32);
        self.written += written;
        self.garbage += written - firsts;
    }

    /// Closes the zone that a run of user writes filled, if it did.
    #[inline]
    pub(crate) fn after_run(&mut self, filled: Option<usize>) {
        if let Some(class) = filled {
            self.close_zone(class);
        }
        self.check_totals();
    }

    /// Chooses victims, whose pages are relocated in runs until [`ZoneLog::end_copying`].
    pub(crate) fn begin_copying(&mut self) -> Vec<u32> {
        self.choose_victims();
        self.update_all_counts();
        self.cleaning = true;
        std::mem::take(&mut self.choice.victims)
    }

    /// Begins to relocate the pages of a victim.
    pub(crate) fn begin_victim(&mut self, zone: u32) -> ZoneEvent {
        self.show_victim(zone);
        self.event(zone)
    }

    /// All valid pages of a victim were relocated in runs, so many of them frozen.
    pub(crate) fn end_victim(&mut self, zone: u32, relocated: u64, frozen: u64) {
        assert_eq!(relocated, self.valid_in(zone).into(), "valid pages of zone {zone}");
        self.counts.relocations += relocated;
        self.counts.frozen_relocations += frozen;
        self.written += relocated;
        self.reclaim(zone);
    }

    /// The pages of the victims are relocated, or no more of them can be.
    pub(crate) fn end_copying(&mut self, victims: Vec<u32>) {
        self.update_all_counts();
        self.cleaning = false;
        self.choice.victims = victims;
    }

    /// Counts a cleaning that found no victim.
    pub(crate) fn stall(&mut self) {
        self.counts.stalls += 1;
    }
}
