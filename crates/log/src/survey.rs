//! The pages that a scheme sees beside the one that it places.

use frostline_placement::Scheme;

use crate::map::{Map, MapEntry};
use crate::volume::Volume;

/// Shows a scheme that [sees others](Scheme::SEES_OTHERS) the page behind `lba`, and the one whose
/// turn it is by the number of user writes, before `lba` is placed at time `now`. `at` finds the
/// entries of a volume of `space` pages, if they are in memory.
#[inline(always)]
pub(crate) fn show_others<S: Scheme>(
    scheme: &mut S,
    lba: u32,
    now: u32,
    (turn, space, shift): (u32, u32, u32),
    at: impl Fn(u32) -> Option<MapEntry<S::Page>>,
) {
    if !S::SEES_OTHERS || !scheme.sees_others() {
        return;
    }
    let valid = |entry: &MapEntry<S::Page>| entry.slot >> shift != 0;
    let behind = if lba + 1 < space { at(lba + 1).filter(valid) } else { None };
    scheme.on_neighbour(behind.as_ref().map(|entry| &entry.page), now);
    if let Some(entry) = at(turn % space).filter(valid) {
        scheme.on_survey(&entry.page, now);
    }
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// The same for the page that the user writes now.
    pub(crate) fn show_others(&mut self, lba: u32) {
        let map = &self.map;
        let turn = self.now.wrapping_sub(self.options.start);
        let volume = (turn, map.space(), self.shift);
        show_others(&mut self.scheme, lba, self.now, volume, |lba| map.peek(lba));
    }
}
