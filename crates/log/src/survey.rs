//! The pages that a scheme sees besides the one that it places.

use frostline_placement::Scheme;

/// LBAs in order, whose entries lie together in memory, before the survey goes on elsewhere.
pub(crate) const TOGETHER: u64 = 8;
/// 2^32 over the golden ratio: multiples of it, modulo 2^32, are spread evenly, however few there
/// are.
const STEP: u32 = 0x9e37_79b9;

/// Shows the pages of a volume, all as often, up to the last LBA that was written: a volume may be
/// made for more pages than it holds.
///
/// Going through the LBAs in order, a survey would take as many writes for a round as there are
/// pages. What was written to later LBAs of a volume that fills would not be seen for long, as if
/// it did not live.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Survey {
    /// The LBA of the page that is shown next.
    pub turn: u64,
    /// The first LBA of those that come after the ones that lie together with it.
    pub after: u64,
    /// Largest LBA that was written, plus 1.
    pub reach: u64,
    /// The place of these LBAs in the volume, in parts of 2^32.
    pub phase: u32,
}

/// True if the scheme [sees others](Scheme::SEES_OTHERS).
#[inline(always)]
pub(crate) fn sees_others<S: Scheme>(scheme: &S) -> bool {
    S::SEES_OTHERS && scheme.sees_others()
}

impl Survey {
    /// Begins a round, as a store does that is opened.
    pub(crate) fn restart(&mut self) {
        *self = Survey { reach: self.reach, ..Survey::default() };
    }

    /// Shows a scheme that sees others the page at `lba` + 1, and the page whose turn it is, before
    /// `lba` is placed at time `now`. `at` finds the states of pages that have a slot; `fetch`
    /// prefetches those of LBAs in order from one on, [`TOGETHER`] turns before the first is shown.
    #[inline(always)]
    pub(crate) fn show<S: Scheme>(
        &mut self,
        scheme: &mut S,
        lba: u64,
        now: u32,
        at: impl Fn(u64) -> Option<S::Page>,
        fetch: impl Fn(u64),
    ) {
        let behind = if lba + 1 < self.reach { at(lba + 1) } else { None };
        scheme.on_neighbour(behind.as_ref(), now);
        if let Some(page) = at(self.turn) {
            scheme.on_survey(&page, now);
        }
        self.reach = self.reach.max(lba + 1);
        if self.go_on() {
            fetch(self.after);
        }
    }

    /// Returns true if the survey goes on elsewhere.
    #[inline(always)]
    fn go_on(&mut self) -> bool {
        self.turn += 1;
        let elsewhere = self.turn.is_multiple_of(TOGETHER) || self.turn >= self.reach;
        if elsewhere {
            self.turn = self.after;
            self.phase = self.phase.wrapping_add(STEP);
            // Fewer than 2^32 places.
            let places = self.reach.div_ceil(TOGETHER);
            self.after = ((u64::from(self.phase) * places) >> 32) * TOGETHER;
        }
        elsewhere
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each tenth of `reach` LBAs has its turn in so many turns.
    fn turns(reach: u64, turns: u64) -> [u64; 10] {
        let mut survey = Survey { reach, ..Survey::default() };
        let mut tenths = [0; 10];
        for _ in 0..turns {
            tenths[(survey.turn * 10 / reach) as usize] += 1;
            survey.go_on();
            assert!(survey.turn < reach);
        }
        tenths
    }

    #[test]
    fn all_parts_of_a_volume_are_seen_as_often_in_a_tenth_of_a_round() {
        for reach in [10_000, 10_007, 65_536] {
            let seen = turns(reach, reach / 10);
            let even = reach / 100;
            assert!(seen.iter().all(|&turns| turns.abs_diff(even) <= even / 5 + 16), "{seen:?}");
        }
    }

    #[test]
    fn every_page_has_its_turn() {
        let mut survey = Survey { reach: 1003, ..Survey::default() };
        let mut seen = [false; 1003];
        for _ in 0..4 * 1003 {
            seen[survey.turn as usize] = true;
            survey.go_on();
        }
        assert!(seen.iter().all(|&seen| seen));
    }
}
