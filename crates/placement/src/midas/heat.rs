//! Hot pages: those that are overwritten soon, several times over.
//!
//! Each page has a counter from 0 to 3, two bits. An overwrite counts up if the page lay in the hot
//! group, or in the first group of the chain for no longer than a threshold; it counts down if the
//! page lay there for longer. A page that leaves one of these groups alive also counts down: by two
//! if it leaves the hot group, else by one. At 3 the page is hot. The threshold follows the age at
//! which zones leave the hot group.

use crate::prefetch::prefetch;

/// Counters, four a byte, and the threshold.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    counters: Vec<u8>,
    threshold: Threshold,
}

/// The counter value at which a page is hot.
const HOT: u8 = 3;
const _: () = assert!(HOT < 1 << (u8::BITS / 4), "a byte has four counters");

#[derive(Clone, Debug, Default)]
struct Threshold {
    /// The threshold in user writes. While it is 0, the volume's valid pages are the threshold.
    pages: u32,
    /// The time of the last renewal; `None` before the first zone left.
    renewed_at: Option<u32>,
    /// Sum of the ages of the zones that left the hot group since then.
    ages: u64,
    zones: u64,
}

impl Heat {
    /// No page is hot yet.
    pub(crate) fn new(space: u32) -> Self {
        let counters = vec![0; space as usize / 4 + 1];
        Heat { counters, threshold: Threshold::default() }
    }

    /// The threshold: the longest time in the first group of the chain that counts as short.
    #[inline(always)]
    pub(crate) fn threshold(&self, valid: u64) -> u32 {
        match self.threshold.pages {
            0 => valid as u32,
            pages => pages,
        }
    }

    /// Counts an overwrite, up if the page was overwritten `soon`, else down. Returns true if the
    /// page is hot.
    #[inline(always)]
    pub(crate) fn overwritten(&mut self, lba: u32, soon: bool) -> bool {
        self.change(lba, if soon { 1 } else { -1 }) == HOT
    }

    /// True if the page is hot.
    #[inline(always)]
    pub(crate) fn is_hot(&self, lba: u32) -> bool {
        self.change_of(lba).0 == HOT
    }

    /// The page was valid when its zone left the hot group (`was_hot`), or the first group of the
    /// chain.
    #[inline(always)]
    pub(crate) fn survived(&mut self, lba: u32, was_hot: bool) {
        self.change(lba, if was_hot { -2 } else { -1 });
    }

    /// The page was trimmed: forgets its heat.
    pub(crate) fn forget(&mut self, lba: u32) {
        self.change(lba, -(HOT as i8));
    }

    /// A zone left the hot group at this age. After a time as long as the threshold, the threshold
    /// is renewed: it becomes the mean of itself and the zones' mean age.
    pub(crate) fn left(&mut self, age: u32, now: u32, valid: u64) {
        let pages = self.threshold(valid);
        let Threshold { renewed_at, ages, zones, .. } = &mut self.threshold;
        *ages += u64::from(age);
        *zones += 1;
        let since = *renewed_at.get_or_insert(now);
        if now.wrapping_sub(since) < pages {
            return;
        }
        let mean = *ages / *zones;
        // Rounded up: otherwise a threshold of 1, which comes from zones that are cleaned at once,
        // would never grow.
        let grown = (u64::from(pages) * 3).div_ceil(2);
        let next = ((u64::from(pages) + mean) / 2).clamp(1, grown.max(1));
        let pages = u32::try_from(next).unwrap_or(u32::MAX);
        self.threshold = Threshold { pages, renewed_at: Some(now), ages: 0, zones: 0 };
    }

    /// Prefetches a page's counter.
    #[inline(always)]
    pub(crate) fn fetch(&self, lba: u32) {
        prefetch::<_, 1>(&self.counters, lba as usize / 4);
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.counters.len()
    }

    #[inline(always)]
    fn change_of(&self, lba: u32) -> (u8, u32) {
        let byte = self.counters.get(lba as usize / 4).copied().unwrap_or(0);
        let shift = lba % 4 * 2;
        (byte >> shift & HOT, shift)
    }

    #[inline(always)]
    fn change(&mut self, lba: u32, by: i8) -> u8 {
        let (counter, shift) = self.change_of(lba);
        let changed = (counter as i8 + by).clamp(0, HOT as i8) as u8;
        if let Some(byte) = self.counters.get_mut(lba as usize / 4) {
            *byte ^= (counter ^ changed) << shift;
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_hot_after_three_more_short_lives_than_long_ones() {
        let mut heat = Heat::new(100);
        let hot: Vec<_> =
            [true, true, false, true, true, true].map(|s| heat.overwritten(7, s)).into();
        assert_eq!(hot, [false, false, false, false, true, true]);
        assert!(!heat.is_hot(6) && heat.is_hot(7) && !heat.is_hot(8), "neighbours share its byte");
    }

    #[test]
    fn a_page_that_outlives_the_hot_group_must_earn_its_place_again() {
        let mut heat = Heat::new(100);
        (0..3).for_each(|_| _ = heat.overwritten(7, true));
        heat.survived(7, true);
        assert!(!heat.overwritten(7, true) && heat.overwritten(7, true), "1, then 2, then 3");
        heat.survived(7, true);
        heat.survived(7, true);
        heat.survived(7, false);
        assert!(!heat.overwritten(7, true), "it does not count below 0");
    }

    #[test]
    fn the_threshold_follows_the_age_of_zones_that_leave_the_hot_group() {
        let mut heat = Heat::new(100);
        assert_eq!(heat.threshold(1000), 1000, "the valid pages as long as nothing is known");
        heat.left(100, 500, 1000);
        assert_eq!(heat.threshold(1000), 1000, "too early");
        heat.left(300, 1500, 1000);
        assert_eq!(heat.threshold(9), 600, "of 1000 and the mean of 100 and 300");
        heat.left(10_000, 2100, 1000);
        assert_eq!(heat.threshold(9), 900, "it grows by a half at most");
    }

    #[test]
    fn a_threshold_that_has_shrunk_to_one_grows_again() {
        let mut heat = Heat::new(100);
        (0..20).for_each(|k| heat.left(0, 2000 * k, 1000));
        assert_eq!(heat.threshold(1000), 1);
        (20..60).for_each(|k| heat.left(500, 2000 * k, 1000));
        assert!(heat.threshold(1000) > 400, "{}", heat.threshold(1000));
    }
}
