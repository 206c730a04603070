//! Replays of traces, which keep the whole map, and in which a write is complete at once.
//!
//! Pages of one slot are written in runs, whose inner loop is all that is compiled for each scheme.
//! Records of variable length take the steps that a store takes.

mod batch;
mod pages;
mod records;

use std::ops::Range;

use frostline_placement::{Hotness, Scheme};

pub use self::pages::PageReplay;
pub use self::records::RecordReplay;

use crate::places::Slot;
use crate::writes::Writes;
use crate::zone_log::ZoneLog;
use crate::{Array, LogError, MAX_LBA};

/// A log that a trace is replayed against.
pub trait Replay {
    /// The scheme that places pages.
    type Scheme: Scheme;

    /// The zones.
    fn log(&self) -> &ZoneLog<Self::Scheme>;

    /// The zones.
    fn log_mut(&mut self) -> &mut ZoneLog<Self::Scheme>;

    /// Writes `range` of `writes`, cleaning when the trigger asks; everything completes at once.
    ///
    /// # Errors
    /// An LBA is beyond the log, or there is no room. Earlier writes of the range stay.
    fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError>;

    /// Trims a page with all that belongs to it: it counts as never written, so that its next write
    /// is a first one. The time does not advance, and cleaning waits for the next write. False if
    /// the page has no slot.
    ///
    /// # Errors
    /// The LBA is beyond the log.
    fn trim(&mut self, page: u32) -> Result<bool, LogError>;

    /// Ends the chunks of all classes, if there are any, as a sync does.
    fn sync(&mut self);

    /// Goes on with a scheme that begins anew, as a store does that is closed and opened: the
    /// scheme recalls what the one before remembers, and sees the zones being opened and sealed, as
    /// if it happened now.
    fn restart(&mut self, scheme: Self::Scheme);

    /// The place of a page; `None` if the page is not valid.
    fn slot_of(&self, lba: u32) -> Option<Slot>;

    /// Peak memory in bytes: map, reverse map, hotness records, zones and the scheme's memory.
    fn peak_bytes(&self) -> usize;

    /// Checks every invariant that is visible from outside: each written LBA has one valid slot
    /// whose reverse entry names the LBA, the rest of each zone is garbage, and the totals agree.
    /// Costs a pass over map and zones.
    ///
    /// # Errors
    /// A sentence that names the violated invariant.
    fn verify(&self) -> Result<(), String>;
}

/// The hotness record of each LBA's last write, until cleaning meets its page; none if the engine
/// gives none.
#[derive(Default)]
struct HotnessTable(Option<Array<Hotness>>);

impl HotnessTable {
    /// Keeps the records of these writes, whose LBAs are below `space`.
    fn record(
        &mut self,
        writes: &Writes<'_>,
        range: Range<usize>,
        space: usize,
    ) -> Result<(), LogError> {
        let Some(records) = writes.hotness else { return Ok(()) };
        let table = match &mut self.0 {
            Some(table) => table,
            none => none.insert(Array::zeroed(space)?),
        };
        for (word, hotness) in writes.words[range.clone()].iter().zip(&records[range]) {
            table[(word & MAX_LBA) as usize] = *hotness;
        }
        Ok(())
    }

    fn of(&self, lba: u32) -> Option<Hotness> {
        self.0.as_ref().map(|table| table[lba as usize])
    }

    fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |table| size_of_val(&table[..]))
    }
}

/// Checks a map against the reverse map and the zones. `records` has the LBA of each valid record,
/// its slot, its units, and the word in the reverse map.
fn verify(
    log: &ZoneLog,
    records: &mut dyn Iterator<Item = (u32, Slot, u32, u32)>,
) -> Result<(), String> {
    let mut units = vec![0; log.zones().len()];
    let mut mapped = 0;
    for (lba, slot, length, word) in records {
        if word & MAX_LBA != lba {
            return Err(format!("LBA {lba} points to {slot:?}, which holds {word:#x}"));
        }
        units[slot.zone as usize] += length;
        mapped += 1;
    }
    log.verify(mapped, &units)
}
