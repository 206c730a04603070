//! Uses a scorer in a scheme.

use frostline_placement::{Candidates, Past, Pasts, Recogniser};
use multiversion::multiversion;

use crate::{FeatureLayout, LANES, LearnError, Model, RecordSource, Scorer, Tiles, Trained};

/// Recognises the frozen pages of a victim: gathers features in tiles, scores them, applies a
/// threshold.
#[derive(Debug)]
pub struct PageRecogniser<S> {
    layout: FeatureLayout,
    pub(crate) threshold: f32,
    pub(crate) scorer: S,
}

impl<S: Scorer> PageRecogniser<S> {
    /// A recogniser that takes a page for frozen if its score, from these features, is above
    /// `threshold`.
    ///
    /// # Errors
    /// [`LearnError::TooFarBack`] if the features need more hotness records than are kept.
    pub fn new(layout: FeatureLayout, threshold: f32, scorer: S) -> Result<Self, LearnError> {
        match (layout.records(), layout.history()) {
            (RecordSource::Engine, history @ 3..) => Err(LearnError::TooFarBack(history)),
            _ => Ok(PageRecogniser { layout, threshold, scorer }),
        }
    }

    /// The features of a page.
    #[inline]
    pub(crate) fn features(&self, pages: &Candidates<'_>, i: usize, put: impl FnMut(f32)) {
        let past = &pages.pasts[i];
        let age = past.age(pages.now);
        match (self.layout.records(), pages.hotness) {
            (RecordSource::Engine, Some(hotness)) => self.layout.of_hotness(age, &hotness[i], put),
            _ => self.layout.of_past(age, past, put),
        }
    }

    /// Gathers the features of the pages from `from` on, up to one tile of them.
    #[inline]
    fn gather(&self, pages: &Candidates<'_>, from: usize, tile: &mut [[f32; LANES]]) {
        let pasts = &pages.pasts[from..pages.pasts.len().min(from + LANES)];
        if self.layout.records() == RecordSource::Block {
            return gather_pasts(self.layout, pages.now, pasts, tile);
        }
        let hotness = pages.hotness.unwrap_or_default().iter().skip(from);
        for (lane, (past, record)) in pasts.iter().zip(hotness).enumerate() {
            let put = column(tile.as_flattened_mut(), lane);
            self.layout.of_hotness(past.age(pages.now), record, put);
        }
    }
}

#[multiversion(targets("x86_64+avx2"))]
fn gather_pasts(layout: FeatureLayout, now: u32, pasts: &[Past], tile: &mut [[f32; LANES]]) {
    layout.of_pasts(now, &Pasts::new(pasts), tile);
}

/// Puts a page's features into its lane of a tile, one after the other.
#[inline(always)]
fn column(tile: &mut [f32], lane: usize) -> impl FnMut(f32) + '_ {
    let mut at = lane;
    move |value| {
        if let Some(place) = tile.get_mut(at) {
            *place = value;
        }
        at += LANES;
    }
}

impl Model {
    /// The recogniser that uses this model.
    ///
    /// # Errors
    /// Those of [`PageRecogniser::new`].
    pub fn recogniser(&self) -> Result<PageRecogniser<Trained>, LearnError> {
        PageRecogniser::new(self.layout(), self.threshold(), self.scorer())
    }
}

impl<S: Scorer> Recogniser for PageRecogniser<S> {
    fn wants_hotness(&self) -> bool {
        self.layout.records() == RecordSource::Engine
    }

    fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]) {
        assert_eq!(scores.len(), pages.pasts.len(), "each page has a score");
        if self.wants_hotness() && pages.hotness.is_none() {
            return scores.fill(f32::NEG_INFINITY);
        }
        let width = self.layout.width();
        let mut tile = [[0.0; LANES]; FeatureLayout::WIDEST];
        let tile = &mut tile[..width];
        for (i, scores) in scores.chunks_mut(LANES).enumerate() {
            self.gather(pages, i * LANES, tile);
            self.scorer.score(Tiles::new(width, tile.as_flattened()), scores);
            scores.iter_mut().for_each(|score| *score -= self.threshold);
        }
    }
}
