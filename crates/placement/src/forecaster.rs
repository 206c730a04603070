//! Forecasting the class of a page's lifespan when it is written (DOGI, FAST 2026).

use std::fmt::Debug;

/// Classes of lifespans that forecasts distinguish.
pub const FORECAST_CLASSES: usize = 10;

/// The facts of a write from which its lifespan is forecast.
pub type ForecastInputs = [f32; 6];

/// A write whose lifespan became known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingSample {
    /// The facts that were known when the page was written.
    pub inputs: ForecastInputs,
    /// The class of its lifespan, below [`FORECAST_CLASSES`].
    pub class: u8,
}

/// The most bytes of a forecaster's [`memory`](Forecaster::memory).
pub const LARGEST_FORECASTER: usize = 12 << 10;

/// Makes a forecaster with a seed.
pub type MakeForecaster<'a> = &'a dyn Fn(u64) -> Box<dyn Forecaster>;

/// Forecasts classes of lifespans, and learns from lifespans that became known.
pub trait Forecaster: Debug + Send {
    /// True once a course of lessons is over; forecasts before that mean nothing.
    fn is_trained(&self) -> bool;

    /// The likeliest class. Allocates nothing.
    fn forecast(&self, inputs: &ForecastInputs) -> usize;

    /// Begins a course of lessons; ends a course that is still going on. Returns the number of its
    /// batches.
    fn begin(&mut self, lessons: &[TrainingSample]) -> u32;

    /// Learns from the next batch of the course; true if it was the last. Forecasts use the new
    /// knowledge from then on.
    fn work(&mut self) -> bool;

    /// Knowledge that the forecaster would have to learn again after a restart: at most
    /// [`LARGEST_FORECASTER`] bytes.
    fn memory(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Restores what [`memory`](Self::memory) gave. Called once, before the first forecast. Bytes
    /// that the forecaster does not understand count as no memory.
    fn recall(&mut self, _memory: &[u8]) {}

    /// Bytes that the forecaster holds.
    fn bytes(&self) -> usize {
        0
    }
}
