//! The times at which DOGI's forecaster learns.
//!
//! After two capacities of user writes, samples are taken during one capacity, and their ends are
//! awaited during another. Nine of ten samples are the lessons of a course, which is spread over
//! half a capacity of user writes; meanwhile the next samples are taken. The tenth sample is held
//! out, and tells how good the forecasts are when the course is over. A version that has not ended
//! by then counts as of the last class.

use super::outcomes::Outcomes;
use super::ranges::Ranges;
use super::samples::{Samples, WriteSample};
use crate::{FORECAST_CLASSES, ForecastInputs, Forecaster, TrainingSample};

/// Capacities of user writes before the first samples.
const WAIT: u32 = 2;
/// One in this many samples is held out.
const HELD_OUT: usize = 10;

/// The phase of the course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Taking,
    Waiting,
}

/// Teaches a forecaster from samples of the user writes.
#[derive(Debug)]
pub(crate) struct TrainingSchedule {
    forecaster: Box<dyn Forecaster>,
    capacity: u32,
    ranges: Ranges,
    samples: Samples,
    phase: Phase,
    /// The time at which the phase ends; `None` before the first write.
    phase_ends: Option<u32>,
    /// User writes between two batches; below, the time at which the next batch is due.
    stride: u32,
    next_batch: Option<u32>,
    /// The time of the next step.
    due: u32,
    lessons: Vec<TrainingSample>,
    held_out: Vec<TrainingSample>,
    outcomes: Option<Outcomes>,
}

impl TrainingSchedule {
    /// A course for a volume of `capacity` pages, before its first write.
    pub(crate) fn new(forecaster: Box<dyn Forecaster>, capacity: u32, seed: u64) -> Self {
        let capacity = capacity.max(1);
        let samples = Samples::new(capacity, seed);
        let most = samples.most();
        TrainingSchedule {
            forecaster,
            capacity,
            ranges: Ranges::new(capacity),
            samples,
            phase: Phase::Idle,
            phase_ends: None,
            stride: 1,
            next_batch: None,
            due: 0,
            lessons: Vec::with_capacity(most),
            held_out: Vec::with_capacity(most / HELD_OUT + 1),
            outcomes: None,
        }
    }

    /// The bounds of the classes.
    pub(crate) fn ranges(&self) -> &Ranges {
        &self.ranges
    }

    /// The forecast class; `None` until the forecaster is trained.
    #[inline(always)]
    pub(crate) fn forecast(&self, inputs: &ForecastInputs) -> Option<usize> {
        let forecast = self.forecaster.is_trained().then(|| self.forecaster.forecast(inputs));
        debug_assert!(forecast.is_none_or(|class| class < FORECAST_CLASSES), "one of the classes");
        forecast
    }

    /// A page is written at `now`.
    #[inline(always)]
    pub(crate) fn at(&mut self, now: u32) {
        if self.phase_ends.is_none() || now.wrapping_sub(self.due) as i32 >= 0 {
            self.work(now);
        }
    }

    /// True if the write at `now` shall be taken as a sample.
    #[inline(always)]
    pub(crate) fn wants(&self, now: u32) -> bool {
        self.samples.wants(now)
    }

    /// Takes the write as a sample. False if there is no room for it.
    pub(crate) fn take(&mut self, lba: u32, now: u32, inputs: ForecastInputs) -> bool {
        self.samples.take(lba, now, inputs)
    }

    /// The version of a sampled page ends.
    pub(crate) fn ended(&mut self, lba: u32, now: u32) {
        self.samples.ended(lba, now);
    }

    /// The outcomes of the held-out samples, once after each course.
    pub(crate) fn take_outcomes(&mut self) -> Option<Outcomes> {
        self.outcomes.take()
    }

    #[cold]
    fn work(&mut self, now: u32) {
        let is_over = |end: u32| now.wrapping_sub(end) as i32 >= 0;
        if self.next_batch.is_some_and(is_over) {
            self.next_batch = Some(now.wrapping_add(self.stride));
            if self.forecaster.work() {
                self.next_batch = None;
                self.outcomes = Some(self.evaluate());
            }
        }
        if self.phase_ends.is_none_or(is_over) {
            self.next_phase(now);
        }
        let ends = [self.phase_ends, self.next_batch].into_iter().flatten();
        self.due = ends.min_by_key(|end| end.wrapping_sub(now)).unwrap_or(now);
    }

    fn next_phase(&mut self, now: u32) {
        let (next, capacities) = match self.phase {
            Phase::Idle if self.phase_ends.is_none() => (Phase::Idle, WAIT),
            Phase::Idle | Phase::Waiting => (Phase::Taking, 1),
            Phase::Taking => (Phase::Waiting, 1),
        };
        if self.phase == Phase::Waiting {
            self.begin_lessons(now);
        }
        match next {
            Phase::Taking => self.samples.start(now),
            Phase::Idle | Phase::Waiting => self.samples.stop(),
        }
        self.phase = next;
        self.phase_ends = Some(now.wrapping_add(self.capacity.saturating_mul(capacities)));
    }

    fn begin_lessons(&mut self, now: u32) {
        let TrainingSchedule { ranges, samples, lessons, held_out, .. } = self;
        let lesson = |&WriteSample { inputs, lifespan, .. }: &WriteSample| TrainingSample {
            inputs,
            class: ranges.class(lifespan) as u8,
        };
        lessons.clear();
        held_out.clear();
        for (i, sample) in samples.all().iter().enumerate() {
            let to = if i % HELD_OUT == 0 { &mut *held_out } else { &mut *lessons };
            to.push(lesson(sample));
        }
        let batches = self.forecaster.begin(lessons);
        self.stride = (self.capacity / 2 / batches.max(1)).max(1);
        self.next_batch = (batches > 0).then(|| now.wrapping_add(self.stride));
    }

    fn evaluate(&self) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for TrainingSample { inputs, class } in &self.held_out {
            outcomes.add(self.forecaster.forecast(inputs), usize::from(*class));
        }
        outcomes
    }

    /// All that was learned, as bytes that [`TrainingSchedule::recall`] takes.
    pub(crate) fn memory(&self) -> Vec<u8> {
        self.forecaster.memory()
    }

    /// Restores what [`TrainingSchedule::memory`] gave; true if the forecaster is trained then.
    pub(crate) fn recall(&mut self, memory: &[u8]) -> bool {
        self.forecaster.recall(memory);
        self.forecaster.is_trained()
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let lessons = self.lessons.capacity() + self.held_out.capacity();
        self.samples.bytes() + lessons * size_of::<TrainingSample>() + self.forecaster.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forecasts what the first input says, and counts batches.
    #[derive(Debug, Default)]
    struct Parrot {
        lessons: usize,
        left: u32,
        trained: bool,
    }

    impl Forecaster for Parrot {
        fn is_trained(&self) -> bool {
            self.trained
        }

        fn forecast(&self, inputs: &ForecastInputs) -> usize {
            inputs[0] as usize
        }

        fn begin(&mut self, lessons: &[TrainingSample]) -> u32 {
            (self.lessons, self.left) = (lessons.len(), 10);
            10
        }

        fn work(&mut self) -> bool {
            self.left -= 1;
            self.trained |= self.left == 0;
            self.left == 0
        }
    }

    #[test]
    fn forecasts_are_judged_by_what_was_held_out_after_four_capacities_and_a_half() {
        let mut course = TrainingSchedule::new(Box::new(Parrot::default()), 8192, 1);
        let mut judged = Vec::new();
        for now in 1..=8192 * 9 {
            course.at(now);
            // Each version ends after 150 writes: that is class 1 of a capacity of 8,192.
            if course.wants(now) {
                course.take(now, now, [1.0; 6]);
            }
            if now > 150 {
                course.ended(now - 150, now);
            }
            if let Some(outcomes) = course.take_outcomes() {
                judged.push((now, outcomes));
            }
        }
        assert_eq!(judged.len(), 3);
        let (at, outcomes) = &judged[0];
        assert!((8192 * 4..8192 * 9 / 2 + 20).contains(at), "{at}");
        assert!((360..=410).contains(&outcomes.all()), "{}", outcomes.all());
        assert_eq!(outcomes.accuracy(), (1.0, 1.0));
    }
}
