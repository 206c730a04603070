//! Counts by row and age, in a table that is larger than the nearest caches.

use super::ages::AGES;
use crate::prefetch::prefetch;

/// One number for each bucket of ages.
pub type AgeColumn = [f32; AGES];

/// Counts that fade. An increment is applied when the next one comes, so that the processor does
/// not wait for its memory.
#[derive(Clone, Debug)]
pub struct AgeTally {
    /// The counts, and a place for no count.
    counts: Vec<f32>,
    /// The place of the increment that is not applied yet.
    due: usize,
}

impl AgeTally {
    /// Counts of `rows` rows, all zero.
    pub fn new(rows: usize) -> Self {
        AgeTally { counts: vec![0.0; rows * AGES + 1], due: rows * AGES }
    }

    /// Counts one more for a row and age.
    #[inline(always)]
    pub fn count(&mut self, row: usize, age: usize) {
        let due = std::mem::replace(&mut self.due, row * AGES + age);
        prefetch::<_, 1>(&self.counts, self.due);
        self.counts[due] += 1.0;
    }

    /// The counts.
    pub fn columns(&mut self) -> &mut [AgeColumn] {
        let none = self.counts.len() - 1;
        let due = std::mem::replace(&mut self.due, none);
        self.counts[due] += 1.0;
        self.counts.as_chunks_mut().0
    }

    /// Keeps `share` of the counts of the first `rows` rows.
    pub fn fade(&mut self, rows: usize, share: f32) {
        let counts = self.columns()[..rows].as_flattened_mut();
        counts.iter_mut().for_each(|count| *count *= share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_counted_before_anyone_looks() {
        let mut tally = AgeTally::new(3);
        for i in 0..200 {
            tally.count(i % 3, 7);
        }
        assert_eq!([0, 1, 2].map(|row| tally.columns()[row][7]), [67.0, 67.0, 66.0]);
        tally.count(2, 7);
        tally.fade(2, 0.0);
        assert_eq!([0, 1, 2].map(|row| tally.columns()[row][7]), [0.0, 0.0, 67.0]);
    }
}
