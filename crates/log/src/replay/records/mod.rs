//! A replay of records of variable length.
//!
//! Each record is placed by the steps that a store takes ([`Steps`]), one by one: runs are only for
//! pages of one slot.

mod cleaning;
mod merges;
mod reverse;

use std::ops::Range;

use bytemuck::Zeroable;
use frostline_placement::{Request, Scheme, VictimPolicy};

use self::merges::Merges;
use self::reverse::ReverseMap;
use super::batch::Batch;
use super::{HotnessTable, Replay, verify};
use crate::map::{MapEntry, PageEntry};
use crate::places::{Extent, Slot, Units};
use crate::steps::{Steps, Write, takes_delta};
use crate::writes::Writes;
use crate::zone_log::{Numbering, Options, Placed, ZoneLog};
use crate::{Array, LogError, MAX_LBA, WORD_LAST};

/// A replay of records of variable length.
pub struct RecordReplay<S: Scheme> {
    steps: Steps<S, Array<MapEntry<S::Page>>>,
    reverse: ReverseMap,
    hotness: HotnessTable,
    /// The merges that the trace has of each page's present version, if it has any.
    merges: Option<Merges>,
    /// Zones that were cleaned since the last sync for resets.
    unreset: u32,
    /// The valid records of the victim that was cleaned last.
    records: Vec<(u32, Extent)>,
    /// The same for a scheme that places batches.
    batch: Batch<S::Page>,
}

impl<S: Scheme> RecordReplay<S> {
    /// An empty log.
    ///
    /// A program that makes logs for many types of schemes makes those of records for one type
    /// ([`AnyScheme`](frostline_placement::AnyScheme)): a record costs so much that calls of its
    /// scheme do not matter, but to compile all for each type does.
    ///
    /// # Errors
    /// The options are not valid, the scheme has more classes than zones may be open or places
    /// whole pages only, or memory is short.
    pub fn new(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        let mut log = ZoneLog::new(options, scheme, policy, Numbering::Kept)?;
        log.retire_spare();
        let mut reverse = ReverseMap::default();
        reverse.cover(&log)?;
        Ok(RecordReplay {
            steps: Steps::new(log, Array::zeroed(options.space as usize)?),
            reverse,
            hotness: HotnessTable::default(),
            merges: None,
            unreset: 0,
            records: Vec::new(),
            batch: Batch::default(),
        })
    }

    fn options(&self) -> &Options {
        self.steps.log().options()
    }

    /// The entry of an LBA, as the steps take it: that of a page that was never written if it is
    /// beyond the map.
    fn entry_of(&self, lba: u32) -> PageEntry<S::Page> {
        let entry = self.steps.map().get(lba as usize).copied();
        let MapEntry { slot, page } = entry.unwrap_or_else(MapEntry::zeroed);
        PageEntry { slot: self.steps.log().slot(slot), page }
    }

    /// Changes the entry of an LBA, as a step left it.
    fn set_entry(&mut self, lba: u32, PageEntry { slot, page }: PageEntry<S::Page>) {
        let slot = self.steps.log().number(slot);
        self.steps.map_mut()[lba as usize] = MapEntry { slot, page };
    }

    /// Units of an LBA's record; 0 if there is none.
    fn units_of(&self, lba: u32) -> u32 {
        self.slot_of(lba).map_or(0, |slot| self.reverse.units(self.steps.log().place(slot)))
    }

    /// Notes in the reverse map what was placed.
    fn note(&mut self, placed: Placed, word: u32, units: u32) -> Result<(), LogError> {
        let log = self.steps.log();
        self.reverse.cover(log)?;
        if placed.slot.offset == 0 {
            self.reverse.begin_zone(log.place(placed.slot), log.zone_units() as usize);
        }
        self.reverse.set(log.place(placed.slot), word, units);
        Ok(())
    }

    /// Trims a page's tail, and if so said its delta, if pages have deltas.
    fn trim_changes(&mut self, page: u32, delta: bool) -> Result<(), LogError> {
        let delta = self.options().delta_of(page).filter(|_| delta);
        let lbas = delta.into_iter().chain(self.options().tail_of(page));
        lbas.into_iter().try_for_each(|lba| self.trim_record(lba).map(drop))
    }

    fn trim_record(&mut self, lba: u32) -> Result<bool, LogError> {
        self.steps.check_lba(lba.into())?;
        let units = self.units_of(lba);
        let mut entry = self.entry_of(lba);
        let trimmed = self.steps.trim_entry(lba.into(), &mut entry, units);
        self.set_entry(lba, entry);
        trimmed
    }

    /// Writes a page as the delta or tail that it was in the trace, if the page takes it, or else
    /// as an image.
    fn write_record(&mut self, writes: &Writes<'_>, i: usize) -> Result<(), LogError> {
        let (page, last) = (writes.words[i] & MAX_LBA, writes.words[i] & WORD_LAST);
        self.steps.check_lba(page.into())?;
        let (lba, after) = self.record_of(page, writes, i);
        let mut entry = self.entry_of(lba);
        let units = Units { before: self.units_of(lba), after };
        let begins = S::PER_REQUEST && writes.begins(i);
        let request = begins.then(|| Request {
            lba,
            pages: (writes.request_end(i) - i) as u32,
            now: self.log().now(),
            valid: self.log().valid_pages(),
        });
        let (lifespan, hotness) = (writes.lifespan(i), writes.hotness(i));
        let is_last = last != 0;
        let write = Write {
            lba: lba.into(),
            last: is_last,
            lifespan,
            units,
            request,
            following: writes.following(i),
            hotness,
        };
        let placed = self.steps.place_write(&mut entry, &write)?;
        self.set_entry(lba, entry);
        self.note(placed, lba | last, after)?;
        if let Some(merges) = &mut self.merges {
            merges.find(page, writes, i);
        }
        if Some(lba) != self.options().tail_of(page) {
            self.trim_changes(page, lba == page)?;
        }
        if lba == page {
            if S::BATCHED {
                let space = self.options().space as usize;
                self.hotness.record(writes, i..i + 1, space)?;
            }
        } else if is_last {
            // The page's base is part of this version, and so is its delta.
            let delta = self.options().delta_of(page).filter(|&delta| delta != lba);
            for part in delta.into_iter().chain([page]) {
                if let Some(slot) = self.slot_of(part) {
                    self.reverse.mark_last(self.steps.log().place(slot));
                }
            }
        }
        Ok(())
    }

    /// The LBA and the units of the record that write `i` of a page is.
    fn record_of(&self, page: u32, writes: &Writes<'_>, i: usize) -> (u32, u32) {
        let units = writes.units(i, self.options().page_units);
        let Some(delta) = self.options().delta_of(page).filter(|_| writes.is_delta(i)) else {
            return (page, units);
        };
        match self.units_of(page) {
            0 => (page, units),
            base if takes_delta(base, units) => match self.options().tail_of(page) {
                Some(tail) if writes.is_tail(i) && self.units_of(delta) > 0 => (tail, units),
                _ => (delta, units),
            },
            // The image's length is not known; it is about that of the last one.
            base => (page, base),
        }
    }
}

impl<S: Scheme> Replay for RecordReplay<S> {
    type Scheme = S;

    fn log(&self) -> &ZoneLog<S> {
        self.steps.log()
    }

    fn log_mut(&mut self) -> &mut ZoneLog<S> {
        self.steps.log_mut()
    }

    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        let space = self.options().space as usize;
        if !writes.merges().is_empty() && self.merges.is_none() {
            self.merges = Some(Merges::new(space)?);
        }
        for i in range {
            self.write_record(writes, i)?;
            self.clean_while_due(writes)?;
        }
        Ok(())
    }

    /// Trims a page, its delta and its tail.
    fn trim(&mut self, page: u32) -> Result<bool, LogError> {
        self.trim_changes(page, true)?;
        self.trim_record(page)
    }

    fn sync(&mut self) {
        self.steps.log_mut().end_chunks();
    }

    fn restart(&mut self, scheme: S) {
        self.steps.restart(scheme);
    }

    fn slot_of(&self, lba: u32) -> Option<Slot> {
        let entry = self.steps.map().get(lba as usize)?;
        (entry.slot != 0).then(|| self.steps.log().slot(entry.slot))
    }

    fn peak_bytes(&self) -> usize {
        let log = self.steps.log();
        size_of_val(&self.steps.map()[..])
            + log.most_slots() * ReverseMap::BYTES
            + self.hotness.bytes()
            + log.bytes()
    }

    fn verify(&self) -> Result<(), String> {
        let log = self.steps.log();
        let lbas = 0..self.options().space;
        let slots = lbas.filter_map(|lba| Some((lba, self.slot_of(lba)?)));
        verify(
            log,
            &mut slots.map(|(lba, slot)| {
                let place = log.place(slot);
                (lba, slot, self.reverse.units(place), self.reverse.word(place))
            }),
        )
    }
}
