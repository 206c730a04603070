//! The pages that a scheme sees besides the one that it places.

use frostline_placement::Scheme;

/// Shows the pages of a volume in turn, up to the last LBA that was written: a volume may be made
/// for more pages than it holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Survey {
    /// The LBA of the page that is shown next.
    pub turn: u64,
    /// Largest LBA that was written, plus 1.
    pub reach: u64,
}

/// True if the scheme [sees others](Scheme::SEES_OTHERS).
#[inline(always)]
pub(crate) fn sees_others<S: Scheme>(scheme: &S) -> bool {
    S::SEES_OTHERS && scheme.sees_others()
}

impl Survey {
    /// Shows a scheme that sees others the page at `lba` + 1, and the page whose turn it is, before
    /// `lba` is placed at time `now`. `at` finds the states of pages that have a slot.
    #[inline(always)]
    pub fn show<S: Scheme>(
        &mut self,
        scheme: &mut S,
        lba: u64,
        now: u32,
        at: impl Fn(u64) -> Option<S::Page>,
    ) {
        let behind = if lba + 1 < self.reach { at(lba + 1) } else { None };
        scheme.on_neighbour(behind.as_ref(), now);
        if let Some(page) = at(self.turn) {
            scheme.on_survey(&page, now);
        }
        self.reach = self.reach.max(lba + 1);
        self.turn = if self.turn + 1 < self.reach { self.turn + 1 } else { 0 };
    }
}
