//! The scores of pages.

use crate::Tiles;

/// Gives each page a score: the higher, the more likely it is frozen.
pub trait Scorer: std::fmt::Debug + Send + Sync {
    /// Sets the score of each page of `tiles`; `scores` has an entry for each. Allocates nothing.
    fn score(&self, tiles: Tiles<'_>, scores: &mut [f32]);
}
