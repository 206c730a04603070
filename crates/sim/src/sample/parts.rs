//! The parts that samples are divided into: one for training, one for evaluation.

use frostline_learn::{Reservoir, SampleSplit, Sampling};
use frostline_random::SplitMix;

/// The share of samples, or of the trace, for training (SepFrozen, section 4.1).
const TO_TRAIN: f64 = 0.75;

pub(super) struct Parts {
    split: SampleSplit,
    /// The time up to which training knows the trace.
    known: u64,
    /// User writes of the trace that must follow a sample.
    after: u64,
    end: u64,
    chance: SplitMix,
    pub train: Reservoir,
    pub test: Reservoir,
}

/// The use of a sample.
pub(super) enum SampleUse<'a> {
    /// Nowhere: this sample, and all that come later, are too close to the end.
    Late,
    /// Nowhere: this sample is left out.
    Left,
    /// Into this part, with this label.
    In { part: &'a mut Reservoir, frozen: bool },
}

impl Parts {
    /// Parts for samples with `width` features, of a trace of `end` user writes.
    pub(super) fn new(width: usize, end: u64, how: &Sampling) -> Self {
        let share = |share: f64| (end as f64 * share) as u64;
        let known = if how.split == SampleSplit::Time { share(TO_TRAIN) } else { end };
        let seeds = |part| SplitMix::new(how.seed.wrapping_mul(4).wrapping_add(part));
        assert!(known <= end, "training knows a part of the trace");
        Parts {
            split: how.split,
            known,
            after: share(how.horizon),
            end,
            chance: seeds(0),
            train: Reservoir::new(width, how.most, seeds(1)),
            test: Reservoir::new(width, how.most.div_ceil(3), seeds(2)),
        }
    }

    /// The part that a sample taken at time `looked` goes to, and its label there.
    pub(super) fn place(&mut self, looked: u64, dies: Option<u64>) -> SampleUse<'_> {
        let known_long_enough = |known: u64| looked + self.after <= known;
        if !known_long_enough(self.end) {
            return SampleUse::Late;
        }
        let to_train = match self.split {
            SampleSplit::All => false,
            SampleSplit::Random => self.chance.unit() < TO_TRAIN,
            SampleSplit::Time if looked > self.known => false,
            SampleSplit::Time if known_long_enough(self.known) => true,
            SampleSplit::Time => return SampleUse::Left,
        };
        let (part, known) = match to_train {
            true => (&mut self.train, self.known),
            false => (&mut self.test, self.end),
        };
        SampleUse::In { part, frozen: dies.is_none_or(|dies| dies > known) }
    }
}
