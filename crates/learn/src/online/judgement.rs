//! The test of a model: only a good one is followed.

/// A page wrongly taken for frozen sits among pages that stay, and is copied out with them: more
/// than a few of those undo what the others are worth.
const LEAST_PRECISION: f64 = 0.7;
/// The largest share of pages that are not frozen and are taken for it.
const MOST_FALSE_POSITIVES: f64 = 0.3;
/// A judgement is made of no fewer samples.
const FEWEST: f64 = 64.0;
/// The factor by which each new sample lowers the weight of the earlier ones: 0.8 after 512.
const FADE: f32 = 0.999_564;

/// The model's answers beside the fates of the pages, the last ones with the most weight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Judgement {
    /// Taken for frozen: those that were, and those that were not.
    hits: f32,
    alarms: f32,
    /// Not taken for frozen: those that were, and those that were not.
    misses: f32,
    rests: f32,
}

impl Judgement {
    /// Numbers that it consists of.
    pub const COUNTS: usize = 4;

    /// No count exceeds this; it is some times what the samples of epochs fade to.
    pub const MOST: f32 = 10_000.0;

    /// Of [`Judgement::counts`].
    pub fn of(counts: &[f32]) -> Self {
        match *counts {
            [hits, alarms, misses, rests] => Judgement { hits, alarms, misses, rests },
            _ => Judgement::default(),
        }
    }

    /// Its parts.
    pub fn counts(&self) -> [f32; Self::COUNTS] {
        [self.hits, self.alarms, self.misses, self.rests]
    }

    /// A page was taken for frozen or not, and was or was not.
    pub fn add(&mut self, taken: bool, frozen: bool) {
        *self = Judgement::of(&self.counts().map(|count| count * FADE));
        *match (taken, frozen) {
            (true, true) => &mut self.hits,
            (true, false) => &mut self.alarms,
            (false, true) => &mut self.misses,
            (false, false) => &mut self.rests,
        } += 1.0;
    }

    /// True if the model is to be followed.
    pub fn is_good(&self) -> bool {
        let all: f32 = self.counts().iter().sum();
        f64::from(all) >= FEWEST
            && self.precision() >= LEAST_PRECISION
            && self.false_positive_rate() <= MOST_FALSE_POSITIVES
    }

    /// Share of those taken for frozen that were.
    pub fn precision(&self) -> f64 {
        share(self.hits, self.alarms)
    }

    /// Share of those not frozen that were taken for it.
    pub fn false_positive_rate(&self) -> f64 {
        share(self.alarms, self.rests)
    }

    /// Share of the frozen that were taken for it.
    pub fn recall(&self) -> f64 {
        share(self.hits, self.misses)
    }
}

/// The share of `part` in `part` and `other`; 0 of nothing.
fn share(part: f32, other: f32) -> f64 {
    f64::from(part) / f64::from(part + other).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(hits: usize, alarms: usize, rests: usize) -> Judgement {
        let mut judgement = Judgement::default();
        (0..hits).for_each(|_| judgement.add(true, true));
        (0..alarms).for_each(|_| judgement.add(true, false));
        (0..rests).for_each(|_| judgement.add(false, false));
        judgement
    }

    #[test]
    fn a_model_is_followed_while_it_takes_the_right_pages() {
        assert!(judged(90, 10, 100).is_good());
        assert!(!judged(60, 40, 1000).is_good(), "a precision of 0.6");
        assert!(!judged(900, 40, 60).is_good(), "a false positive rate of 0.4");
        assert!(!judged(30, 0, 30).is_good(), "too few samples");
        assert!(!judged(0, 0, 100).is_good(), "it takes none");
    }

    #[test]
    fn what_came_last_counts_most() {
        let mut judgement = judged(100, 0, 100);
        (0..4000).for_each(|_| judgement.add(false, false));
        assert!(judgement.is_good() && judgement.hits < 20.0, "{judgement:?}");
        (0..12).for_each(|_| judgement.add(true, false));
        assert!(judgement.precision() < 0.7 && !judgement.is_good(), "{judgement:?}");
        assert_eq!(Judgement::of(&judgement.counts()).counts(), judgement.counts());
    }
}
