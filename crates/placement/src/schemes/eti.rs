//! ETI, extent-based temperature identification: user writes by how often their extent was
//! written, over extents that split and merge with the requests. Shafaei, Desnoyers and
//! Fitzpatrick, "Write Amplification Reduction in Flash-Based SSDs Through Extent-Based
//! Temperature Identification", HotStorage'16, as SepBIT (FAST'22, section 4.1) uses it: two
//! classes for user writes, one for relocations.
//!
//! The address space is one extent at first. A request adds 1 to the count of every extent that it
//! covers. An extent that it covers in part is split, and the covered part counts, as long as there
//! are fewer than 1,024 extents. Counts end at 15. At every 4,096th request all counts are halved,
//! and neighbours that are both cold (below 4), or equally hot, become one. A user write goes to
//! class 0 if its extent's count is 4 or more, else to class 1; relocations go to class 2.
//!
//! A merged extent takes the mean of both counts, weighted by length and rounded; in the authors'
//! simulator it keeps the count of the first. There, a split into three is made even if it leads to
//! 1,025 extents, and the last extent reaches 1,024 pages beyond the last page.

use crate::{
    BuildError, Info, Params, Relocation, Request, Scheme, Semantics, Setup, UserWrite, Wants,
    ZoneEvent,
};

/// The most extents.
const EXTENTS: usize = 1024;
/// Requests between two decays.
const PERIOD: u32 = 4096;
/// The largest count.
const MOST: u8 = 15;
/// The least count of a hot extent.
const HOT: u8 = 4;

/// User writes by the temperature of extents.
#[derive(Debug)]
pub struct Eti {
    /// First page of each extent, ascending.
    starts: Vec<u32>,
    counts: Vec<u8>,
    /// First page after the last extent.
    end: u32,
    /// Requests since the last decay.
    requests: u32,
    /// The extent of the last look-up: its first page, its length and its class.
    current: (u32, u32, usize),
    fast22: bool,
}

impl Scheme for Eti {
    type Page = ();
    const INFO: Info = Info {
        name: "eti",
        summary: "user writes by write counts of extents that split and merge, relocations apart",
        source: "Shafaei et al., HotStorage 2016; SepBIT, FAST 2022, section 4.1",
        params: &[],
    };
    const WANTS: Wants = Wants { requests: true, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        let fast22 = setup.semantics == Semantics::SepbitFast22;
        let end = setup.space.saturating_add(if fast22 { 1024 } else { 0 });
        let (mut starts, mut counts) =
            (Vec::with_capacity(EXTENTS + 1), Vec::with_capacity(EXTENTS + 1));
        starts.push(0);
        counts.push(0);
        Ok(Eti { starts, counts, end, requests: 0, current: (0, end, 1), fast22 })
    }

    fn classes(&self) -> usize {
        3
    }

    #[inline(always)]
    fn on_request(&mut self, request: &Request) {
        self.requests += 1;
        if self.requests == PERIOD {
            self.requests = 0;
            self.decay();
        }
        if request.lba < self.end {
            self.touch(request.lba, request.lba.saturating_add(request.pages).min(self.end));
        }
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        if write.lba.wrapping_sub(self.current.0) >= self.current.1 {
            self.look_up(self.find(write.lba));
        }
        self.current.2
    }

    #[inline(always)]
    fn destination(&self, _: &ZoneEvent) -> Option<usize> {
        Some(2)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, (): &mut ()) -> usize {
        2
    }

    fn bytes(&self) -> usize {
        self.starts.capacity() * 4 + self.counts.capacity()
    }
}

impl Eti {
    /// The extent of a page.
    #[inline(always)]
    fn find(&self, lba: u32) -> usize {
        debug_assert!(self.starts[0] == 0 && lba < self.end, "an extent has each page");
        self.starts.partition_point(|&start| start <= lba) - 1
    }

    #[inline(always)]
    fn end_of(&self, extent: usize) -> u32 {
        self.starts.get(extent + 1).copied().unwrap_or(self.end)
    }

    #[inline(always)]
    fn look_up(&mut self, extent: usize) {
        let start = self.starts[extent];
        let class = usize::from(self.counts[extent] < HOT);
        self.current = (start, self.end_of(extent) - start, class);
    }

    /// Counts a request of the pages from `from` up to, not including, `to`.
    #[inline(always)]
    fn touch(&mut self, from: u32, to: u32) {
        let mut extent = self.find(from);
        let mut of_first = extent;
        while extent < self.starts.len() && self.starts[extent] < to {
            let (start, end) = (self.starts[extent], self.end_of(extent));
            let (first, after) = (start.max(from), end.min(to));
            let count = self.counts[extent];
            if count < MOST {
                if first == start && after == end {
                    self.counts[extent] += 1;
                } else {
                    let parts = 1 + usize::from(first > start) + usize::from(after < end);
                    let room = if self.fast22 { 1 } else { parts - 1 };
                    if self.starts.len() + room <= EXTENTS {
                        extent = self.split(extent, first, after);
                        of_first = if first == from { extent } else { of_first };
                    }
                }
            }
            extent += 1;
        }
        self.look_up(of_first);
    }

    /// Splits off the pages from `first` up to, not including, `after`, with one count more;
    /// returns their extent.
    #[cold]
    fn split(&mut self, extent: usize, first: u32, after: u32) -> usize {
        let (end, count) = (self.end_of(extent), self.counts[extent]);
        assert!(
            self.starts[extent] <= first && first < after && after <= end,
            "an extent is split within"
        );
        let part = extent + usize::from(first > self.starts[extent]);
        let added = part - extent + usize::from(after < end);
        // Makes room for both new extents at once: the rest of the table moves only once.
        let len = self.starts.len();
        self.starts.resize(len + added, 0);
        self.starts.copy_within(extent + 1..len, extent + 1 + added);
        self.counts.resize(len + added, 0);
        self.counts.copy_within(extent + 1..len, extent + 1 + added);
        self.starts[part] = first;
        self.counts[part] = count + 1;
        if after < end {
            self.starts[part + 1] = after;
            self.counts[part + 1] = count;
        }
        assert_eq!(self.starts.len(), self.counts.len(), "each extent has a count");
        debug_assert!(self.starts.is_sorted_by(|a, b| a < b), "an extent is searched by its start");
        part
    }

    /// Halves all counts and merges neighbours.
    #[cold]
    fn decay(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
        let mut kept = 0;
        for i in 1..self.starts.len() {
            let (a, b) = (self.counts[kept], self.counts[i]);
            if a < HOT && b < HOT || a == b {
                if !self.fast22 {
                    let (start, middle) = (self.starts[kept], self.starts[i]);
                    self.counts[kept] = mean(a, middle - start, b, self.end_of(i) - middle);
                }
            } else {
                kept += 1;
                self.starts[kept] = self.starts[i];
                self.counts[kept] = b;
            }
        }
        self.starts.truncate(kept + 1);
        self.counts.truncate(kept + 1);
    }
}

/// The mean of two counts weighted by length, rounded half up.
fn mean(a: u8, a_pages: u32, b: u8, b_pages: u32) -> u8 {
    let pages = u64::from(a_pages) + u64::from(b_pages);
    let sum = u64::from(a) * u64::from(a_pages) + u64::from(b) * u64::from(b_pages);
    ((2 * sum + pages) / (2 * pages).max(1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(semantics: Semantics, space: u32) -> Eti {
        let setup = Setup { semantics, ..Setup::new(10, space) };
        Eti::build(&setup, &mut Params::default()).unwrap()
    }

    fn request(scheme: &mut Eti, lba: u32, pages: u32) {
        scheme.on_request(&Request { lba, pages, now: 0, valid: 0 });
    }

    fn class(scheme: &mut Eti, lba: u32) -> usize {
        let write = UserWrite::first(lba, 1);
        scheme.place_user(&write, &mut ())
    }

    fn extents(scheme: &Eti) -> Vec<(u32, u8)> {
        scheme.starts.iter().copied().zip(scheme.counts.iter().copied()).collect()
    }

    #[test]
    fn requests_split_extents_and_count_what_they_cover() {
        let mut scheme = scheme(Semantics::Published, 100);
        request(&mut scheme, 10, 10);
        assert_eq!(extents(&scheme), [(0, 0), (10, 1), (20, 0)]);
        request(&mut scheme, 15, 10);
        assert_eq!(extents(&scheme), [(0, 0), (10, 1), (15, 2), (20, 1), (25, 0)]);
        request(&mut scheme, 0, 100);
        assert_eq!(extents(&scheme), [(0, 1), (10, 2), (15, 3), (20, 2), (25, 1)]);
        request(&mut scheme, 12, 8);
        assert_eq!(class(&mut scheme, 15), 0, "count 4");
        assert_eq!(class(&mut scheme, 13), 1, "count 3");
        assert_eq!(class(&mut scheme, 99), 1);
    }

    #[test]
    fn a_count_of_15_is_left_alone_and_not_split() {
        let mut scheme = scheme(Semantics::Published, 100);
        for _ in 0..20 {
            request(&mut scheme, 0, 100);
        }
        request(&mut scheme, 5, 5);
        assert_eq!(extents(&scheme), [(0, 15)]);
    }

    #[test]
    fn decay_halves_and_merges_the_cold_and_the_equal() {
        let rows = [(0u32, 6u8), (10, 0), (40, 8), (50, 9), (60, 12)];
        for (semantics, first) in [(Semantics::SepbitFast22, 3), (Semantics::Published, 1)] {
            let mut scheme = scheme(semantics, 100);
            (scheme.starts, scheme.counts) = rows.into_iter().unzip();
            scheme.decay();
            // A count of 3 on 10 pages and one of 0 on 30 have a mean of 0.75.
            assert_eq!(extents(&scheme), [(0, first), (40, 4), (60, 6)]);
        }
        assert_eq!([mean(1, 1, 2, 1), mean(3, 10, 0, 30), mean(3, 1, 0, 9)], [2, 1, 0]);
    }

    #[test]
    fn the_4096th_request_decays_before_it_counts() {
        let mut scheme = scheme(Semantics::Published, 100);
        for _ in 0..4095 {
            request(&mut scheme, 0, 100);
        }
        assert_eq!(extents(&scheme), [(0, 15)]);
        request(&mut scheme, 0, 100);
        assert_eq!(extents(&scheme), [(0, 8)]);
    }

    #[test]
    fn a_full_table_splits_no_more_but_the_simulator_may_exceed_it_by_one() {
        for (semantics, most) in [(Semantics::Published, 1023), (Semantics::SepbitFast22, 1025)] {
            let mut scheme = scheme(semantics, 10_000);
            for i in 0..600 {
                request(&mut scheme, 10 * i + 5, 1);
            }
            assert_eq!(scheme.starts.len(), most);
            assert!(scheme.starts.is_sorted() && scheme.starts.capacity() <= EXTENTS + 1);
            assert_eq!(scheme.counts[scheme.find(5990)], 0, "nothing changed");
        }
    }

    #[test]
    fn a_request_beyond_the_extents_is_cut_off() {
        let mut scheme = scheme(Semantics::Published, 100);
        request(&mut scheme, 90, 50);
        request(&mut scheme, 150, u32::MAX);
        assert_eq!(extents(&scheme), [(0, 0), (90, 1)]);
    }
}
