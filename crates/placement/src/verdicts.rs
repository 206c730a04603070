//! Pages that a scheme took for frozen as they were copied, and those that were: a trace tells
//! which writes are the last ones. A store knows of none, and then nothing is counted.

use crate::events::UserWrite;

/// Verdicts on pages that were copied, against what becomes of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdicts {
    /// True once a write was a last one.
    told: bool,
    /// Copies by whether the page was taken for frozen, and whether it is.
    copies: [[u64; 2]; 2],
}

impl Verdicts {
    /// The user writes a page.
    #[inline(always)]
    pub(crate) fn written(&mut self, write: &UserWrite<'_>) {
        self.told |= write.last;
    }

    /// A page is copied that was taken for frozen or not, and that is or is not.
    #[inline(always)]
    pub(crate) fn copied(&mut self, taken: bool, frozen: bool) {
        self.copies[usize::from(taken)][usize::from(frozen)] += u64::from(self.told);
    }

    /// Share of the copied pages taken for frozen that were frozen, and share of the copied frozen
    /// pages that were taken for it, under these names; none before such pages were copied.
    pub(crate) fn gauges(&self, names: [&'static str; 2]) -> Vec<(&'static str, f64)> {
        let [[_, missed], [wrong, right]] = self.copies;
        let share = |other| right as f64 / (right + other) as f64;
        let shares = names.into_iter().zip([share(wrong), share(missed)]);
        shares.filter(|(_, share)| share.is_finite()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_are_of_copies_once_the_trace_tells_of_last_writes() {
        let names = ["precision", "recall"];
        let mut verdicts = Verdicts::default();
        verdicts.copied(true, false);
        assert_eq!(verdicts.gauges(names), vec![], "a store's");
        verdicts.written(&UserWrite { last: true, ..UserWrite::first(3, 1) });
        verdicts.written(&UserWrite::first(64, 2));
        let copies = [(true, true), (true, true), (true, false), (false, true), (false, true)];
        copies.into_iter().for_each(|(taken, frozen)| verdicts.copied(taken, frozen));
        assert_eq!(verdicts.gauges(names), [("precision", 2.0 / 3.0), ("recall", 0.5)]);
    }
}
