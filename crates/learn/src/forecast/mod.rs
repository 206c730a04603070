//! DOGI's forecaster of lifespans (Kim et al., "DOGI: Data Placement with Oracle-Guided Insights
//! for Log-Structured Systems", FAST 2026): a network with two hidden layers forecasts the class of
//! a page's lifespan when the page is written, from facts that a block layer knows.
//!
//! A course of training goes through its lessons fifteen times, in batches of 128, with Adam and
//! cross entropy. Inputs are standardised by the mean and the deviation of the lessons.
//!
//! Our readings: a course starts from the network of the course before it, and keeps the first
//! course's means and deviations; the learning rate is five times the published one, because a
//! course has far fewer lessons here; there is no dropout.

mod network;

use frostline_placement::{FORECAST_CLASSES, ForecastInputs, Forecaster, TrainingSample};
use frostline_random::SplitMix;

use crate::adam::Adam;
use crate::sgd::shuffle;
use network::VALUES;

/// Lessons whose gradients are added up for one step of the optimiser.
const BATCH: usize = 128;
/// Passes over the lessons of a course.
const PASSES: usize = 15;
/// The learning rate.
const RATE: f32 = 0.0015;
/// Version of the bytes of [`Forecaster::memory`].
const VERSION: u32 = 1;

/// DOGI's forecaster of lifespans.
#[derive(Debug)]
pub struct LifespanForecaster {
    /// The network that forecasts; empty until the first course is over.
    deployed: Vec<f32>,
    /// The network that learns.
    values: Vec<f32>,
    adam: Adam,
    gradient: Vec<f32>,
    standard: Option<InputStandard>,
    chance: SplitMix,
    /// The lessons of the present course, standardised; below, their order in this pass.
    lessons: Vec<TrainingSample>,
    order: Vec<u32>,
    /// Lessons done in this pass; below, passes still to come.
    done: usize,
    passes: usize,
}

/// The mean of each input, and one over its deviation.
#[derive(Clone, Copy, Debug)]
struct InputStandard {
    mean: ForecastInputs,
    scale: ForecastInputs,
}

impl InputStandard {
    fn of(lessons: &[TrainingSample]) -> Self {
        let count = lessons.len().max(1) as f64;
        let mean_of =
            |f: &dyn Fn(&TrainingSample) -> f64| lessons.iter().map(f).sum::<f64>() / count;
        let mean: [f64; _] =
            std::array::from_fn(|i| mean_of(&|lesson| f64::from(lesson.inputs[i])));
        let scale = std::array::from_fn(|i| {
            let square = mean_of(&|lesson| (f64::from(lesson.inputs[i]) - mean[i]).powi(2));
            // An input that is the same in all lessons is ignored.
            if square > 0.0 { (1.0 / square.sqrt()) as f32 } else { 0.0 }
        });
        InputStandard { mean: mean.map(|mean| mean as f32), scale }
    }

    #[inline(always)]
    fn apply(&self, inputs: &ForecastInputs) -> ForecastInputs {
        let mut standardised = *inputs;
        for (i, input) in standardised.iter_mut().enumerate() {
            *input = (*input - self.mean[i]) * self.scale[i];
        }
        standardised
    }
}

impl LifespanForecaster {
    /// A forecaster before its first course.
    pub fn new(seed: u64) -> Self {
        let mut chance = SplitMix::new(seed);
        LifespanForecaster {
            deployed: Vec::new(),
            values: network::random(&mut chance),
            adam: Adam::new(RATE, VALUES),
            gradient: vec![0.0; VALUES],
            standard: None,
            chance,
            lessons: Vec::new(),
            order: Vec::new(),
            done: 0,
            passes: 0,
        }
    }

    fn begin_pass(&mut self) {
        shuffle(&mut self.order, &mut self.chance);
        self.done = 0;
    }
}

impl Forecaster for LifespanForecaster {
    fn is_trained(&self) -> bool {
        !self.deployed.is_empty()
    }

    #[inline]
    fn forecast(&self, inputs: &ForecastInputs) -> usize {
        match &self.standard {
            Some(standard) if self.is_trained() => {
                network::forecast(&self.deployed, &standard.apply(inputs))
            }
            _ => 0,
        }
    }

    fn begin(&mut self, lessons: &[TrainingSample]) -> u32 {
        let standard = *self.standard.get_or_insert_with(|| InputStandard::of(lessons));
        self.lessons.clear();
        let standardised = lessons
            .iter()
            .map(|lesson| TrainingSample { inputs: standard.apply(&lesson.inputs), ..*lesson });
        self.lessons.extend(standardised.filter(|l| usize::from(l.class) < FORECAST_CLASSES));
        self.order.clear();
        self.order.extend(0..self.lessons.len() as u32);
        self.begin_pass();
        self.passes = if self.lessons.is_empty() { 0 } else { PASSES };
        (self.lessons.len().div_ceil(BATCH) * self.passes) as u32
    }

    fn work(&mut self) -> bool {
        if self.passes == 0 {
            return true;
        }
        let batch = &self.order[self.done..(self.done + BATCH).min(self.order.len())];
        assert!(!batch.is_empty(), "a pass that goes on has lessons left");
        self.done += batch.len();
        network::learn(&self.values, &self.lessons, batch, &mut self.gradient);
        let share = 1.0 / batch.len() as f32;
        self.gradient.iter_mut().for_each(|slope| *slope *= share);
        self.adam.step(&mut self.values, &self.gradient);
        if self.done == self.order.len() {
            self.passes -= 1;
            self.begin_pass();
        }
        if self.passes == 0 {
            self.deployed.clear();
            self.deployed.extend_from_slice(&self.values);
        }
        self.passes == 0
    }

    fn memory(&self) -> Vec<u8> {
        let Some(InputStandard { mean, scale }) = self.standard.filter(|_| self.is_trained())
        else {
            return Vec::new();
        };
        let values = mean.iter().chain(&scale).chain(&self.deployed).map(|value| value.to_bits());
        [VERSION].into_iter().chain(values).flat_map(u32::to_le_bytes).collect()
    }

    fn recall(&mut self, memory: &[u8]) {
        let (words, rest) = memory.as_chunks();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let Some((&VERSION, values)) = words.split_first() else { return };
        let values: Vec<f32> = values.iter().map(|&bits| f32::from_bits(bits)).collect();
        let Some((&mean, values)) = values.split_first_chunk() else { return };
        let Some((&scale, network)) = values.split_first_chunk() else { return };
        let sound = values.iter().chain(&mean).all(|value| value.abs() < 1e30);
        if sound && rest.is_empty() && network.len() == VALUES {
            self.standard = Some(InputStandard { mean, scale });
            self.values.copy_from_slice(network);
            self.deployed = network.to_vec();
        }
    }

    fn bytes(&self) -> usize {
        let values = self.deployed.capacity() + 4 * VALUES;
        let lessons = self.lessons.capacity() * size_of::<TrainingSample>();
        (values + self.order.capacity()) * size_of::<f32>() + lessons
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lessons whose class follows from the second and the fifth input together.
    fn lessons(count: usize, chance: &mut SplitMix) -> Vec<TrainingSample> {
        let lesson = |_| {
            let mut inputs = std::array::from_fn(|_| chance.unit() as f32 * 1000.0);
            inputs[4] = chance.below(2) as f32;
            let far = inputs[1] > 500.0;
            TrainingSample { inputs, class: if far == (inputs[4] > 0.5) { 2 } else { 7 } }
        };
        (0..count).map(lesson).collect()
    }

    fn trained() -> LifespanForecaster {
        let mut chance = SplitMix::new(8);
        let mut forecaster = LifespanForecaster::new(1);
        for _ in 0..2 {
            let batches = forecaster.begin(&lessons(4096, &mut chance));
            assert_eq!(batches, 32 * PASSES as u32);
            let over = (0..batches).map(|_| forecaster.work()).collect::<Vec<_>>();
            assert_eq!(over.iter().position(|&over| over), Some(batches as usize - 1));
        }
        forecaster
    }

    #[test]
    fn it_learns_what_no_input_tells_alone() {
        let forecaster = trained();
        let held_out = lessons(1000, &mut SplitMix::new(9));
        let right = |lesson: &&TrainingSample| {
            forecaster.forecast(&lesson.inputs) == usize::from(lesson.class)
        };
        let right = held_out.iter().filter(right).count();
        assert!(right > 950, "{right} of 1000");
    }

    #[test]
    fn another_takes_up_what_it_has_learned_and_damaged_bytes_are_nothing() {
        let forecaster = trained();
        let memory = forecaster.memory();
        let mut other = LifespanForecaster::new(2);
        assert!(other.memory().is_empty() && !other.is_trained());
        for damaged in [&memory[1..], &memory[..memory.len() - 4], &[]] {
            other.recall(damaged);
            assert!(!other.is_trained());
        }
        other.recall(&memory);
        assert_eq!(other.memory(), memory);
        for lesson in lessons(100, &mut SplitMix::new(10)) {
            assert_eq!(other.forecast(&lesson.inputs), forecaster.forecast(&lesson.inputs));
        }
    }

    #[test]
    fn without_lessons_nothing_is_learned() {
        let mut forecaster = LifespanForecaster::new(1);
        assert_eq!(forecaster.begin(&[]), 0);
        assert!(!forecaster.is_trained());
    }
}
