//! The quality of predictions, window by window.

/// Predictions of a window; "positive" is a short-living page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Predictions {
    /// Writes.
    all: u64,
    /// Writes predicted to be short-living.
    predicted: u64,
    /// Writes rightly predicted to be short-living.
    right: u64,
    /// Short-living writes that were not predicted to be.
    missed: u64,
}

impl Predictions {
    fn add(&mut self, other: &Predictions) {
        self.all += other.all;
        self.predicted += other.predicted;
        self.right += other.right;
        self.missed += other.missed;
    }

    /// Accuracy, precision, recall, F1.
    fn quality(&self) -> [f64; 4] {
        let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
        let wrong = self.predicted - self.right + self.missed;
        let precision = share(self.right, self.predicted);
        let recall = share(self.right, self.right + self.missed);
        let f1 = share(2 * self.right, 2 * self.right + wrong);
        [share(self.all - wrong, self.all), precision, recall, f1]
    }
}

/// A window that is not evaluated yet.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    begin: u32,
    /// Versions that live for less than this are short-living; 0 if the window has no predictions.
    threshold: u32,
    predictions: Predictions,
}

/// Compares predictions with the lifespans of versions. A version that lives for less than a
/// threshold ends in its window or in the next, because a threshold is never longer than a window.
#[derive(Clone, Debug, Default)]
pub(crate) struct PredictionQuality {
    current: Window,
    before: Window,
    /// The last window that is fully evaluated.
    last: Predictions,
    total: Predictions,
}

impl PredictionQuality {
    /// Begins a window. Versions that live for less than `threshold` are short-living; `None` if
    /// the window has no predictions.
    pub(super) fn begin(&mut self, now: u32, threshold: Option<u32>) {
        if self.before.threshold > 0 {
            self.last = self.before.predictions;
            self.total.add(&self.last);
        }
        self.before = self.current;
        self.current = Window {
            begin: now,
            threshold: threshold.unwrap_or(0),
            predictions: Predictions::default(),
        };
    }

    /// A write was predicted to be short-living or not.
    #[inline(always)]
    pub(super) fn predicted(&mut self, short: bool) {
        self.current.predictions.all += 1;
        self.current.predictions.predicted += u64::from(short);
    }

    /// A version ended at `now` after `lifespan`. `short` is the prediction at its write.
    #[inline(always)]
    pub(super) fn ended(&mut self, now: u32, lifespan: u32, short: bool) {
        let this = now.wrapping_sub(self.current.begin);
        let window = if lifespan <= this { &mut self.current } else { &mut self.before };
        let is_of_it = lifespan <= now.wrapping_sub(window.begin);
        if is_of_it && lifespan < window.threshold {
            window.predictions.right += u64::from(short);
            window.predictions.missed += u64::from(!short);
        }
    }

    /// Accuracy, precision, recall and F1 of all windows that were evaluated, then of the last one.
    pub(super) fn gauges(&self) -> Vec<(&'static str, f64)> {
        const TOTAL: [&str; 4] = ["accuracy", "precision", "recall", "f1"];
        const LAST: [&str; 4] = ["last_accuracy", "last_precision", "last_recall", "last_f1"];
        let total = TOTAL.into_iter().zip(self.total.quality());
        total.chain(LAST.into_iter().zip(self.last.quality())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_evaluated_when_the_next_one_is_over() {
        let mut quality = PredictionQuality::default();
        quality.begin(100, Some(50));
        [true, true, true, false, false, false].iter().for_each(|&s| quality.predicted(s));
        quality.ended(130, 20, true);
        quality.ended(130, 10, false);
        quality.ended(199, 60, true);
        quality.begin(200, Some(500));
        quality.ended(210, 30, true);
        // This version was written before the window and does not count in it.
        quality.ended(210, 190, true);
        assert_eq!(quality.gauges()[0], ("accuracy", 0.0));
        quality.begin(300, None);
        let figures: Vec<_> = quality.gauges().into_iter().map(|(_, value)| value).collect();
        // Two of three positive predictions were right; one of three short-living versions was
        // missed.
        assert_eq!(figures[..2], [4.0 / 6.0, 2.0 / 3.0]);
        assert_eq!(figures[2..4], [2.0 / 3.0; 2]);
        assert_eq!(figures[4..], figures[..4]);
    }
}
