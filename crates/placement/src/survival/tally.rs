//! Counts by row and age, in a table that is larger than the nearest caches.

use super::ages::AGES;

/// One number for each bucket of ages.
pub type AgeColumn = [f32; AGES];

/// Increments that are noted before they are applied.
const NOTED: usize = 64;

/// Counts that fade. Increments are noted first and applied together, so that the processor waits
/// for their memory once and not for each.
#[derive(Clone, Debug)]
pub struct AgeTally {
    columns: Vec<AgeColumn>,
    noted: [u32; NOTED],
    pending: usize,
}

impl AgeTally {
    /// Counts of `rows` rows, all zero.
    pub fn new(rows: usize) -> Self {
        AgeTally { columns: vec![[0.0; AGES]; rows], noted: [0; NOTED], pending: 0 }
    }

    /// Counts one more for a row and age.
    #[inline(always)]
    pub fn count(&mut self, row: usize, age: usize) {
        if self.pending >= NOTED {
            self.settle();
        }
        self.noted[self.pending] = (row * AGES + age) as u32;
        self.pending += 1;
    }

    #[inline(never)]
    fn settle(&mut self) {
        let counts = self.columns.as_flattened_mut();
        for &place in &self.noted[..self.pending] {
            counts[place as usize] += 1.0;
        }
        self.pending = 0;
    }

    /// The counts, including those that were only noted.
    pub fn columns(&mut self) -> &mut [AgeColumn] {
        self.settle();
        &mut self.columns
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
