//! The room of a file whose zones grow: extents, each a power of two of units, at a multiple of its
//! size.
//!
//! The extents of a zone double: one unit, one more, two, four and so on. So an empty zone takes
//! nothing, one that is begun a unit, and a large one few extents. A free extent joins its
//! neighbour to one of twice the size, and the lowest one that fits is taken first, so that the end
//! of the file becomes free when zones do.

use std::collections::{BTreeMap, BTreeSet};

use crate::geometry::BLOCK_BYTES;

/// Bytes of the smallest extent. In tests of this crate zones of few bytes have several.
pub(super) const UNIT: u64 = if cfg!(test) { 8 << 10 } else { 16 << 10 };
const _: () = assert!(UNIT.is_power_of_two() && UNIT.is_multiple_of(BLOCK_BYTES as u64));

/// Units that are free and keep their bytes while the file is open, so that the next zone is
/// written over them and the file system has nothing to find and to note: so many, or a share of
/// the units in use.
const KEPT: u64 = 16;
const KEPT_SHARE: u64 = 8;

/// A file that nobody uses has no more free units than so many, or a share of those in use.
const LOOSE: u64 = if cfg!(test) { 1 } else { 16 };
const LOOSE_SHARE: u64 = 8;

/// The number of the extent with a byte of a zone, where the extent begins in the zone, and its
/// bytes.
pub(super) fn extent_of(offset: u64) -> (usize, u64, u64) {
    match (offset / UNIT).checked_ilog2() {
        None => (0, 0, UNIT),
        Some(log) => (log as usize + 1, UNIT << log, UNIT << log),
    }
}

/// Where an extent begins in its zone.
pub(super) fn begin_of(extent: usize) -> u64 {
    if extent == 0 { 0 } else { UNIT << order_of(extent) }
}

/// The extents of a zone of so many bytes.
pub(super) fn extents_for(bytes: u64) -> usize {
    if bytes == 0 { 0 } else { extent_of(bytes - 1).0 + 1 }
}

/// The power of two of an extent's units.
fn order_of(extent: usize) -> u32 {
    extent.saturating_sub(1) as u32
}

/// The units of a file.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// Free extents below the end, by the power of two of their units.
    free: [BTreeSet<u32>; 32],
    /// The units up to the end of the last extent in use.
    end: u32,
    used: u64,
    /// Free ranges that still have bytes: first unit and number of units.
    kept: BTreeMap<u32, u32>,
    kept_units: u64,
}

/// Units of the file that lose their bytes: first one and number.
pub(super) type Dropped = (u32, u32);

impl Space {
    /// A file in which these extents are in use, given by place and number in their zone; `None` if
    /// two of them overlap, or one lies where none can.
    pub(super) fn new(extents: impl Iterator<Item = (u32, usize)>) -> Option<Space> {
        let mut used: Vec<(u32, u32)> = Vec::new();
        for (place, extent) in extents {
            let units = 1u32.checked_shl(order_of(extent))?;
            let is_aligned = place.is_multiple_of(units);
            used.push((place, place.checked_add(units).filter(|_| is_aligned)?));
        }
        used.sort_unstable();
        let mut space = Space::default();
        for (place, end) in used {
            if place < space.end {
                return None;
            }
            let from = space.end;
            space.end = end;
            space.put_free(from, place);
            space.used += u64::from(end - place);
            if from < place {
                // What a process that was killed had there may still take room.
                space.kept.insert(from, place - from);
                space.kept_units += u64::from(place - from);
            }
        }
        Some(space)
    }

    /// Units that the file must have: up to the end of the last extent in use, and of the last
    /// range that is kept.
    pub(super) fn units(&self) -> u32 {
        let kept = self.kept.last_key_value().map_or(0, |(place, units)| place + units);
        self.end.max(kept)
    }

    /// Takes the lowest place for an extent; `None` if there are no more numbers.
    pub(super) fn take(&mut self, extent: usize) -> Option<u32> {
        let order = order_of(extent);
        let units = 1u32.checked_shl(order)?;
        let fits = self.free.iter().enumerate().skip(order as usize);
        let lowest = fits.filter_map(|(at, places)| Some((*places.first()?, at))).min();
        let place = match lowest {
            Some((place, at)) => {
                self.free[at].remove(&place);
                self.put_free(place + units, place + (1 << at));
                place
            }
            None => {
                let place = self.end.checked_next_multiple_of(units)?;
                let from = self.end;
                self.end = place.checked_add(units)?;
                self.put_free(from, place);
                place
            }
        };
        assert!(
            place.is_multiple_of(units) && place + units <= self.end,
            "an extent lies below the end, at a multiple of its units"
        );
        self.used += u64::from(units);
        self.forget(place, units);
        Some(place)
    }

    /// Takes a place for an extent below another one; `None` if none is free.
    pub(super) fn take_below(&mut self, extent: usize, other: u32) -> Option<u32> {
        let fits = self.free.iter().skip(order_of(extent) as usize);
        let lowest = fits.filter_map(|places| places.first()).min();
        if lowest.is_some_and(|&lowest| lowest < other) { self.take(extent) } else { None }
    }

    /// True if the file would be much shorter without what is free in it.
    pub(super) fn is_loose(&self) -> bool {
        u64::from(self.end) > self.used + (self.used / LOOSE_SHARE).max(LOOSE)
    }

    /// Gives an extent back.
    pub(super) fn give_back(&mut self, place: u32, extent: usize) {
        let mut order = order_of(extent);
        assert!(order < 32, "an extent has fewer units than a file");
        let units = 1 << order;
        assert!(
            place.is_multiple_of(units) && place + units <= self.end,
            "an extent that is given back lies below the end"
        );
        assert!(u64::from(units) <= self.used, "an extent is given back that nobody had");
        debug_assert!(!self.free[order as usize].contains(&place), "an extent is given back twice");
        self.used -= u64::from(units);
        let kept = self.kept.insert(place, units);
        assert!(kept.is_none(), "units in use are not kept as free ones");
        self.kept_units += u64::from(units);
        let mut place = place;
        while order < 31 && self.free[order as usize].remove(&(place ^ (1 << order))) {
            place &= !(1 << order);
            order += 1;
        }
        self.free[order as usize].insert(place);
        while let Some(last) = self.ends_free() {
            self.free[last].pop_last();
            self.end -= 1 << last;
        }
    }

    /// Gives up the highest of the free ranges that are kept, if they are too many, or all of them.
    pub(super) fn drop_kept(&mut self, all: bool) -> Vec<Dropped> {
        let most = if all { 0 } else { (self.used / KEPT_SHARE).max(KEPT) };
        let mut dropped = Vec::new();
        while self.kept_units > most
            && let Some((place, units)) = self.kept.pop_last()
        {
            self.kept_units -= u64::from(units);
            dropped.push((place, units));
        }
        assert!(!all || self.kept_units == 0, "the kept ranges have the units that are counted");
        dropped
    }

    /// The power of two of a free extent at the end.
    fn ends_free(&self) -> Option<usize> {
        let ends = |(order, places): (usize, &BTreeSet<u32>)| {
            places.last().is_some_and(|place| place + (1 << order) == self.end)
        };
        (0..32).zip(&self.free).position(ends)
    }

    /// Cuts a free range into extents.
    fn put_free(&mut self, mut from: u32, to: u32) {
        while from < to {
            let order = from.trailing_zeros().min((to - from).ilog2());
            self.free[order as usize].insert(from);
            from += 1 << order;
        }
    }

    /// A range that is in use is not kept any more.
    fn forget(&mut self, place: u32, units: u32) {
        let end = place + units;
        let before = self.kept.range(..end).rev();
        let over: Vec<(u32, u32)> = before
            .take_while(|&(&from, &units)| from + units > place)
            .map(|(&from, &units)| (from, units))
            .collect();
        for (from, units) in over {
            self.kept.remove(&from);
            self.kept_units -= u64::from(units);
            for (from, to) in [(from, place), (end, from + units)] {
                if from < to {
                    self.kept.insert(from, to - from);
                    self.kept_units += u64::from(to - from);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_rng::FaultRng;

    #[test]
    fn the_extents_of_a_zone_follow_each_other() {
        let mut at = 0;
        for extent in 0..20 {
            let (number, begins, bytes) = extent_of(at);
            assert_eq!((number, begins, extents_for(at)), (extent, at, extent));
            assert_eq!(begin_of(extent), at);
            assert_eq!(extent_of(at + bytes - 1), (extent, at, bytes));
            assert_eq!(bytes, UNIT << order_of(extent));
            at += bytes;
        }
    }

    #[test]
    fn extents_never_overlap_and_the_end_follows_the_last_one() {
        for seed in 0..50 {
            let mut chance = FaultRng::new(seed);
            let mut space = Space::default();
            let mut used: Vec<(u32, usize)> = Vec::new();
            for _ in 0..400 {
                if used.is_empty() || chance.one_in(2) {
                    let extent = chance.up_to(7) as usize;
                    used.push((space.take(extent).unwrap(), extent));
                } else {
                    let which = chance.up_to(used.len() as u64 - 1) as usize;
                    let (place, extent) = used.swap_remove(which);
                    space.give_back(place, extent);
                }
                // The places of a file that is opened again are those that were in use.
                let again = Space::new(used.iter().copied()).expect("two extents overlap");
                assert_eq!((again.end, again.used), (space.end, space.used));
                assert_eq!(again.free, space.free, "{seed}");
                let end = used.iter().map(|&(place, extent)| place + (1 << order_of(extent)));
                assert_eq!(space.end, end.max().unwrap_or(0));
                let units: u64 = space.kept.values().map(|&units| u64::from(units)).sum();
                assert_eq!(units, space.kept_units);
            }
            space.drop_kept(false);
            assert!(space.kept_units <= (space.used / KEPT_SHARE).max(KEPT));
            used.drain(..).for_each(|(place, extent)| space.give_back(place, extent));
            space.drop_kept(true);
            assert_eq!((space.end, space.used, space.units()), (0, 0, 0));
        }
    }

    #[test]
    fn impossible_extents_are_refused() {
        assert!(Space::new([(0, 0), (0, 0)].into_iter()).is_none());
        assert!(Space::new([(1, 2)].into_iter()).is_none());
        assert!(Space::new([(u32::MAX, 0)].into_iter()).is_none());
        assert!(Space::new([(0, 40)].into_iter()).is_none());
        assert!(Space::new([(2, 2), (1, 0)].into_iter()).is_some());
    }
}
