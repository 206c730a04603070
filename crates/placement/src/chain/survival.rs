//! The lifespans of versions, as a survival curve with precomputed sums.

/// The share of versions that reach an age, and figures that follow from it.
///
/// Ages are in user writes. The curve is known at multiples of a unit and linear in between. Its
/// sums are prefix sums, so each answer costs the same however long the curve is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SurvivalCurve {
    unit: f64,
    /// Share that lives for `k` units or longer; the last entry is the share whose end was not
    /// seen.
    alive: Vec<f64>,
    /// Area below `alive` up to `k` units, in user writes.
    area: Vec<f64>,
    /// Sum of the lifespans that end before `k` units, each weighted by its share.
    lived: Vec<f64>,
}

impl SurvivalCurve {
    /// The curve through the shares that live for 0, 1, 2... units of `unit` user writes or longer.
    /// The shares begin with 1 and never rise.
    pub(crate) fn new(unit: f64, alive: Vec<f64>) -> Self {
        assert!(unit > 0.0 && !alive.is_empty(), "a curve has a beginning");
        debug_assert!(alive.is_sorted_by(|a, b| a >= b), "nobody rises from the dead");
        let mut area = Vec::with_capacity(alive.len());
        let mut lived = Vec::with_capacity(alive.len());
        let (mut below, mut sum) = (0.0, 0.0);
        for (k, &share) in alive.iter().enumerate() {
            area.push(below);
            lived.push(sum);
            let next = alive.get(k + 1).copied().unwrap_or(share);
            below += unit * (share + next) / 2.0;
            sum += (share - next) * (k as f64 + 0.5) * unit;
        }
        SurvivalCurve { unit, alive, area, lived }
    }

    /// The age at which the curve ends.
    pub(crate) fn end(&self) -> f64 {
        self.unit * (self.alive.len() - 1) as f64
    }

    /// The share that lives beyond the end of the curve.
    pub(crate) fn endless(&self) -> f64 {
        self.alive.last().copied().unwrap_or(0.0)
    }

    /// The share that lives for `age` or longer.
    #[inline]
    pub(crate) fn alive(&self, age: f64) -> f64 {
        self.between(&self.alive, age)
    }

    /// The number of pages younger than `age`, in a volume that is written one page at a time.
    pub(crate) fn younger(&self, age: f64) -> f64 {
        let age = age.min(self.end());
        let k = ((age / self.unit) as usize).min(self.alive.len() - 1);
        let rest = age - k as f64 * self.unit;
        self.area[k] + rest * (self.alive[k] + self.alive(age)) / 2.0
    }

    /// The sum of the lifespans below `age`, each weighted by its share.
    pub(crate) fn lived(&self, age: f64) -> f64 {
        self.between(&self.lived, age)
    }

    /// The time for which a queue of `size` pages keeps each page, if it takes just the versions
    /// that die within that time (Little's law): the age `a` at which `a` times the share that dies
    /// before `a` is `size`. `None` if the curve ends before.
    pub(crate) fn age_of_queue(&self, size: f64) -> Option<f64> {
        let held = |k: usize| k as f64 * self.unit * (1.0 - self.alive[k]);
        let (mut low, mut high) = (0, self.alive.len() - 1);
        if held(high) < size {
            return None;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if held(middle) < size { low = middle } else { high = middle }
        }
        Some(high as f64 * self.unit)
    }

    /// The age that at most `share` of the versions reach; `None` if the curve does not fall so
    /// far.
    pub(crate) fn age_at(&self, share: f64) -> Option<f64> {
        let k = self.alive.partition_point(|&alive| alive > share);
        (k < self.alive.len()).then_some(k as f64 * self.unit)
    }

    fn between(&self, column: &[f64], age: f64) -> f64 {
        let place = age / self.unit;
        let k = place as usize;
        match (column.get(k), column.get(k + 1)) {
            (Some(a), Some(b)) => a + (b - a) * (place - k as f64),
            _ => column.last().copied().unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_answers_from_its_sums_what_adding_up_would() {
        // Half die in the first ten writes, evenly, a quarter in the next ten; a quarter never.
        let curve = SurvivalCurve::new(10.0, vec![1.0, 0.5, 0.25]);
        assert_eq!((curve.alive(0.0), curve.alive(5.0), curve.alive(15.0)), (1.0, 0.75, 0.375));
        assert_eq!((curve.end(), curve.endless(), curve.alive(99.0)), (20.0, 0.25, 0.25));
        assert_eq!(curve.younger(10.0), 7.5);
        assert_eq!(curve.younger(15.0), 7.5 + 5.0 * (0.5 + 0.375) / 2.0);
        assert_eq!(curve.lived(20.0), 0.5 * 5.0 + 0.25 * 15.0);
    }

    #[test]
    fn a_queue_keeps_its_pages_for_its_size_over_their_share() {
        let curve = SurvivalCurve::new(10.0, vec![1.0, 0.5, 0.25]);
        assert_eq!(curve.age_of_queue(5.0), Some(10.0), "half of all writes, ten writes long");
        assert_eq!(curve.age_of_queue(15.0), Some(20.0));
        assert_eq!(curve.age_of_queue(15.1), None);
    }
}
