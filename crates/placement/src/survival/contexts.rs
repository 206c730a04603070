//! The context of a page when it is written, a number of 21 bits.
//!
//! The bits, from the lowest on: the octave of the page's last lifespan, and a mean of the octaves
//! of those before (4 bits each). Then, if a block layer writes the page: whether the page in front
//! was written just before (1); whether the page behind was never written, was just written, is
//! younger than the version that ends, or is older (2); and the mean lifespan of the page's extent,
//! in steps of two octaves (3). Or, if an engine writes it with a record: whether the page was new,
//! as full as before, fuller or emptier, or is written as a delta or a tail (3); the number of its
//! modifications since it was read, in steps of two octaves (2); and its origin (6). Above both: the
//! pages that follow in the same request (2). Without an engine's record the kind of the store's
//! record comes last (2).
//!
//! A page that a block layer writes in a run of [`RUN`] pages has a context with less in it: the
//! last lifespan, in steps of two octaves, the pages that follow, the kind, and a bit that only runs
//! have.
//! The pages of a run belong to a file or to a log, and mostly die together. What lay at their LBAs
//! before may have been parts of several files, so contexts with more in them would part what dies
//! together; and the many pages of a file are one observation, which would look like many.

use super::ages::Ages;
use crate::events::RecordKind;
use crate::hotness::{Activity, Hotness};

/// Number of contexts.
pub const CONTEXTS: usize = 1 << 21;
/// Octaves of lifespans in a context; octave 0 stands for a page without a last lifespan.
pub const OCTAVES: usize = 16;
/// LBAs in an extent: 2^8.
const EXTENT_SHIFT: u32 = 8;
/// At each lifespan an extent's mean moves by this share of the difference.
const GAIN: f32 = 1.0 / 32.0;
/// The page in front belongs to the same run if it was written at most this many user writes ago.
const JUST_BEFORE: u32 = 16;
/// The page behind was just written if it was written at most this many user writes ago.
const JUST_WRITTEN: u32 = 64;

/// Pages in order from which a page is in a run: one more than the largest pages of databases have
/// blocks.
pub const RUN: u32 = 17;
/// Marks the context of a page in a run.
const IN_RUN: usize = 1 << 14;
/// Where the pages that follow in the request lie in the context of a page that a block layer
/// writes, and of one that an engine writes with a record.
const FOLLOWING: u32 = 15;
const HINTED_FOLLOWING: u32 = 19;
/// Where the kind of record lies in the context of a page that a block layer writes.
const KIND: u32 = 17;

/// The octave of the last lifespan of a page, that of the version before the valid one, and a mean
/// of the octaves of those before; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct Lifespans(u8);

impl Lifespans {
    /// One more version has ended.
    #[inline(always)]
    #[must_use]
    pub fn then(self, octave: u8) -> Self {
        let (last, mean) = (self.0 & 15, self.0 >> 4);
        let mean = if mean == 0 { last } else { (last + 2 * mean) / 3 };
        Lifespans(mean << 4 | octave)
    }

    /// The octave of the last lifespan, the longer of two that are taken for one; 0 for none.
    fn last_of_two_octaves(self) -> usize {
        match usize::from(self.0 & 15) {
            0 => 0,
            octave => octave | 1,
        }
    }
}

/// The octave of the last lifespan in a context.
pub fn last_octave(context: usize) -> usize {
    context & 15
}

/// The harmonic mean of the lifespans in a context; infinite if there are none.
pub fn mean_lifespan(context: usize, ages: Ages) -> f32 {
    match (last_octave(context), context >> 4 & 15) {
        (0, _) => f32::INFINITY,
        (last, 0) => ages.lifespan(last),
        (last, before) => 2.0 / (1.0 / ages.lifespan(last) + 1.0 / ages.lifespan(before)),
    }
}

/// The neighbourhood of a page that is written; ages and lifespans in user writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around {
    /// Lifespan of the version that ends, if there is one.
    pub lived: Option<u32>,
    /// Age of the page in front, if it was written lately.
    pub front: Option<u32>,
    /// Pages in order up to and including this one.
    pub run: u32,
    /// Age of the page behind, if it is valid.
    pub behind: Option<u32>,
    /// Pages of the same request that follow, at most 3.
    pub following: u8,
    /// The part of the page that is written.
    pub kind: RecordKind,
}

/// The context of a page that an engine writes with a hotness record.
#[inline(always)]
pub fn hinted(lifespans: Lifespans, hotness: &Hotness, following: u8, kind: RecordKind) -> usize {
    let Hotness { origin, current, last, .. } = hotness;
    let written = match kind {
        RecordKind::Image => match last {
            new if *new == Activity::default() => 0,
            last if current.valid_bytes == last.valid_bytes => 1,
            last => 2 + usize::from(current.valid_bytes < last.valid_bytes),
        },
        RecordKind::Delta => 4,
        RecordKind::Tail => 5,
    };
    let modified = (u32::from(current.modifications) + 1).ilog2() as usize / 2;
    let origin = *origin as usize % 64;
    let hints = written << 8 | modified.min(3) << 11 | origin << 13;
    usize::from(lifespans.0) | hints | usize::from(following) << HINTED_FOLLOWING
}

/// The mean lifespans of extents.
#[derive(Clone, Debug)]
pub struct Extents {
    /// The mean logarithm of each extent's lifespans; 0 if there were none.
    means: Vec<f32>,
    /// The logarithm of the lifespan below which the first step lies.
    first: f32,
}

impl Extents {
    /// The extents of a volume of `space` LBAs, without lifespans.
    pub fn new(space: u32, zone_pages: u32) -> Self {
        let means = vec![0.0; (space >> EXTENT_SHIFT) as usize + 1];
        Extents { means, first: crate::log2_1p(zone_pages / 4) }
    }

    /// The context of a page that is written. The lifespan of the version that ends goes into its
    /// extent's mean.
    #[inline(always)]
    pub fn context(&mut self, lba: u32, lifespans: Lifespans, around: &Around) -> usize {
        let mut step = 7u8;
        if let Some(mean) = self.means.get_mut((lba >> EXTENT_SHIFT) as usize) {
            if let Some(lived) = around.lived {
                let lived = crate::log2_1p(lived);
                *mean += if *mean == 0.0 { lived } else { GAIN * (lived - *mean) };
            }
            if *mean > 0.0 {
                step = (((*mean - self.first) * 0.5 + 1.0) as u8).min(6);
            }
        }
        let record = usize::from(around.following) << FOLLOWING | (around.kind as usize) << KIND;
        if around.run >= RUN {
            return IN_RUN | lifespans.last_of_two_octaves() | record;
        }
        let front = usize::from(around.front.is_some_and(|age| age <= JUST_BEFORE));
        let behind = match around.behind {
            None => 0,
            Some(age) if age <= JUST_WRITTEN => 1,
            Some(age) => 2 + usize::from(age >= around.lived.unwrap_or(0)),
        };
        usize::from(lifespans.0) | front << 8 | behind << 9 | usize::from(step) << 11 | record
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.means[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_tells_lifespans_neighbours_and_extent() {
        let mut extents = Extents::new(1 << 12, 1024);
        let new = Around::default();
        assert_eq!(extents.context(700, Lifespans::default(), &new), 7 << 11, "nothing is known");
        let past = Lifespans::default().then(3).then(5);
        let around = Around { lived: Some(5000), front: Some(1), run: 2, behind: Some(100), ..new };
        assert_eq!(extents.context(700, past, &around), 0x35 | 1 << 8 | 2 << 9 | 3 << 11);
        let first = Around { following: 2, ..around };
        assert_eq!(extents.context(700, past, &first) >> FOLLOWING, 2);
        let alone = Around { front: Some(17), run: 2, behind: Some(64), ..Around::default() };
        assert_eq!(extents.context(701, past, &alone), 0x35 | 1 << 9 | 3 << 11, "same extent");
        let older = Around { lived: Some(80), behind: Some(100), ..Around::default() };
        assert_eq!(extents.context(9, past, &older) >> 9 & 3, 3);
    }

    #[test]
    fn lifespans_before_the_last_are_remembered_by_their_mean() {
        let past = |octaves: &[u8]| {
            octaves.iter().fold(Lifespans::default(), |past, &octave| past.then(octave)).0
        };
        assert_eq!((past(&[6]), past(&[6, 9])), (0x06, 0x69));
        assert_eq!(past(&[6, 9, 2]), 0x72, "a third of the way from 6 to 9");
        assert_eq!(past(&[15; 20]), 0xff);
    }

    #[test]
    fn pages_of_a_run_have_one_context_for_two_octaves() {
        let mut extents = Extents::new(1 << 12, 1024);
        let mut request = |lifespans, run, behind, following| {
            let (lived, front) = (Some(5000), Some(1));
            let around = Around { lived, front, run, behind, following, ..Around::default() };
            extents.context(700, lifespans, &around)
        };
        let mut context = |lifespans, run, behind| request(lifespans, run, behind, 0);
        let past = |octave| Lifespans::default().then(3).then(octave);
        assert_eq!(context(past(5), RUN, Some(100)), IN_RUN | 5);
        assert_eq!(context(past(4), RUN + 1, None), IN_RUN | 5);
        assert_eq!(context(past(6), RUN, None), IN_RUN | 7);
        assert_eq!(context(Lifespans::default(), RUN, None), IN_RUN, "new pages");
        assert_ne!(context(past(5), RUN - 1, Some(100)), context(past(4), RUN - 1, None));
        assert_eq!(
            request(past(5), RUN, None, 3),
            IN_RUN | 5 | 3 << FOLLOWING,
            "the tail lies apart"
        );
    }

    #[test]
    fn a_context_tells_what_an_engine_knows() {
        let activity = |valid_bytes, modifications| Activity {
            valid_bytes,
            modifications,
            ..Activity::default()
        };
        let hotness = |current, last| Hotness { origin: 7, current, last, lifespan: 0 };
        let past = Lifespans::default().then(3).then(5);
        let context = |current, last| hinted(past, &hotness(current, last), 0, RecordKind::Image);
        assert_eq!(context(activity(90, 0), Activity::default()), 0x35 | 7 << 13, "new");
        assert_eq!(context(activity(90, 3), activity(90, 1)), 0x35 | 1 << 8 | 1 << 11 | 7 << 13);
        assert_eq!(context(activity(99, 80), activity(90, 1)), 0x35 | 2 << 8 | 3 << 11 | 7 << 13);
        assert_eq!(context(activity(9, 65_535), activity(90, 1)) >> 8 & 31, 3 | 3 << 3);
        let new = hotness(activity(90, 0), Activity::default());
        let batch = hinted(past, &new, 3, RecordKind::Image);
        assert_eq!(batch, 0x35 | 7 << 13 | 3 << HINTED_FOLLOWING);
    }

    #[test]
    fn deltas_and_tails_have_contexts_of_their_own() {
        let kinds = [RecordKind::Image, RecordKind::Delta, RecordKind::Tail];
        let past = Lifespans::default().then(5);
        let mut extents = Extents::new(1 << 12, 1024);
        let mut of_block =
            |kind, run| extents.context(700, past, &Around { kind, run, ..Around::default() });
        let activity = Activity { valid_bytes: 90, ..Activity::default() };
        let hotness = Hotness { current: activity, last: activity, ..Hotness::default() };
        let mut contexts = kinds.map(|kind| of_block(kind, 1)).to_vec();
        contexts.extend(kinds.map(|kind| of_block(kind, RUN)));
        contexts.extend(kinds.map(|kind| hinted(past, &hotness, 0, kind)));
        assert!(contexts.iter().all(|&context| context < CONTEXTS));
        for kinds in contexts.chunks(3) {
            assert!(kinds[0] != kinds[1] && kinds[1] != kinds[2] && kinds[2] != kinds[0]);
        }
    }

    #[test]
    fn a_harmonic_mean_is_near_the_shorter_lifespan() {
        let ages = Ages::new(1024);
        assert_eq!(mean_lifespan(0, ages), f32::INFINITY);
        let (short, long) = (mean_lifespan(0x22, ages), mean_lifespan(0x99, ages));
        let mixed = mean_lifespan(0x29, ages);
        assert!(mixed < 2.1 * short && mixed > short && long > 64.0 * short);
    }
}
