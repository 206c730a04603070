//! Classes by the logarithm of a count, as AutoStream's schemes have them.

/// floor(ln(count)), capped: compares with the smallest integers that reach e, e^2, e^3...
#[derive(Clone, Debug)]
pub struct LogClass {
    /// The smallest integers that reach e, e^2, e^3...: 3, 8, 21, 55...
    steps: Vec<u32>,
}

impl LogClass {
    /// Classes 0 to `last`. A class that no count of 32 bits reaches stays empty.
    pub fn new(last: usize) -> Self {
        let reached = (1..=last).map(|k| (k as f64).exp().ceil());
        LogClass {
            steps: reached.take_while(|&x| x < f64::from(u32::MAX)).map(|x| x as u32).collect(),
        }
    }

    /// The class of a count; a count of 0 is taken as 1.
    #[inline(always)]
    pub fn of(&self, count: u32) -> u8 {
        self.steps.iter().map(|&step| u8::from(count >= step)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_change_where_the_natural_logarithm_passes_an_integer() {
        let classes = LogClass::new(4);
        let of = [1, 2, 3, 7, 8, 20, 21, 54, 55, u32::MAX].map(|count| classes.of(count));
        assert_eq!(of, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]);
        for count in 1..200_000u32 {
            let exact = (f64::from(count).ln().floor() as u8).min(60);
            assert_eq!(LogClass::new(60).of(count), exact);
        }
    }
}
