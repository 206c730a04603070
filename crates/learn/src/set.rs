//! Samples in memory.

/// Samples of pages: the features at the time of the sample, and whether the page was frozen.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    width: usize,
    rows: Vec<f32>,
    frozen: Vec<bool>,
}

impl Set {
    /// An empty set for samples with `width` features.
    pub fn new(width: usize) -> Self {
        Set { width, rows: Vec::new(), frozen: Vec::new() }
    }

    /// Features in a sample.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of samples.
    pub fn len(&self) -> usize {
        self.frozen.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.frozen.is_empty()
    }

    /// The features of all samples, one sample after the other.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// For each sample, true if its page is frozen.
    pub fn frozen(&self) -> &[bool] {
        &self.frozen
    }

    /// The features of a sample.
    #[inline]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.rows[i * self.width..(i + 1) * self.width]
    }

    /// Samples whose page is frozen.
    pub fn frozen_samples(&self) -> usize {
        self.frozen.iter().filter(|&&frozen| frozen).count()
    }

    /// The same samples with their first `width` features only.
    ///
    /// # Panics
    /// If they have fewer.
    pub fn narrowed(&self, width: usize) -> Set {
        assert!(width <= self.width, "a sample has fewer features than are kept");
        let rows = self.rows.chunks_exact(self.width).flat_map(|row| &row[..width]);
        Set { width, rows: rows.copied().collect(), frozen: self.frozen.clone() }
    }

    /// Replaces sample `i`, or appends it if there is none.
    ///
    /// # Panics
    /// If `row` has another length than the rows of the set.
    pub fn put_row(&mut self, i: usize, frozen: bool, row: &[f32]) {
        assert_eq!(row.len(), self.width, "each feature has a value");
        match self.rows.chunks_exact_mut(self.width).nth(i) {
            Some(place) => {
                place.copy_from_slice(row);
                self.frozen[i] = frozen;
            }
            None => {
                self.rows.extend_from_slice(row);
                self.frozen.push(frozen);
            }
        }
    }

    /// Replaces sample `i`, or appends it if there is none; its features come from `fill`.
    pub fn put(&mut self, i: usize, frozen: bool, fill: impl FnOnce(&mut dyn FnMut(f32))) {
        if i >= self.len() {
            fill(&mut |value| self.rows.push(value));
            self.frozen.push(frozen);
            debug_assert_eq!(self.rows.len(), self.len() * self.width, "each feature has a value");
            self.rows.resize(self.len() * self.width, 0.0);
            return;
        }
        let mut row = self.rows[i * self.width..].iter_mut();
        fill(&mut |value| row.by_ref().take(1).for_each(|place| *place = value));
        self.frozen[i] = frozen;
    }
}
