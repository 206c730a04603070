//! The room for a record: in the open zone of a class, in a zone that is opened for it, or
//! elsewhere.

use super::ZoneLog;
use crate::LogError;

impl ZoneLog {
    /// True if a zone can be opened.
    #[inline]
    pub(crate) fn can_open(&self) -> bool {
        !self.free.is_empty()
            || self.options.capacity.zones().is_none() && self.zones.len() <= self.max_zones
    }

    /// True if there is room for another page.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.can_open() || self.roomiest(self.options.page_units).is_some()
    }

    /// Units left in the open zone of a class.
    #[inline(always)]
    pub(super) fn room(&self, class: usize) -> u32 {
        self.open[class].left()
    }

    /// True if the zone of this class is full and waits to be closed.
    #[inline(always)]
    pub(crate) fn is_full(&self, class: usize) -> bool {
        self.open_zones[class] != 0 && self.open[class].is_closed()
    }

    /// A class with room for a record. It is `class` itself, if need be after its open zone is
    /// sealed early and another opened. If no zone is free, it is the class with the most room.
    ///
    /// # Errors
    /// No open zone has enough room.
    pub(crate) fn class_with_room(&mut self, class: usize, units: u32) -> Result<usize, LogError> {
        debug_assert!(units <= self.options.page_units, "a record is no longer than a page");
        if self.room(class) >= units {
            return Ok(class);
        }
        if self.can_open() {
            self.end_early(class);
            if self.open_zone(class) {
                return Ok(class);
            }
        }
        let roomiest = self.roomiest(units).ok_or_else(|| self.full())?;
        self.counts.spilled += 1;
        Ok(roomiest)
    }

    /// A class with room for a page that the user writes. The last free zone is kept for cleaning
    /// as long as an open zone has room: otherwise every zone may come to be open, with all garbage
    /// in open zones, and there is no victim.
    pub(crate) fn class_for_user(&mut self, class: usize, units: u32) -> Result<usize, LogError> {
        let is_last = self.options.capacity.zones().is_some() && self.free.len() == 1;
        match self.roomiest(units) {
            Some(roomiest) if is_last && self.room(class) < units => {
                self.counts.spilled += 1;
                Ok(roomiest)
            }
            _ => self.class_with_room(class, units),
        }
    }

    /// The class whose open zone has the most room; `None` if that is not enough for the record.
    fn roomiest(&self, units: u32) -> Option<usize> {
        let roomiest = (0..self.open.len()).rev().max_by_key(|&class| self.room(class));
        roomiest.filter(|&class| self.room(class) >= units)
    }

    /// Checks that there is room for a page of the user, and for one more page if this is its first
    /// write.
    #[inline]
    pub(crate) fn check_room(&self, first: bool) -> Result<(), LogError> {
        let has_pages = !first || self.valid < self.options.records();
        if self.has_room() && has_pages { Ok(()) } else { Err(self.full()) }
    }

    fn full(&self) -> LogError {
        let slots = self.max_zones as u64 * u64::from(self.zone_units);
        LogError::Full { valid: self.valid, slots }
    }
}
