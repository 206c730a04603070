//! Deltas: a page may be written as its difference to the last image of it, its base, and then as
//! the difference to both, its tail. Both are records with LBAs of their own, which are placed like
//! any other; here is what depends on all three.

use frostline_placement::Scheme;

use super::{Given, Steps};
use crate::LogError;
use crate::map::{Map, PageEntry};
use crate::places::Extent;
use crate::zone_log::Placed;

/// The units of a base, of its delta and tail, and of the image that all make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeUnits {
    /// Of the base.
    pub base: u32,
    /// Of its delta.
    pub delta: u32,
    /// Of its tail; 0 if there is none.
    pub tail: u32,
    /// Of the image that all make.
    pub merged: u32,
}

impl MergeUnits {
    /// True if the merged image is placed: cleaning must not need more room than it frees.
    pub fn fit(&self) -> bool {
        self.merged <= self.base + self.delta + self.tail
    }
}

/// True if a page may be written as a delta of so many units: the base is longer.
pub fn takes_delta(base: u32, delta: u32) -> bool {
    delta < base
}

impl<S: Scheme, M: Map<S::Page>> Steps<S, M> {
    /// True if cleaning may merge a base that it moves with its delta. A merged image is larger
    /// than the record that it replaces: where no zone can be opened it might not fit.
    pub fn may_merge(&self) -> bool {
        self.log.can_open()
    }

    /// Places a page's base, a valid record of a victim, merged with the page's delta and its tail,
    /// which become garbage. Otherwise as [`Steps::place_relocation`].
    ///
    /// # Errors
    /// Those of [`Steps::place_relocation`].
    pub fn place_merged(
        &mut self,
        (page, base): (u64, &mut PageEntry<S::Page>),
        [delta, tail]: [(u64, &mut PageEntry<S::Page>); 2],
        from: Extent,
        units: MergeUnits,
        given: Given,
    ) -> Result<Option<Placed>, LogError> {
        let placed = self.place_relocation(page, base, from, units.merged, given)?;
        if placed.is_some() {
            debug_assert!(units.merged <= self.log.options().page_units, "an image is a page");
            self.trim_entry(delta.0, delta.1, units.delta)?;
            self.trim_entry(tail.0, tail.1, units.tail)?;
            self.log.count_merge();
        }
        Ok(placed)
    }
}
