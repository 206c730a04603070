//! SFR, sequentiality, frequency and recency: user writes by a count of their chunk that decays,
//! sequential ones together with what came before. The SFR algorithm of AutoStream: Yang,
//! Pandurangan, Choi and Balakrishnan, "AutoStream: Automatic Stream Management for Multi-Streamed
//! SSDs", SYSTOR'17, as SepBIT (FAST'22, section 4.1) uses it, with five classes for user writes
//! and one for relocations.
//!
//! Chunks are of 512 pages (2 MiB). A request halves the counts of the chunks it touches once for
//! every 16,384 user writes since their last touch, and adds 1. A page goes to class
//! floor(ln(count)) of its chunk, or to the last class of user writes. But if its request starts
//! where the previous one ended, the page goes to the class of the last page that was not
//! sequential. Relocations go to the last class. SepBIT's description does not say that only whole
//! halvings count, that counts are whole numbers and that time is user writes; the authors'
//! simulator does it so, and so do we.

use crate::clock::Clock;
use crate::log_class::LogClass;
use crate::{
    BuildError, Info, Param, Params, Relocation, Request, Scheme, Setup, UserWrite, Wants,
    ZoneEvent,
};

/// Pages in a chunk, as a power of two.
const CHUNK_SHIFT: u32 = 9;

/// User writes by sequentiality, frequency and recency.
#[derive(Debug)]
pub struct Sfr {
    clock: Clock,
    classes: usize,
    half_life: u64,
    class_of: LogClass,
    chunks: Vec<TouchedChunk>,
    /// The end of the last request.
    next: u32,
    /// True if the present request starts where the last one ended.
    sequential: bool,
    /// Class of the last page that was not sequential.
    class: u8,
}

#[derive(Clone, Copy, Debug, Default)]
struct TouchedChunk {
    touched: u64,
    count: u32,
    class: u8,
}

impl Scheme for Sfr {
    type Page = ();
    const INFO: Info = Info {
        name: "sfr",
        summary: "user writes by sequentiality, frequency and recency of their chunk",
        source: "Yang et al., SYSTOR 2017; SepBIT, FAST 2022, section 4.1",
        params: &[
            Param::whole("classes", 6, 2..=64, "the last takes relocations"),
            Param::whole(
                "half-life",
                16384,
                1..=1 << 40,
                "user writes in which an untouched chunk's count halves",
            ),
        ],
    };
    const WANTS: Wants = Wants { requests: true, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        let half_life = params.whole(Self::INFO.params, "half-life")?;
        Ok(Sfr {
            clock: Clock::default(),
            classes,
            half_life,
            class_of: LogClass::new(classes - 2),
            chunks: vec![TouchedChunk::default(); (setup.space >> CHUNK_SHIFT) as usize + 1],
            next: 0,
            sequential: false,
            class: 0,
        })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    #[inline(always)]
    fn on_request(&mut self, request: &Request) {
        let now = self.clock.writes(request.now);
        let end = request.lba.saturating_add(request.pages);
        let last = (end.saturating_sub(1) >> CHUNK_SHIFT) as usize;
        let last = last.min(self.chunks.len() - 1);
        for id in (request.lba >> CHUNK_SHIFT) as usize..=last {
            let chunk = &mut self.chunks[id];
            debug_assert!(chunk.touched <= now, "time goes on");
            let halvings = u32::try_from((now - chunk.touched) / self.half_life);
            let count = halvings.ok().and_then(|n| chunk.count.checked_shr(n)).unwrap_or(0);
            let count = count.saturating_add(1);
            *chunk = TouchedChunk { touched: now, count, class: self.class_of.of(count) };
        }
        self.sequential = request.lba == self.next;
        self.next = end;
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        if !self.sequential {
            self.class = self.chunks[(write.lba >> CHUNK_SHIFT) as usize].class;
        }
        usize::from(self.class)
    }

    #[inline(always)]
    fn destination(&self, _: &ZoneEvent) -> Option<usize> {
        Some(self.classes - 1)
    }

    #[inline(always)]
    fn place_relocation(&mut self, _: &Relocation, (): &mut ()) -> usize {
        self.classes - 1
    }

    fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<TouchedChunk>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(params: &str) -> Sfr {
        let (_, mut params) = Params::parse(params).unwrap();
        Sfr::build(&Setup::new(10, 10 << CHUNK_SHIFT), &mut params).unwrap()
    }

    /// A request after `now` writes; returns the classes of its first and last page.
    fn request(scheme: &mut Sfr, lba: u32, pages: u32, now: u32) -> (usize, usize) {
        scheme.on_request(&Request { lba, pages, now, valid: 0 });
        let classes: Vec<usize> = (0..pages)
            .map(|i| {
                let write = UserWrite::first(lba + i, now + i + 1);
                scheme.place_user(&write, &mut ())
            })
            .collect();
        (classes[0], classes[classes.len() - 1])
    }

    #[test]
    fn the_class_is_the_logarithm_of_the_chunks_count() {
        let mut scheme = scheme("sfr");
        let classes: Vec<usize> = (0..60).map(|now| request(&mut scheme, 9, 1, now).0).collect();
        let steps = [1, 2, 3, 8, 21, 55].map(|count: usize| classes[count - 1]);
        assert_eq!(steps, [0, 0, 1, 2, 3, 4]);
    }

    #[test]
    fn counts_halve_with_every_whole_half_life() {
        let mut scheme = scheme("sfr");
        for _ in 0..11 {
            request(&mut scheme, 9, 1, 0);
        }
        request(&mut scheme, 9, 1, 16_383);
        assert_eq!(scheme.chunks[0].count, 12, "not yet a half-life");
        request(&mut scheme, 9, 1, 16_383 + 16_384);
        assert_eq!(scheme.chunks[0].count, 7, "6 and 1");
        request(&mut scheme, 9, 1, 16_383 + 3 * 16_384);
        assert_eq!(scheme.chunks[0].count, 2, "1.75 is cut to 1, and 1");
        request(&mut scheme, 9, 1, u32::MAX - 5);
        assert_eq!(scheme.chunks[0].count, 1, "more halvings than bits");
    }

    #[test]
    fn sequential_requests_take_the_class_of_the_last_page_that_was_not() {
        let mut scheme = scheme("sfr:half-life=1000000");
        for now in 0..3 {
            request(&mut scheme, 9, 1, now);
        }
        assert_eq!(scheme.class, 1);
        assert_eq!(request(&mut scheme, 10, 2000, 3), (1, 1), "the chunks' own are 1 and 0");
        assert_eq!(request(&mut scheme, 2010, 1, 2003).0, 1);
        assert_eq!(request(&mut scheme, 2009, 1, 2004).0, 1, "count 3");
        assert_eq!(request(&mut scheme, 4000, 1, 2005).0, 0, "count 1");
        let mut fresh = super::tests::scheme("sfr");
        fresh.chunks[0].count = 50;
        assert_eq!(request(&mut fresh, 0, 1, 0).0, 0, "the first page seems to be sequential");
    }

    #[test]
    fn a_request_over_two_chunks_counts_in_both() {
        let mut scheme = scheme("sfr");
        for _ in 0..2 {
            request(&mut scheme, 1, 1, 0);
        }
        assert_eq!(request(&mut scheme, 511, 2, 2), (1, 0));
        let counts = [0, 1, 2].map(|i| scheme.chunks[i].count);
        assert_eq!(counts, [3, 1, 0]);
        scheme.on_request(&Request { lba: 5119, pages: u32::MAX, now: 4, valid: 0 });
        assert_eq!(scheme.chunks[9].count, 1);
    }
}
