//! Rules that need no training, to compare models with. They give no degrees: their scores are
//! infinite.

use crate::{FeatureLayout, LANES, LearnError, Scorer, Tiles};

/// The one-bit filter: a page that the user rewrote within one logical capacity of writes is not
/// frozen; every other page is. It needs one bit a page.
#[derive(Clone, Copy, Debug)]
pub struct OneBit {
    lifespan: usize,
    longest: f32,
}

impl OneBit {
    /// The rule for features of this layout and a volume of `capacity` pages.
    ///
    /// # Errors
    /// [`LearnError::History`] if the layout does not look at two writes.
    pub fn new(layout: FeatureLayout, capacity: u32) -> Result<Self, LearnError> {
        let lifespan = layout.lifespan().ok_or(LearnError::History(layout.history()))?;
        Ok(OneBit { lifespan, longest: frostline_placement::log2_1p(capacity) })
    }
}

impl Scorer for OneBit {
    fn score(&self, tiles: Tiles<'_>, scores: &mut [f32]) {
        for (columns, scores) in tiles.columns().zip(scores.chunks_mut(LANES)) {
            for (score, &lifespan) in scores.iter_mut().zip(&columns[self.lifespan]) {
                let rewritten = lifespan > 0.0 && lifespan <= self.longest;
                *score = if rewritten { f32::NEG_INFINITY } else { f32::INFINITY };
            }
        }
    }
}

/// 2R's rule: every page that cleaning finds valid is frozen (Kang et al., PVLDB 13(11), 2020,
/// section 4).
#[derive(Clone, Copy, Debug)]
pub struct EveryPage;

impl Scorer for EveryPage {
    fn score(&self, _: Tiles<'_>, scores: &mut [f32]) {
        scores.fill(f32::INFINITY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RecordSource, tiled};

    #[test]
    fn one_bit_parts_pages_by_their_last_rewrite() {
        let layout = FeatureLayout::new(RecordSource::Block, 2).unwrap();
        let rule = OneBit::new(layout, 1023).unwrap();
        let row = |lifespan| [1.0, 0.0, 0.0, 0.0, lifespan, 0.0, 0.0];
        let rows = [row(0.0), row(9.9), row(10.0), row(10.1)].concat();
        let mut scores = [0.0; 4];
        rule.score(Tiles::new(7, &tiled(&rows, 7)), &mut scores);
        let (yes, no) = (f32::INFINITY, f32::NEG_INFINITY);
        assert_eq!(scores, [yes, no, no, yes]);
        assert!(OneBit::new(FeatureLayout::new(RecordSource::Block, 1).unwrap(), 9).is_err());
    }
}
