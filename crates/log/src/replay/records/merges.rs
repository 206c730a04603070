//! The images that cleaning made in the trace, of pages with deltas.

use crate::writes::Writes;
use crate::{Array, LogError};

/// For each page, the next of the merges that the trace has of its present version, counted from 1;
/// 0 if there is none.
pub(super) struct Merges(Array<u32>);

impl Merges {
    pub(super) fn new(space: usize) -> Result<Self, LogError> {
        Ok(Merges(Array::zeroed(space)?))
    }

    /// Finds the merges that the trace has of the version that write `i` is.
    pub(super) fn find(&mut self, page: u32, writes: &Writes<'_>, i: usize) {
        let first = writes.merges().partition_point(|merge| (merge.write as usize) < i);
        let found = writes.merges().get(first).is_some_and(|merge| merge.write as usize == i);
        self.0[page as usize] = if found { first as u32 + 1 } else { 0 };
    }

    /// Units of the image that a page's base, delta and tail made in the trace. A version may have
    /// been tried several times, because an image that is longer than all is not placed.
    pub(super) fn next(&mut self, page: u32, writes: &Writes<'_>, most: u32) -> Option<u32> {
        let next = self.0.get_mut(page as usize)?;
        let at = next.checked_sub(1)? as usize;
        let merge = writes.merges().get(at)?;
        let again = writes.merges().get(at + 1).is_some_and(|other| other.write == merge.write);
        *next += u32::from(again);
        // An image is no longer than a page, whatever a trace says.
        Some(writes.lengths?.units_of(merge.bytes).min(most))
    }
}
