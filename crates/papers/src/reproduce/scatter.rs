//! The mean of a figure over traces that differ only by chance, and the differences that exceed
//! chance.

use super::experiment::{Experiment, Figure};
use super::run::Run;
use super::tables::{Cell, headings};

/// A difference within this many standard deviations of a single difference counts as none.
const NOISE: f64 = 2.0;

/// A row for each scheme, and for each change a row with the differences on the same trace.
pub(super) fn table(
    experiment: &Experiment,
    figure: Figure,
    runs: &[Run],
) -> (Vec<String>, Vec<Vec<Cell>>) {
    let of = |scheme: &str| -> Vec<f64> {
        let runs = runs.iter().filter(|run| run.report.scheme == scheme);
        runs.filter_map(|run| (figure.of)(run).value()).collect()
    };
    let mut rows = Vec::new();
    for &scheme in experiment.schemes {
        let values = of(scheme);
        let (mean, deviation) = moments(&values);
        let share = Cell::Share(deviation / mean);
        rows.push(vec![Cell::text(scheme), Cell::waf(mean), share, Cell::text("")]);
    }
    for &(to, from, _) in experiment.changes {
        let (to_values, from_values) = (of(to), of(from));
        let pairs = to_values.iter().zip(&from_values);
        let changes: Vec<f64> = pairs.map(|(to, from)| to / from - 1.0).collect();
        let (mean, deviation) = moments(&changes);
        let name = format!("{to} against {from}");
        let verdict = Cell::Text(verdict(mean, deviation));
        rows.push(vec![Cell::Text(name), Cell::change(mean), Cell::Share(deviation), verdict]);
    }
    let mean = format!("{}, mean", figure.heading);
    (headings(["scheme", mean.as_str(), "deviation", "difference"]), rows)
}

/// A difference in words: none if it is within chance.
fn verdict(mean: f64, deviation: f64) -> String {
    let is_chance = mean.abs() <= NOISE * deviation || !mean.is_finite();
    let word = if mean < 0.0 { "less" } else { "more" };
    if is_chance { "none" } else { word }.to_string()
}

/// The mean and the standard deviation of a sample.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_within_two_deviations_is_none() {
        assert_eq!(verdict(-0.03, 0.01), "less");
        assert_eq!(verdict(0.019, 0.01), "none");
        assert_eq!(verdict(0.021, 0.01), "more");
        assert_eq!(verdict(f64::NAN, f64::NAN), "none");
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let (mean, deviation) = moments(&[1.0, 2.0, 3.0]);
        assert_eq!((mean, deviation), (2.0, 1.0));
    }
}
