//! The test of a model: its predictions are used only while most of them come true.

/// A page wrongly taken for frozen lies among pages that stay valid, and is copied out with them:
/// more than a few of those cancel the gain of the others.
const LEAST_PRECISION: f64 = 0.7;
/// The largest share of not frozen pages that may be taken for frozen.
const MOST_FALSE_POSITIVES: f64 = 0.3;
/// The least samples for a judgement of a model.
const FEWEST: f64 = 64.0;
/// The factor by which each new sample lowers the weight of the earlier ones: 0.8 after 512.
const FADE: f32 = 0.999_564;

/// The confusion matrix of a model; "positive" is a page that is taken for frozen. Recent samples
/// have the most weight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Confusion {
    /// Taken for frozen, and frozen.
    true_positives: f32,
    /// Taken for frozen, and written again.
    false_positives: f32,
    /// Not taken for frozen, and frozen.
    false_negatives: f32,
    /// Not taken for frozen, and written again.
    true_negatives: f32,
}

impl Confusion {
    /// Counts in the matrix.
    pub(super) const COUNTS: usize = 4;

    /// No count exceeds this: fading keeps counts well below it.
    pub(super) const LARGEST: f32 = 10_000.0;

    /// Restores what [`Confusion::counts`] gave.
    pub(super) fn of(counts: &[f32]) -> Self {
        match *counts {
            [true_positives, false_positives, false_negatives, true_negatives] => {
                Confusion { true_positives, false_positives, false_negatives, true_negatives }
            }
            _ => Confusion::default(),
        }
    }

    /// The counts, as a memory stores them.
    pub(super) fn counts(&self) -> [f32; Self::COUNTS] {
        [self.true_positives, self.false_positives, self.false_negatives, self.true_negatives]
    }

    /// Adds a sample that was `taken` for frozen or not, and turned out to be `frozen` or not.
    pub(super) fn add(&mut self, taken: bool, frozen: bool) {
        *self = Confusion::of(&self.counts().map(|count| count * FADE));
        *match (taken, frozen) {
            (true, true) => &mut self.true_positives,
            (true, false) => &mut self.false_positives,
            (false, true) => &mut self.false_negatives,
            (false, false) => &mut self.true_negatives,
        } += 1.0;
        let bounded = |count: &f32| (0.0..=Self::LARGEST).contains(count);
        debug_assert!(self.counts().iter().all(bounded), "fading bounds the counts");
    }

    /// True if the model's predictions are good enough to use.
    pub(super) fn is_trusted(&self) -> bool {
        let all: f32 = self.counts().iter().sum();
        f64::from(all) >= FEWEST
            && self.precision() >= LEAST_PRECISION
            && self.false_positive_rate() <= MOST_FALSE_POSITIVES
    }

    /// Share of pages taken for frozen that were frozen.
    pub(super) fn precision(&self) -> f64 {
        share(self.true_positives, self.false_positives)
    }

    /// Share of pages not frozen that were taken for frozen.
    pub(super) fn false_positive_rate(&self) -> f64 {
        share(self.false_positives, self.true_negatives)
    }

    /// Share of frozen pages that were taken for frozen.
    pub(super) fn recall(&self) -> f64 {
        share(self.true_positives, self.false_negatives)
    }
}

/// The share of `part` in `part + other`; 0 if both are 0.
fn share(part: f32, other: f32) -> f64 {
    f64::from(part) / f64::from(part + other).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confusion(
        true_positives: usize,
        false_positives: usize,
        true_negatives: usize,
    ) -> Confusion {
        let mut confusion = Confusion::default();
        (0..true_positives).for_each(|_| confusion.add(true, true));
        (0..false_positives).for_each(|_| confusion.add(true, false));
        (0..true_negatives).for_each(|_| confusion.add(false, false));
        confusion
    }

    #[test]
    fn a_model_is_trusted_while_its_predictions_come_true() {
        assert!(confusion(90, 10, 100).is_trusted());
        assert!(!confusion(60, 40, 1000).is_trusted(), "a precision of 0.6");
        assert!(!confusion(900, 40, 60).is_trusted(), "a false positive rate of 0.4");
        assert!(!confusion(30, 0, 30).is_trusted(), "too few samples");
        assert!(!confusion(0, 0, 100).is_trusted(), "it takes none");
    }

    #[test]
    fn recent_samples_count_most() {
        let mut confusion = confusion(100, 0, 100);
        (0..4000).for_each(|_| confusion.add(false, false));
        assert!(confusion.is_trusted() && confusion.true_positives < 20.0, "{confusion:?}");
        (0..12).for_each(|_| confusion.add(true, false));
        assert!(confusion.precision() < 0.7 && !confusion.is_trusted(), "{confusion:?}");
        assert_eq!(Confusion::of(&confusion.counts()).counts(), confusion.counts());
    }
}
