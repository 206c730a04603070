//! Division of the ten classes of lifespans into groups: the one with the least write amplification
//! by a Markov chain.
//!
//! A group takes classes that follow one another. Each group but the last keeps its pages until the
//! longest range among its classes is over, and then relocates the valid ones. The last group has
//! the rest of the zones; the victim policy chooses among them. The chain predicts copies from two
//! shares: each group's share of the user writes, and the share of its pages that outlive it. The
//! pages that the other groups hold give the room that is left to the last group, whose copies are
//! those of greedy cleaning.

use super::outcomes::Outcomes;
use super::ranges::Ranges;
use crate::FORECAST_CLASSES;
use crate::chain::model::{Hot, desnoyers};

/// The most groups, not counting the hot group.
pub(crate) const MOST_GROUPS: usize = 4;
/// A group is worth its zones only if it takes this share of the writes.
const LEAST_SHARE: f64 = 0.0005;

/// A division of classes of lifespans into groups, which are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeDivision {
    /// Groups.
    pub groups: usize,
    /// The first class of each group.
    first: [usize; MOST_GROUPS],
    /// For each class: the group that a page goes to when it outlives its first group.
    after: [u8; FORECAST_CLASSES],
}

/// A volume that shall be divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DividedVolume {
    /// Zones, open ones included.
    pub zones: f64,
    /// Pages in a zone.
    pub zone_pages: f64,
    /// Valid pages.
    pub valid: f64,
    /// The hot group.
    pub hot: Hot,
}

impl RangeDivision {
    /// The division into one group.
    pub(crate) const WHOLE: RangeDivision =
        RangeDivision { groups: 1, first: [0; MOST_GROUPS], after: [1; FORECAST_CLASSES] };

    /// The group of a class.
    #[inline(always)]
    pub(crate) fn group(&self, class: usize) -> usize {
        debug_assert!(class < FORECAST_CLASSES, "a class of lifespans");
        let first = &self.first[1..self.groups];
        1 + first.iter().filter(|&&first| class >= first).count()
    }

    /// The group that a page of a class goes to at its first relocation, if its group is not the
    /// last.
    #[inline(always)]
    pub(crate) fn after(&self, class: usize) -> usize {
        usize::from(self.after[class])
    }

    /// The user writes for which a group before the last keeps its zones.
    pub(crate) fn range(&self, group: usize, ranges: &Ranges) -> u32 {
        assert!((1..self.groups).contains(&group), "only groups before the last have a range");
        ranges.bound(self.first[group] - 1).unwrap_or(u32::MAX)
    }

    /// The division as bytes.
    pub(crate) fn bytes(&self) -> [u8; 1 + MOST_GROUPS + FORECAST_CLASSES] {
        let mut bytes = [0; _];
        bytes[0] = self.groups as u8;
        let first = self.first.iter().map(|&first| first as u8);
        let rest = first.chain(self.after);
        bytes[1..].iter_mut().zip(rest).for_each(|(to, byte)| *to = byte);
        bytes
    }

    /// Reads a division that [`RangeDivision::bytes`] wrote; `None` if the bytes are damaged.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (&groups, rest) = bytes.split_first()?;
        let (first, after) = rest.split_first_chunk::<MOST_GROUPS>()?;
        let division = RangeDivision {
            groups: usize::from(groups),
            first: first.map(usize::from),
            after: *after.first_chunk().filter(|_| after.len() == FORECAST_CLASSES)?,
        };
        let starts = division.first.get(..division.groups).filter(|starts| !starts.is_empty())?;
        let rise = starts.windows(2).all(|pair| pair[0] < pair[1]);
        let sound = starts[0] == 0 && rise && starts.iter().all(|&first| first < FORECAST_CLASSES);
        let reached = division.after.iter().all(|after| (1..=groups).contains(after));
        (sound && reached).then_some(division)
    }
}

/// The division with the least predicted write amplification, and that write amplification; `None`
/// if no division has room.
pub(crate) fn divide(
    outcomes: &Outcomes,
    ranges: &Ranges,
    volume: &DividedVolume,
) -> Option<(RangeDivision, f64)> {
    let mut best: Option<(RangeDivision, f64)> = None;
    // Bit `class - 1` is set if a group begins with the class.
    let starts = 0u32..1 << (FORECAST_CLASSES - 1);
    for starts in starts.filter(|starts| (starts.count_ones() as usize) < MOST_GROUPS) {
        let mut division = RangeDivision::WHOLE;
        for class in (1..FORECAST_CLASSES).filter(|class| starts >> (class - 1) & 1 == 1) {
            division.first[division.groups] = class;
            division.groups += 1;
        }
        let waf = predict(&division, outcomes, ranges, volume);
        if let Some(waf) = waf.filter(|&waf| best.is_none_or(|(_, least)| waf < least)) {
            best = Some((division, waf));
        }
    }
    let (mut division, waf) = best?;
    division.after = std::array::from_fn(|class| after(&division, class, outcomes, ranges) as u8);
    debug_assert_eq!(
        RangeDivision::of_bytes(&division.bytes()),
        Some(division),
        "a division that is found can be recalled"
    );
    Some((division, waf))
}

/// The predicted write amplification of a division; `None` if it has no room.
fn predict(
    division: &RangeDivision,
    outcomes: &Outcomes,
    ranges: &Ranges,
    volume: &DividedVolume,
) -> Option<f64> {
    let DividedVolume { zones, zone_pages, valid, hot } = *volume;
    let last = division.groups;
    let all = f64::from(outcomes.all().max(1));
    // Open zones are half full.
    let mut room = (zones - 0.5 * (last + 1) as f64) * zone_pages;
    let leaked = hot.share * hot.leak;
    room -= hot.share * hot.lifetime;
    let mut held = valid - hot.share * hot.lifetime * (1.0 + hot.leak) / 2.0;
    let (mut copied, mut arriving) = (leaked, leaked);
    for group in 1..=last {
        let classes = (0..FORECAST_CLASSES).filter(|&class| division.group(class) == group);
        let by_class = classes.fold([0.0; FORECAST_CLASSES], |mut sums, class| {
            sums.iter_mut().zip(outcomes.of(class)).for_each(|(sum, &n)| *sum += f64::from(n));
            sums
        });
        let versions: f64 = by_class.iter().sum();
        let direct = (1.0 - hot.share) * versions / all;
        if direct < LEAST_SHARE {
            return None;
        }
        let rate = direct + arriving;
        if group == last {
            if held <= 0.0 || room <= held {
                return None;
            }
            let valid = 1.0 - 1.0 / desnoyers(room / held, 0.0, 0.0);
            copied += rate * valid / (1.0 - valid);
            break;
        }
        let range = f64::from(division.range(group, ranges));
        let top = division.first[group];
        let share = |class: usize| by_class[class] / versions;
        let alive: f64 = (top..FORECAST_CLASSES).map(share).sum();
        let younger = (0..FORECAST_CLASSES).map(|c| share(c) * ranges.typical(c).min(range));
        held -= rate * younger.sum::<f64>();
        room -= rate * range;
        arriving = rate * alive;
        copied += arriving;
    }
    Some(1.0 + copied)
}

/// The group for pages of a class that outlive their first group: the first group whose range is as
/// long as the geometric mean of the lifespans that are left to them.
fn after(division: &RangeDivision, class: usize, outcomes: &Outcomes, ranges: &Ranges) -> usize {
    let (group, last) = (division.group(class), division.groups);
    if group == last {
        return last;
    }
    let range = f64::from(division.range(group, ranges));
    let outlived = division.first[group]..FORECAST_CLASSES;
    let (mut sum, mut versions) = (0.0, 0.0);
    for (class, &count) in
        outcomes.of(class).iter().enumerate().filter(|(c, _)| outlived.contains(c))
    {
        sum += f64::from(count) * ranges.typical(class).ln();
        versions += f64::from(count);
    }
    if versions == 0.0 {
        return group + 1;
    }
    let left = (sum / versions).exp() - range;
    let reaches = |&g: &usize| left <= f64::from(division.range(g, ranges));
    (group..last).find(reaches).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The forecast is right for all versions of a class, but for `unsure` of a hundred, which live
    /// for ever.
    fn outcomes(shares: [u32; FORECAST_CLASSES], unsure: u32) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for (class, &share) in shares.iter().enumerate() {
            (0..share * (100 - unsure)).for_each(|_| outcomes.add(class, class));
            (0..share * unsure).for_each(|_| outcomes.add(class, FORECAST_CLASSES - 1));
        }
        outcomes
    }

    fn volume() -> DividedVolume {
        DividedVolume { zones: 230.0, zone_pages: 500.0, valid: 97_000.0, hot: Hot::NONE }
    }

    #[test]
    fn lifespans_that_differ_and_are_foreseen_have_groups_of_their_own() {
        let (ranges, outcomes) =
            (Ranges::new(100_000), outcomes([30, 0, 0, 0, 30, 0, 0, 0, 0, 40], 0));
        let (division, waf) = divide(&outcomes, &ranges, &volume()).unwrap();
        assert_eq!([0, 4, 9].map(|class| division.group(class)), [1, 2, 3], "{division:?}");
        let whole = predict(&RangeDivision::WHOLE, &outcomes, &ranges, &volume()).unwrap();
        assert!(waf < whole * 0.9, "{waf}, {whole}");
        assert_eq!(division.range(1, &ranges), ranges.bound(division.first[1] - 1).unwrap());
    }

    #[test]
    fn a_group_without_pages_is_none_and_neither_is_one_without_room() {
        let ranges = Ranges::new(100_000);
        let only = outcomes([100, 0, 0, 0, 0, 0, 0, 0, 0, 0], 0);
        assert_eq!(divide(&only, &ranges, &volume()).unwrap().0, RangeDivision::WHOLE);
        let full = DividedVolume { valid: 115_000.0, ..volume() };
        assert_eq!(divide(&only, &ranges, &full), None);
    }

    #[test]
    fn pages_that_outlive_their_group_go_where_they_are_expected_to_die() {
        let ranges = Ranges::new(100_000);
        let outcomes = outcomes([30, 0, 0, 0, 30, 0, 0, 0, 0, 40], 10);
        let (division, _) = divide(&outcomes, &ranges, &volume()).unwrap();
        assert_eq!(division.after(0), division.groups, "they live for ever");
    }

    #[test]
    fn a_division_outlives_a_restart_and_bytes_that_are_none_do_nothing() {
        let (ranges, outcomes) =
            (Ranges::new(100_000), outcomes([30, 0, 0, 0, 30, 0, 0, 0, 0, 40], 0));
        let (division, _) = divide(&outcomes, &ranges, &volume()).unwrap();
        let bytes = division.bytes();
        assert_eq!(RangeDivision::of_bytes(&bytes), Some(division));
        for (place, byte) in [(0, 0), (0, 9), (1, 1), (2, 0), (2, 10), (8, 0), (8, 9)] {
            let mut bytes = bytes;
            bytes[place] = byte;
            assert_eq!(RangeDivision::of_bytes(&bytes), None, "{place} {byte}");
        }
        assert_eq!(RangeDivision::of_bytes(&bytes[1..]), None);
    }
}
