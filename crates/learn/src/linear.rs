//! Linear models: a weight for each feature.

use crate::{LANES, Scorer, Tiles};

/// A weighted sum of the features. Above 0 a page is more likely frozen than not; with logistic
/// regression the sum is the log-odds.
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// A weight for each feature that is not standardised.
    pub weights: Vec<f32>,
    /// The score of a page whose features are all 0.
    pub bias: f32,
}

impl Linear {
    #[inline(always)]
    fn score_tile(&self, columns: &[[f32; LANES]]) -> [f32; LANES] {
        let mut sums = [self.bias; LANES];
        debug_assert_eq!(columns.len(), self.weights.len(), "each feature has a weight");
        weigh(&self.weights, columns, &mut sums);
        sums
    }
}

/// Adds the weighted values of each page of a tile to its sum.
#[inline(always)]
pub(crate) fn weigh(weights: &[f32], columns: &[[f32; LANES]], sums: &mut [f32; LANES]) {
    debug_assert!(columns.len() <= weights.len(), "each column has a weight");
    for (column, weight) in columns.iter().zip(weights) {
        for (sum, value) in sums.iter_mut().zip(column) {
            *sum += weight * value;
        }
    }
}

impl Scorer for Linear {
    fn score(&self, tiles: Tiles<'_>, scores: &mut [f32]) {
        let mut columns = tiles.columns();
        let (whole, rest) = scores.as_chunks_mut();
        for (scores, columns) in whole.iter_mut().zip(&mut columns) {
            *scores = self.score_tile(columns);
        }
        if let Some(columns) = columns.next() {
            rest.copy_from_slice(&self.score_tile(columns)[..rest.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tiled;

    #[test]
    fn scores_are_dot_products_to_the_last_page() {
        let linear = Linear { weights: vec![2.0, -1.0, 0.5], bias: 0.25 };
        for pages in [0, 1, 15, 16, 17, 100] {
            let rows: Vec<f32> = (0..pages * 3).map(|i| (i * 7 % 13) as f32).collect();
            let mut scores = vec![f32::NAN; pages];
            linear.score(Tiles::new(3, &tiled(&rows, 3)), &mut scores);
            let dot = |row: &[f32]| 0.25 + 2.0 * row[0] - row[1] + 0.5 * row[2];
            assert_eq!(scores, rows.chunks(3).map(dot).collect::<Vec<_>>());
        }
    }
}
