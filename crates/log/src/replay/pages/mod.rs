//! A replay of pages that take one slot each, in runs.

mod cleaning;
mod run;

use std::ops::Range;

use bytemuck::Zeroable;
use frostline_placement::{Scheme, VictimPolicy};

use super::batch::Batch;
use super::{HotnessTable, Replay, verify};
use crate::map::MapEntry;
use crate::places::Slot;
use crate::survey::Survey;
use crate::writes::Writes;
use crate::zone_log::{Numbering, Options, ZoneLog};
use crate::{Array, LogError};

/// A replay of pages that take one slot each, in runs.
pub struct PageReplay<S: Scheme> {
    log: ZoneLog<S>,
    /// By LBA.
    map: Array<MapEntry<S::Page>>,
    /// The reverse map, by slot: the word of the page that was written there.
    words: Array<u32>,
    survey: Survey,
    hotness: HotnessTable,
    /// The pages of the present victim, for a scheme that places batches.
    batch: Batch<S::Page>,
    /// The words of these pages.
    batch_words: Vec<u32>,
}

impl<S: Scheme> PageReplay<S> {
    /// An empty log.
    ///
    /// # Errors
    /// The options are not valid or [of records](Options::in_records), the scheme has more classes
    /// than zones may be open, or memory is short.
    pub fn new(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        if options.in_records() {
            return Err(LogError::InRecords);
        }
        let mut log = ZoneLog::new(options, scheme, policy, Numbering::Kept)?;
        log.retire_spare();
        let mut words = Array::default();
        words.cover(log.slots())?;
        Ok(PageReplay {
            log,
            map: Array::zeroed(options.space as usize)?,
            words,
            survey: Survey::default(),
            hotness: HotnessTable::default(),
            batch: Batch::default(),
            batch_words: Vec::new(),
        })
    }
}

impl<S: Scheme> Replay for PageReplay<S> {
    type Scheme = S;

    fn log(&self) -> &ZoneLog<S> {
        &self.log
    }

    fn log_mut(&mut self) -> &mut ZoneLog<S> {
        &mut self.log
    }

    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
        self.write_all(writes, range)
    }

    fn trim(&mut self, page: u32) -> Result<bool, LogError> {
        let space = self.map.len() as u64;
        ZoneLog::check_lba(page.into(), space)?;
        let entry = std::mem::replace(&mut self.map[page as usize], MapEntry::zeroed());
        let (now, is_valid) = (self.log.now(), entry.slot != 0);
        self.log.scheme_mut().on_trim(page, is_valid.then_some(&entry.page), now);
        if is_valid {
            let Slot { zone, .. } = self.log.slot(entry.slot);
            self.log.trim(zone, 1);
        }
        Ok(is_valid)
    }

    fn sync(&mut self) {}

    fn restart(&mut self, scheme: S) {
        self.survey.restart();
        self.log.restart(scheme);
    }

    fn slot_of(&self, lba: u32) -> Option<Slot> {
        let entry = self.map.get(lba as usize)?;
        (entry.slot != 0).then(|| self.log.slot(entry.slot))
    }

    fn peak_bytes(&self) -> usize {
        size_of_val(&self.map[..])
            + self.log.most_slots() * size_of::<u32>()
            + self.hotness.bytes()
            + self.log.bytes()
    }

    fn verify(&self) -> Result<(), String> {
        let slots = (0..self.map.len() as u32).filter_map(|lba| Some((lba, self.slot_of(lba)?)));
        verify(
            &self.log,
            &mut slots.map(|(lba, slot)| (lba, slot, 1, self.words[self.log.place(slot)])),
        )
    }
}
