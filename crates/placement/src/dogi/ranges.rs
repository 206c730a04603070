//! The ranges of DOGI's ten classes of lifespans: on a logarithmic scale, from a hundredth of the
//! capacity on, each twice as long as the one before.

use crate::{FORECAST_CLASSES, NEVER};

/// The classes' bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    /// The bound that all lifespans of a class are below; the last class has none.
    bounds: [u32; FORECAST_CLASSES - 1],
}

impl Ranges {
    /// The ranges for a volume of `capacity` pages.
    pub(crate) fn new(capacity: u32) -> Self {
        let bound =
            |class: usize| (u64::from(capacity) << class).div_ceil(100).max(class as u64 + 1);
        let bounds: [u32; _] =
            std::array::from_fn(|class| bound(class).min(u64::from(NEVER - 1)) as u32);
        assert!(bounds.is_sorted(), "a class is searched by its bounds");
        Ranges { bounds }
    }

    /// The class of a lifespan.
    pub(crate) fn class(&self, lifespan: u32) -> usize {
        self.bounds.partition_point(|&bound| lifespan >= bound)
    }

    /// The bound that all lifespans of a class are below; `None` for the last class.
    pub(crate) fn bound(&self, class: usize) -> Option<u32> {
        self.bounds.get(class).copied()
    }

    /// A typical lifespan of a class. The last class has no bound: twice its least lifespan is
    /// taken.
    pub(crate) fn typical(&self, class: usize) -> f64 {
        let least = class.checked_sub(1).map_or(0, |before| self.bounds[before]);
        match self.bound(class) {
            Some(bound) => (f64::from(least) + f64::from(bound)) / 2.0,
            None => 2.0 * f64::from(least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_double_from_a_hundredth_of_the_capacity_on() {
        let ranges = Ranges::new(10_000);
        assert_eq!(
            [0, 99, 100, 199, 200, 25_599, 25_600, NEVER].map(|l| ranges.class(l)),
            [0, 0, 1, 1, 2, 8, 9, 9]
        );
        assert_eq!(
            (ranges.bound(0), ranges.bound(8), ranges.bound(9)),
            (Some(100), Some(25_600), None)
        );
        assert_eq!([0, 1, 9].map(|class| ranges.typical(class)), [50.0, 150.0, 51_200.0]);
    }

    #[test]
    fn a_tiny_volume_has_ten_classes_too() {
        let ranges = Ranges::new(1);
        assert!((0..8).all(|class| ranges.bound(class) < ranges.bound(class + 1)));
    }
}
