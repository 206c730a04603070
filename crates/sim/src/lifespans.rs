//! User writes by class and by lifespan, as a sample.

use std::ops::Range;

use frostline_placement::NEVER;
use frostline_trace::FINAL;

use crate::TraceVolume;
use crate::machine::Machine;

/// Intervals of lifespans: the first is shorter than a zone's worth of user writes, each of the
/// next ends at four times as much as the one before, the last but one has no end, and the last is
/// of frozen pages.
pub const INTERVALS: usize = 8;

/// One user write of so many is looked at. A prime, so that it is in step with no pattern of a
/// trace.
const EVERY: usize = 61;

/// User writes by class, from 0, and by the interval of their lifespan.
pub type LifespansByClass = Vec<[u64; INTERVALS]>;

/// The interval of a lifespan, in user writes, where a zone has so many pages.
fn interval(lifespan: u32, zone_pages: u32) -> usize {
    if lifespan == NEVER {
        return INTERVALS - 1;
    }
    let zones = lifespan / zone_pages.max(1);
    let quadrupled = (u32::BITS - zones.leading_zeros()).div_ceil(2) as usize;
    quadrupled.min(INTERVALS - 2)
}

/// Looks at some user writes as they are replayed.
pub(crate) struct LifespanSample<'a> {
    volume: &'a TraceVolume,
    /// The lifespan of each write; none if nothing is to be counted.
    lifespans: Option<&'a [u32]>,
    zone_pages: u32,
    /// The writes by class and lifespan.
    pub(crate) counted: LifespansByClass,
}

impl<'a> LifespanSample<'a> {
    /// Counts nothing unless it `is_wanted` and the trace has lifespans.
    pub(crate) fn new(
        volume: &'a TraceVolume,
        is_wanted: bool,
        zone_pages: u32,
    ) -> LifespanSample<'a> {
        let lifespans = volume.lifespans().filter(|_| is_wanted);
        LifespanSample { volume, lifespans, zone_pages, counted: Vec::new() }
    }

    /// The end of a part of the run that begins at `next`: `end`, or the write that is looked at.
    pub(crate) fn end_after(&self, next: usize, end: usize) -> usize {
        if self.lifespans.is_some() { end.min(next + EVERY) } else { end }
    }

    /// Looks at the last write of a part that was replayed: its page still lies where the scheme
    /// put it.
    pub(crate) fn look(&mut self, part: Range<usize>, machine: &dyn Machine) {
        let (Some(lifespans), Some(last)) = (self.lifespans, part.last()) else { return };
        let lba = self.volume.words()[last] & !FINAL;
        let Some(class) = machine.class_of(lba) else { return };
        if self.counted.len() <= class {
            self.counted.resize(class + 1, [0; INTERVALS]);
        }
        self.counted[class][interval(lifespans[last], self.zone_pages)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_end_at_powers_of_four_zones() {
        let of = |lifespan| interval(lifespan, 100);
        assert_eq!([0, 99, 100, 399, 400, 1599, 1600].map(of), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!([102_399, 102_400, u32::MAX - 1].map(of), [5, 6, 6]);
        assert_eq!(of(NEVER), INTERVALS - 1);
    }
}
