//! The past of a page as a block layer sees it: how often and when it was written, and in what
//! requests. It replaces the [`Hotness`](crate::Hotness) record where no engine gives one.

use bytemuck::{Pod, Zeroable};

use crate::page::{PageState, Stamp};

/// Steps that a remembered lifespan has for each doubling.
const STEPS: f32 = 8.0;

/// log2(1 + `x`), at most 0.09 too small, exact where the result is a whole number, and never
/// falling as `x` rises: the logarithm read from a float's bits (Mitchell, IRE Transactions on
/// Electronic Computers EC-11, 1962). For models that were trained with it.
#[inline(always)]
pub fn log2_1p(x: u32) -> f32 {
    let above_one = (x as f32 + 1.0).to_bits() - 1f32.to_bits();
    above_one as i32 as f32 * (1.0 / (1 << 23) as f32)
}

/// The requests that write a volume, one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Requests {
    /// The LBA behind the last request.
    end: u32,
    /// The shape of the last request. Low three bits: log2 of its pages; next bit: set if it
    /// continued the request before.
    shape: u16,
}

impl Requests {
    /// A request of `pages` pages from `lba` on begins.
    #[inline]
    pub fn begin(&mut self, lba: u32, pages: u32) {
        let sequential = u16::from(lba == self.end) << 3;
        self.shape = pages.max(1).ilog2().min(7) as u16 | sequential;
        debug_assert!(self.shape < 1 << 4, "a shape has four bits");
        self.end = lba.wrapping_add(pages);
    }
}

/// The page's last four writes, in twelve bytes. All zeroes is the state of a page that was never
/// written, or was trimmed.
///
/// Writes are counted back from the newest, which is write 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Past {
    last: Stamp,
    /// One byte for each version that ended, the newest in the lowest byte: the logarithm of its
    /// lifespan in steps.
    lifespans: u32,
    writes: u16,
    /// Four bits for each write, the newest in the lowest bits: the shape of its request.
    requests: u16,
}
const _: () = {
    assert!(size_of::<Past>() == 12, "a past takes twelve bytes of each page");
    assert!(Past::HISTORY * 4 <= u16::BITS as usize, "each write has a shape");
    assert!((Past::HISTORY - 1) * 8 <= u32::BITS as usize, "each version has a lifespan");
};

impl Past {
    /// Writes that a `Past` remembers.
    pub const HISTORY: usize = 4;

    /// The page is written at time `now`, by the last request that `requests` has seen.
    #[inline(always)]
    pub fn write(&mut self, now: u32, requests: &Requests) {
        if self.writes > 0 {
            let steps = (log2_1p(self.last.age(now)) * STEPS) as u32;
            self.lifespans = self.lifespans << 8 | steps.min(255);
        }
        self.last = Stamp::at(now);
        self.writes = self.writes.saturating_add(1);
        self.requests = self.requests << 4 | requests.shape;
    }

    /// User writes since the page was written.
    #[inline(always)]
    pub fn age(&self, now: u32) -> u32 {
        self.last.age(now)
    }

    /// Writes of the page, at most 65,535.
    #[inline(always)]
    pub fn writes(&self) -> u32 {
        u32::from(self.writes)
    }

    /// [`log2_1p`] of the lifespan of the version that write `back` wrote, `back` from 1 to 3, to
    /// an eighth; 0 if there was no such version.
    #[inline(always)]
    pub fn lifespan(&self, back: usize) -> f32 {
        debug_assert!((1..Self::HISTORY).contains(&back), "a version that is remembered");
        (self.lifespans >> (8 * (back - 1)) & 0xff) as f32 * (1.0 / STEPS)
    }

    /// log2 of the pages of the request of write `back`, from 0 to 3, rounded down; at most 7.
    #[inline(always)]
    pub fn request(&self, back: usize) -> f32 {
        debug_assert!(back < Self::HISTORY, "a write that is remembered");
        f32::from(self.requests >> (4 * back) & 7)
    }

    /// True if the request of write `back`, from 0 to 3, continued the request before it.
    #[inline(always)]
    pub fn sequential(&self, back: usize) -> bool {
        debug_assert!(back < Self::HISTORY, "a write that is remembered");
        self.requests >> (4 * back + 3) & 1 == 1
    }
}

/// The pasts of several pages side by side, for vector instructions. Each method of [`Past`] is
/// here for all pages at once.
#[derive(Clone, Copy, Debug)]
pub struct Pasts<const N: usize> {
    last: [Stamp; N],
    lifespans: [u32; N],
    writes: [u32; N],
    requests: [u32; N],
}

impl<const N: usize> Pasts<N> {
    /// The pasts of up to `N` pages; missing ones stand for pages that were never written.
    #[inline(always)]
    pub fn new(pasts: &[Past]) -> Self {
        let last = [Stamp::default(); N];
        let mut all = Pasts { last, lifespans: [0; N], writes: [0; N], requests: [0; N] };
        for (i, past) in pasts.iter().enumerate().take(N) {
            all.last[i] = past.last;
            all.lifespans[i] = past.lifespans;
            all.writes[i] = u32::from(past.writes);
            all.requests[i] = u32::from(past.requests);
        }
        all
    }

    /// [`log2_1p`] of the ages.
    #[inline(always)]
    pub fn ages(&self, now: u32) -> [f32; N] {
        self.last.map(|last| log2_1p(last.age(now)))
    }

    /// [`log2_1p`] of the writes.
    #[inline(always)]
    pub fn writes(&self) -> [f32; N] {
        self.writes.map(log2_1p)
    }

    /// See [`Past::lifespan`].
    #[inline(always)]
    pub fn lifespans(&self, back: usize) -> [f32; N] {
        self.lifespans.map(|all| (all >> (8 * (back - 1)) & 0xff) as i32 as f32 * (1.0 / STEPS))
    }

    /// See [`Past::request`].
    #[inline(always)]
    pub fn requests(&self, back: usize) -> [f32; N] {
        self.requests.map(|all| (all >> (4 * back) & 7) as i32 as f32)
    }

    /// See [`Past::sequential`].
    #[inline(always)]
    pub fn sequential(&self, back: usize) -> [f32; N] {
        self.requests.map(|all| (all >> (4 * back + 3) & 1) as i32 as f32)
    }
}

impl PageState for Past {
    fn clamp(&mut self, now: u32) {
        self.last.clamp(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_rises_and_is_close() {
        let mut before = -1.0;
        for x in (0..32).flat_map(|shift| [(1u32 << shift) - 1, 1 << shift, 3 << shift >> 1]) {
            let (found, exact) = (log2_1p(x), (f64::from(x) + 1.0).log2() as f32);
            assert!(found <= exact + 1e-6 && found > exact - 0.09, "{x}: {found} {exact}");
            if x.wrapping_add(1).is_power_of_two() {
                assert!(found >= before, "{x}");
                before = found;
            }
        }
        assert_eq!((log2_1p(0), log2_1p(1), log2_1p(1023), log2_1p(u32::MAX)), (0., 1., 10., 32.));
    }

    #[test]
    fn four_writes_are_remembered_newest_first() {
        let (mut past, mut requests) = (Past::default(), Requests::default());
        for (now, lba, pages) in [(5, 90, 1), (6, 40, 4), (9, 44, 300), (24, 7, 2), (87, 9, 8)] {
            requests.begin(lba, pages);
            past.write(now, &requests);
        }
        assert_eq!((past.age(90), past.writes()), (3, 5));
        assert_eq!([1, 2, 3].map(|back| past.lifespan(back)), [6.0, 4.0, 2.0]);
        assert_eq!([0, 1, 2, 3].map(|back| past.request(back)), [3.0, 1.0, 7.0, 2.0]);
        assert_eq!([0, 1, 2, 3].map(|back| past.sequential(back)), [true, false, true, false]);
    }

    #[test]
    fn pasts_side_by_side_tell_what_each_tells() {
        let (mut pasts, mut requests) = (vec![Past::default(); 3], Requests::default());
        for now in 1..60u32 {
            requests.begin(now * 7 % 11, now % 9);
            pasts[now as usize % 3].write(now * now, &requests);
        }
        let all = Pasts::<4>::new(&pasts);
        for (i, past) in pasts.iter().enumerate() {
            assert_eq!(all.ages(5000)[i], log2_1p(past.age(5000)));
            assert_eq!(all.writes()[i], log2_1p(past.writes()));
            for back in 0..Past::HISTORY {
                assert_eq!(all.requests(back)[i], past.request(back));
                assert_eq!(all.sequential(back)[i], f32::from(u8::from(past.sequential(back))));
            }
            assert!((1..Past::HISTORY).all(|back| all.lifespans(back)[i] == past.lifespan(back)));
        }
        assert_eq!((all.writes()[3], all.lifespans(1)[3]), (0.0, 0.0));
    }

    #[test]
    fn the_longest_lifespan_and_the_most_writes_saturate() {
        let (mut past, requests) = (Past::default(), Requests::default());
        past.write(1, &requests);
        past.write(0, &requests);
        assert_eq!(past.lifespan(1), 255.0 / 8.0);
        (0..70_000).for_each(|now| past.write(now, &requests));
        assert_eq!(past.writes(), 65_535);
        assert_eq!(size_of::<Past>(), 12);
    }
}
