//! The lifespans that pages turned out to have, beside the class that was forecast for them.

use crate::FORECAST_CLASSES;

/// Versions by the class that was forecast for them and the class of their true lifespan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcomes {
    counts: [[u32; FORECAST_CLASSES]; FORECAST_CLASSES],
}

impl Outcomes {
    /// A version had a lifespan of a class.
    pub(crate) fn add(&mut self, forecast: usize, class: usize) {
        self.counts[forecast][class] += 1;
    }

    /// Versions with this forecast, counted by the class of their true lifespan.
    pub(crate) fn of(&self, forecast: usize) -> &[u32; FORECAST_CLASSES] {
        &self.counts[forecast]
    }

    /// All versions.
    pub(crate) fn all(&self) -> u32 {
        self.counts.iter().flatten().sum()
    }

    /// The share of right forecasts, and the share of those that are wrong by one class at most.
    pub(crate) fn accuracy(&self) -> (f64, f64) {
        let within = |most: usize| {
            let near =
                |f: usize, c: usize| if f.abs_diff(c) <= most { self.counts[f][c] } else { 0 };
            let row = |f: usize| (0..FORECAST_CLASSES).map(|c| near(f, c)).sum::<u32>();
            let near: u32 = (0..FORECAST_CLASSES).map(row).sum();
            f64::from(near) / f64::from(self.all().max(1))
        };
        (within(0), within(1))
    }
}
