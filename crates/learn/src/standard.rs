//! Standardisation: features of mean 0 and deviation 1, so that no feature outweighs another by
//! its unit.

use crate::{FeatureLayout, LearnError, Linear, Set};

/// Mean and standard deviation of each feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard {
    /// Mean of each feature.
    pub means: Vec<f64>,
    /// Standard deviation of each feature over the samples (not an estimate for the population); 0
    /// leaves the feature out.
    pub deviations: Vec<f64>,
}

/// Rows in a partial sum; partial sums keep rounding errors small.
const STRETCH: usize = 4096;

impl Standard {
    /// Means and deviations of these samples.
    pub fn of(set: &Set) -> Self {
        let means = mean_of(set, &vec![0.0; set.width()], |value, _| value);
        let square = |value: f64, mean: f64| (value - mean) * (value - mean);
        let variances = mean_of(set, &means, square);
        let deviations = variances.iter().map(|variance| variance.sqrt()).collect();
        Standard { means, deviations }
    }

    /// The model for plain features, from weights of standardised features with the bias as the
    /// last value.
    pub(crate) fn linear(&self, weights: &[f64]) -> Linear {
        assert_eq!(weights.len(), self.means.len() + 1, "a weight for each feature, and the bias");
        let scale = |(w, d): (&f64, &f64)| if *d > 0.0 { w / d } else { 0.0 };
        let scaled: Vec<f64> = weights.iter().zip(&self.deviations).map(scale).collect();
        let shift: f64 = scaled.iter().zip(&self.means).map(|(w, mean)| w * mean).sum();
        let bias = (weights.last().copied().unwrap_or_default() - shift) as f32;
        Linear { weights: scaled.into_iter().map(|w| w as f32).collect(), bias }
    }

    /// The weights of standardised features that give this model; the bias is the last value.
    pub(crate) fn weights_of(&self, model: &Linear) -> Vec<f64> {
        assert_eq!(model.weights.len(), self.means.len(), "each feature has a weight");
        let weights = model.weights.iter().map(|&w| f64::from(w));
        let shift: f64 = weights.clone().zip(&self.means).map(|(w, mean)| w * mean).sum();
        let scaled = weights.zip(&self.deviations).map(|(w, deviation)| w * deviation);
        scaled.chain([f64::from(model.bias) + shift]).collect()
    }

    /// Leaves out all features except those of these fields.
    ///
    /// # Errors
    /// [`LearnError::UnknownFeature`].
    pub fn only(mut self, layout: FeatureLayout, fields: &[String]) -> Result<Self, LearnError> {
        let known = layout.fields();
        if let Some(name) = fields.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(LearnError::UnknownFeature { name: name.clone(), known: known.join(" ") });
        }
        for (name, deviation) in layout.names().iter().zip(&mut self.deviations) {
            let field = name.trim_end_matches(|c: char| c == '-' || c.is_ascii_digit());
            if !fields.iter().any(|wanted| wanted == field) {
                *deviation = 0.0;
            }
        }
        Ok(self)
    }

    /// Standardises a sample's features; constant ones become 0.
    #[inline(always)]
    pub(crate) fn apply(&self, row: &[f32], standard: &mut [f64]) {
        debug_assert_eq!(row.len(), self.means.len(), "each feature has a scale");
        debug_assert_eq!(row.len(), standard.len(), "each feature is standardised");
        let with = self.means.iter().zip(&self.deviations);
        for ((to, from), (mean, deviation)) in standard.iter_mut().zip(row).zip(with) {
            *to = if *deviation > 0.0 { (f64::from(*from) - mean) / deviation } else { 0.0 };
        }
    }
}

/// The mean over all samples of `of`, applied to each feature's value and the feature's entry of
/// `with`.
fn mean_of(set: &Set, with: &[f64], of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    assert_eq!(with.len(), set.width(), "each feature has an entry");
    let mut totals = vec![0.0; set.width()];
    let mut sums = totals.clone();
    for rows in set.rows().chunks(STRETCH * set.width()) {
        sums.fill(0.0);
        for row in rows.chunks_exact(set.width()) {
            for ((sum, value), with) in sums.iter_mut().zip(row).zip(with) {
                *sum += of(f64::from(*value), *with);
            }
        }
        totals.iter_mut().zip(&sums).for_each(|(total, sum)| *total += sum);
    }
    let samples = set.len().max(1) as f64;
    totals.iter().map(|total| total / samples).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordSource;

    #[test]
    fn what_is_not_wanted_or_never_varies_counts_for_nothing() {
        let layout = FeatureLayout::new(RecordSource::Block, 2).unwrap();
        let mut set = Set::new(7);
        for (i, x) in [2.0, 4.0].into_iter().enumerate() {
            set.put(i, false, |put| [x, x, 5.0, x, x, x, x].into_iter().for_each(put));
        }
        let fields = ["write-time", "request-pages"].map(String::from);
        let standard = Standard::of(&set).only(layout, &fields).unwrap();
        assert_eq!(standard.means, [3.0, 3.0, 5.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(standard.deviations, [0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
        let mut row = [9.0; 7];
        standard.apply(set.row(1), &mut row);
        assert_eq!(row, [0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
        let unknown = Standard::of(&set).only(layout, &["accesses".to_string()]);
        assert!(unknown.unwrap_err().to_string().contains("known: writes write-time"));
    }
}
