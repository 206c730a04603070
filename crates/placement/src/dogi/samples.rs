//! Samples of user writes, and the lifespans of their versions.

use frostline_random::SplitMix;

use crate::{ForecastInputs, NEVER};

/// User writes of a capacity for each sample; the number of samples stays within the two bounds
/// below.
const SPACING: u32 = 128;
const LEAST: u32 = 1 << 12;
const MOST: u32 = 1 << 14;

/// A user write, and the lifespan of its version: [`NEVER`] if the version has not ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WriteSample {
    /// The facts that were known when it was written.
    pub inputs: ForecastInputs,
    at: u32,
    /// User writes until the page was written again or trimmed.
    pub lifespan: u32,
}

/// Takes samples of the user writes, at random but evenly spread over time.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    chance: SplitMix,
    stride: u32,
    next: u32,
    takes: bool,
    samples: Vec<WriteSample>,
    /// LBA and sample of each version whose end is awaited, at the place to which the LBA is
    /// hashed.
    awaited: Vec<(u32, u32)>,
}

impl Samples {
    /// A sampler that fills up in `capacity` user writes.
    pub(crate) fn new(capacity: u32, seed: u64) -> Self {
        let most = (capacity / SPACING).clamp(LEAST, MOST);
        Samples {
            chance: SplitMix::new(seed),
            stride: (capacity / most).max(1),
            next: 0,
            takes: false,
            samples: Vec::with_capacity(most as usize),
            awaited: vec![(u32::MAX, 0); 8 * most.next_power_of_two() as usize],
        }
    }

    /// Takes samples from now on.
    pub(crate) fn start(&mut self, now: u32) {
        self.samples.clear();
        self.awaited.fill((u32::MAX, 0));
        self.takes = true;
        self.next = now;
    }

    /// Takes no more samples.
    pub(crate) fn stop(&mut self) {
        self.takes = false;
    }

    /// True if the write at `now` shall be taken.
    #[inline(always)]
    pub(crate) fn wants(&self, now: u32) -> bool {
        self.takes && now.wrapping_sub(self.next) as i32 >= 0
    }

    /// Takes a write as a sample. False if there is no room for it.
    pub(crate) fn take(&mut self, lba: u32, now: u32, inputs: ForecastInputs) -> bool {
        debug_assert!(self.wants(now), "samples are taken when one is due");
        self.next = now.wrapping_add(1 + self.chance.below(2 * self.stride - 1));
        let place = self.place(lba);
        let is_taken = self.awaited[place].0 != u32::MAX;
        if is_taken || self.samples.len() == self.samples.capacity() {
            return false;
        }
        self.awaited[place] = (lba, self.samples.len() as u32);
        self.samples.push(WriteSample { inputs, at: now, lifespan: NEVER });
        true
    }

    /// The version of a sampled page ends.
    pub(crate) fn ended(&mut self, lba: u32, now: u32) {
        let place = self.place(lba);
        let (held, sample) = self.awaited[place];
        if let Some(sample) = self.samples.get_mut(sample as usize).filter(|_| held == lba) {
            sample.lifespan = now.wrapping_sub(sample.at);
            self.awaited[place].0 = u32::MAX;
        }
    }

    /// The most samples that fit.
    pub(crate) fn most(&self) -> usize {
        self.samples.capacity()
    }

    /// All samples, in the order of time.
    pub(crate) fn all(&self) -> &[WriteSample] {
        &self.samples
    }

    fn place(&self, lba: u32) -> usize {
        let hash = u64::from(lba).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> (u64::BITS - self.awaited.len().ilog2())) as usize
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.samples.capacity() * size_of::<WriteSample>() + self.awaited.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_taken_evenly_and_know_how_long_their_versions_lived() {
        let mut samples = Samples::new(40_960, 1);
        samples.start(1);
        for now in 1..=40_960 {
            if samples.wants(now) {
                samples.take(now, now, [now as f32; 6]);
            }
        }
        samples.stop();
        let taken = samples.all().len();
        assert!((3500..=4096).contains(&taken), "{taken}");
        let early = samples.all().iter().filter(|sample| sample.at < 20_480).count();
        assert!(early.abs_diff(taken / 2) < 250, "{early} of {taken}");
        let WriteSample { inputs, at, .. } = samples.all()[7];
        assert_eq!(inputs[0], at as f32);
        samples.ended(at, at + 500);
        samples.ended(at, at + 600);
        assert_eq!(samples.all()[7].lifespan, 500);
        assert_eq!(samples.all()[8].lifespan, NEVER);
        assert!(!samples.wants(50_000), "it was stopped");
    }
}
