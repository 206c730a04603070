//! Forecasting the class of a page's lifespan when it is written (DOGI, FAST 2026).

use std::fmt::Debug;

/// Classes of lifespans that are told apart.
pub const FORECAST_CLASSES: usize = 10;

/// The facts of a write that a forecast goes by.
pub type ForecastInputs = [f32; 6];

/// A write whose lifespan came to be known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson {
    /// The facts that were known when the page was written.
    pub inputs: ForecastInputs,
    /// The class of its lifespan, below [`FORECAST_CLASSES`].
    pub class: u8,
}

/// The most bytes of a forecaster's [`memory`](Forecaster::memory).
pub const LARGEST_FORECASTER: usize = 12 << 10;

/// Makes a forecaster with a seed.
pub type MakeForecaster<'a> = &'a dyn Fn(u64) -> Box<dyn Forecaster>;

/// Forecasts classes of lifespans, and learns from those that came to be known.
pub trait Forecaster: Debug + Send {
    /// True once a course of lessons is over: only then forecasts mean something.
    fn is_trained(&self) -> bool;

    /// The likeliest class. Allocates nothing.
    fn forecast(&self, inputs: &ForecastInputs) -> usize;

    /// A course of lessons begins, in place of one that goes on. Returns its batches.
    fn begin(&mut self, lessons: &[Lesson]) -> u32;

    /// Learns from the next batch of the course; true if it was the last. Forecasts come from what was
    /// learned then.
    fn work(&mut self) -> bool;

    /// Knowledge that it would otherwise have to learn again after a restart: at most
    /// [`LARGEST_FORECASTER`] bytes.
    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Takes up what [`memory`](Self::memory) gave, once, before the first forecast. Bytes that it
    /// cannot make sense of are as if there were none.
    fn recall(&mut self, _memory: &[u8]) {}

    /// Bytes that it holds.
    fn bytes(&self) -> usize {
        0
    }
}
