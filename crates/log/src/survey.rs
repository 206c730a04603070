//! The pages that a scheme sees besides the one that it places.

use frostline_placement::Scheme;

use crate::map::MapEntry;

/// Shows the pages of a volume in turn, up to the last LBA that was written: a volume may be made
/// for more pages than it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Survey {
    /// The LBA of the page that is shown next.
    pub turn: u32,
    /// Largest LBA that was written, plus 1.
    pub reach: u32,
}

/// True if the scheme [sees others](Scheme::SEES_OTHERS).
#[inline(always)]
pub(crate) fn sees_others<S: Scheme>(scheme: &S) -> bool {
    S::SEES_OTHERS && scheme.sees_others()
}

impl Survey {
    /// Shows a scheme that sees others the page at `lba` + 1, and the page whose turn it is, before
    /// `lba` is placed at time `now`. `at` finds the entries that are in memory; a slot's number
    /// shifted by `shift` is the number of its zone.
    #[inline(always)]
    pub fn show<S: Scheme>(
        &mut self,
        scheme: &mut S,
        lba: u32,
        now: u32,
        shift: u32,
        at: impl Fn(u32) -> Option<MapEntry<S::Page>>,
    ) {
        let valid = |entry: &MapEntry<S::Page>| entry.slot >> shift != 0;
        let behind = if lba + 1 < self.reach { at(lba + 1).filter(valid) } else { None };
        scheme.on_neighbour(behind.as_ref().map(|entry| &entry.page), now);
        if let Some(entry) = at(self.turn).filter(valid) {
            scheme.on_survey(&entry.page, now);
        }
        self.reach = self.reach.max(lba + 1);
        self.turn = if self.turn + 1 < self.reach { self.turn + 1 } else { 0 };
    }
}
