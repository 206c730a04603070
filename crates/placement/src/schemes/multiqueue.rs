//! MultiQueue: user writes by how often their chunk is written, with queues through which idle
//! chunks sink. The Multi-Q algorithm of AutoStream: Yang, Pandurangan, Choi and Balakrishnan,
//! "AutoStream: Automatic Stream Management for Multi-Streamed SSDs", SYSTOR'17, as SepBIT
//! (FAST'22, section 4.1) uses it, with five classes for user writes and one for relocations.
//!
//! Chunks are of 256 pages (1 MiB). Every request adds 1 to the counts of the chunks it touches; a
//! chunk with count c belongs to queue floor(ln(c)), or to the last queue, and its touch puts it at
//! the queue's end. A chunk expires when it was not touched for a lifetime, which is the interval
//! between the last two touches of the hottest chunk, that with the highest count. At every touch
//! the head of each queue is looked at; an expired head moves to the end of the next lower queue,
//! with a new lease. A request's pages go to the class of the queue in which it *finds* their
//! chunk, before the touch puts it where its count belongs. So an idle chunk that comes back is
//! classed once by the queue that it sank to. Relocations go to the last class.
//!
//! SepBIT's description doesn't say what a touch does to a chunk that has sunk, nor whether the
//! class is read before or after the touch. If the touch puts the chunk back first, as it does in
//! the authors' simulator, sinking never shows in the placement. When the hottest chunk itself
//! expires, the search for the hottest starts over with the next touch. Time is user writes.

use crate::clock::Clock;
use crate::log_class::LogClass;
use crate::{
    BuildError, Info, Param, Params, Relocation, Request, Scheme, Semantics, Setup, UserWrite,
    Wants, ZoneEvent,
};

/// Pages in a chunk, as a power of two.
const CHUNK_SHIFT: u32 = 8;
/// Stands for "no chunk".
const NONE: u32 = u32::MAX;

/// User writes by frequency of their chunk, idle chunks sinking.
#[derive(Debug)]
pub struct MultiQueue {
    classes: usize,
    level_of: LogClass,
    chunks: Vec<QueuedChunk>,
    /// `None` in the simulator's reading, where queues change nothing.
    queues: Option<Queues>,
}

/// A chunk of LBAs, in 32 bytes, so that two share a cache line.
#[derive(Clone, Copy, Debug)]
struct QueuedChunk {
    /// Requests that touched it.
    count: u32,
    /// Neighbours in the queue.
    previous: u32,
    next: u32,
    /// Its queue.
    level: u8,
    /// Class of the pages of the request that touched it last.
    class: u8,
    touched: u64,
    expires: u64,
}

const _: () = assert!(size_of::<QueuedChunk>() == 32, "two chunks share a cache line");
const UNTOUCHED: QueuedChunk = QueuedChunk {
    count: 0,
    previous: NONE,
    next: NONE,
    level: 0,
    class: 0,
    touched: 0,
    expires: 0,
};

/// Lists of the chunks of each level, in the order in which they came there. Level 0 needs no list,
/// because nothing sinks below it.
#[derive(Debug)]
struct Queues {
    clock: Clock,
    ends: Vec<Ends>,
    /// The chunk with the highest count, and the count.
    hottest: (u32, u32),
    /// Interval between the last two touches of the hottest chunk.
    lifetime: u64,
}

/// First and last chunk of a queue.
#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
}

impl Scheme for MultiQueue {
    type Page = ();
    const INFO: Info = Info {
        name: "multiqueue",
        summary: "user writes by write count of their chunk, idle chunks sinking",
        source: "Yang et al., SYSTOR 2017; SepBIT, FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=64, "the last takes relocations")],
    };
    const WANTS: Wants = Wants { requests: true, ..Wants::NOTHING };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        let queues = (setup.semantics == Semantics::Published).then(|| Queues {
            clock: Clock::default(),
            ends: vec![Ends { head: NONE, tail: NONE }; classes - 1],
            hottest: (NONE, 0),
            lifetime: 0,
        });
        let chunks = (setup.space >> CHUNK_SHIFT) as usize + 1;
        Ok(MultiQueue {
            classes,
            level_of: LogClass::new(classes - 2),
            chunks: vec![UNTOUCHED; chunks],
            queues,
        })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    #[inline(always)]
    fn on_request(&mut self, request: &Request) {
        let last = request.lba.saturating_add(request.pages.saturating_sub(1)) >> CHUNK_SHIFT;
        let last = (last as usize).min(self.chunks.len() - 1) as u32;
        for id in request.lba >> CHUNK_SHIFT..=last {
            let chunk = &mut self.chunks[id as usize];
            chunk.count = chunk.count.saturating_add(1);
            let level = self.level_of.of(chunk.count);
            match &mut self.queues {
                None => chunk.class = level,
                Some(queues) => {
                    let now = queues.clock.writes(request.now);
                    chunk.class = chunk.level;
                    queues.touch(&mut self.chunks, id, level, now);
                    queues.sink(&mut self.chunks, now);
                }
            }
        }
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        usize::from(self.chunks[(write.lba >> CHUNK_SHIFT) as usize].class)
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
        self.chunks.capacity() * size_of::<QueuedChunk>()
    }
}

impl Queues {
    /// A request touched a chunk, whose count belongs to `level`.
    #[inline(always)]
    fn touch(&mut self, chunks: &mut [QueuedChunk], id: u32, level: u8, now: u64) {
        let chunk = &mut chunks[id as usize];
        if chunk.count > self.hottest.1 {
            self.hottest = (id, chunk.count);
            debug_assert!(chunk.touched <= now, "time goes on");
            self.lifetime = now - chunk.touched;
        }
        chunk.touched = now;
        self.renew(chunks, id, level, now);
    }

    /// Demotes the head of each queue by one, if it has expired.
    #[inline(always)]
    fn sink(&mut self, chunks: &mut [QueuedChunk], now: u64) {
        for level in 1..self.ends.len() {
            let head = self.ends[level].head;
            if head != NONE && chunks[head as usize].expires < now {
                if head == self.hottest.0 {
                    self.hottest = (NONE, 0);
                }
                self.renew(chunks, head, level as u8 - 1, now);
            }
        }
    }

    /// Moves a chunk to the end of a queue, with a new lease.
    #[inline(always)]
    fn renew(&mut self, chunks: &mut [QueuedChunk], id: u32, level: u8, now: u64) {
        let QueuedChunk { previous, next, level: from, .. } = chunks[id as usize];
        if from > 0 {
            let ends = &mut self.ends[usize::from(from)];
            match previous {
                NONE => {
                    debug_assert_eq!(ends.head, id, "a chunk behind no other is the head");
                    ends.head = next;
                }
                p => chunks[p as usize].next = next,
            }
            match next {
                NONE => {
                    debug_assert_eq!(ends.tail, id, "a chunk before no other is the tail");
                    ends.tail = previous;
                }
                n => chunks[n as usize].previous = previous,
            }
        }
        let mut previous = NONE;
        if level > 0 {
            let ends = &mut self.ends[usize::from(level)];
            previous = std::mem::replace(&mut ends.tail, id);
            match previous {
                NONE => ends.head = id,
                p => chunks[p as usize].next = id,
            }
        }
        let expires = now + self.lifetime;
        chunks[id as usize] =
            QueuedChunk { previous, next: NONE, level, expires, ..chunks[id as usize] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheme(semantics: Semantics) -> MultiQueue {
        let (_, mut params) = Params::parse("multiqueue").unwrap();
        let setup = Setup { semantics, ..Setup::new(10, 100 << CHUNK_SHIFT) };
        MultiQueue::build(&setup, &mut params).unwrap()
    }

    /// A request of one page to a chunk; returns the class of the page.
    fn write(scheme: &mut MultiQueue, chunk: u32, now: u32) -> usize {
        let lba = chunk << CHUNK_SHIFT;
        scheme.on_request(&Request { lba, pages: 1, now, valid: 0 });
        usize::from(scheme.chunks[chunk as usize].class)
    }

    /// The chunks of each queue from head to tail, checking the links.
    fn queues(scheme: &MultiQueue) -> Vec<Vec<u32>> {
        let queues = scheme.queues.as_ref().unwrap();
        let list = |(level, ends): (usize, &Ends)| {
            let (mut ids, mut previous, mut id) = (Vec::new(), NONE, ends.head);
            while id != NONE {
                let chunk = scheme.chunks[id as usize];
                assert_eq!((chunk.previous, usize::from(chunk.level)), (previous, level));
                ids.push(id);
                (previous, id) = (id, chunk.next);
            }
            assert_eq!(ends.tail, previous);
            ids
        };
        queues.ends.iter().enumerate().map(list).collect()
    }

    #[test]
    fn the_simulator_classes_by_the_count_with_the_present_request() {
        let mut scheme = scheme(Semantics::SepbitFast22);
        let classes: Vec<usize> = (0..60).map(|now| write(&mut scheme, 7, now)).collect();
        let steps = [1, 2, 7, 8, 20, 21, 54, 55].map(|count: usize| classes[count - 1]);
        assert_eq!(steps, [0, 0, 1, 2, 2, 3, 3, 4]);
        assert_eq!(write(&mut scheme, 7, 1_000_000), 4, "nothing sinks");
    }

    #[test]
    fn a_request_touches_every_chunk_once() {
        let mut scheme = scheme(Semantics::Published);
        scheme.on_request(&Request { lba: 255, pages: 258, now: 0, valid: 0 });
        let counts: Vec<u32> = scheme.chunks.iter().take(4).map(|c| c.count).collect();
        assert_eq!(counts, [1, 1, 1, 0]);
        scheme.on_request(&Request { lba: 25_599, pages: u32::MAX, now: 0, valid: 0 });
        assert_eq!(scheme.chunks[99].count, 1);
    }

    #[test]
    fn the_class_is_the_queue_in_which_the_request_finds_its_chunk() {
        let mut scheme = scheme(Semantics::Published);
        let classes: Vec<usize> = (0..9).map(|now| write(&mut scheme, 7, now)).collect();
        assert_eq!(classes, [0, 0, 0, 1, 1, 1, 1, 1, 2], "count 3 is in queue 1, 8 in queue 2");
        assert_eq!(queues(&scheme), [vec![], vec![], vec![7], vec![], vec![]]);
    }

    #[test]
    fn an_expired_head_sinks_by_one_queue_and_its_class_with_it() {
        let mut scheme = scheme(Semantics::Published);
        for now in 1..=8 {
            write(&mut scheme, 1, now);
        }
        // Chunk 2 becomes the hottest, touched every 10 writes: that is the lifetime.
        for i in 1..=12 {
            write(&mut scheme, 2, 10 * i);
        }
        assert_eq!(scheme.queues.as_ref().unwrap().lifetime, 10);
        // Chunk 1 was touched at 8, with a lease of 1: it has sunk to queue 1, then 0.
        assert_eq!(queues(&scheme), [vec![], vec![], vec![2], vec![], vec![]]);
        assert_eq!(write(&mut scheme, 1, 121), 0, "it is found where it sank to");
        assert_eq!(write(&mut scheme, 1, 122), 2, "and is put back by its count");
        // Its lease of 10 ends after 132.
        write(&mut scheme, 2, 130);
        assert_eq!(queues(&scheme)[2], [1, 2]);
        write(&mut scheme, 3, 132);
        assert_eq!(queues(&scheme)[2], [1, 2]);
        write(&mut scheme, 3, 133);
        assert_eq!(queues(&scheme), [vec![], vec![1], vec![2], vec![], vec![]]);
        assert_eq!(write(&mut scheme, 1, 134), 1);
    }

    #[test]
    fn the_search_for_the_hottest_starts_over_when_it_expires() {
        let mut scheme = scheme(Semantics::Published);
        for now in 1..=9 {
            write(&mut scheme, 1, now);
        }
        write(&mut scheme, 2, 50);
        let queues = scheme.queues.as_ref().unwrap();
        assert_eq!((queues.hottest, queues.lifetime), ((NONE, 0), 1));
        write(&mut scheme, 2, 80);
        let queues = scheme.queues.as_ref().unwrap();
        assert_eq!((queues.hottest, queues.lifetime), ((2, 2), 30));
    }

    #[test]
    fn queues_hold_every_chunk_of_their_level_after_random_touches() {
        let mut scheme = scheme(Semantics::Published);
        let mut rng = frostline_random::SplitMix::new(4);
        for now in 0..20_000 {
            let chunk = rng.below(100).min(rng.below(100)).min(rng.below(100));
            write(&mut scheme, chunk, now * (1 + rng.below(3)) / 3 + now);
        }
        let lists = queues(&scheme);
        for (level, list) in lists.iter().enumerate().skip(1) {
            let mut ids = list.clone();
            ids.sort_unstable();
            let of_level = |&id: &u32| usize::from(scheme.chunks[id as usize].level) == level;
            assert_eq!(ids, (0..100).filter(of_level).collect::<Vec<_>>());
        }
    }
}
