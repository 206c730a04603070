//! Pages that a scheme took for frozen as they were copied, and those that were: a trace tells which
//! writes are the last ones. A store knows of none, and then nothing is kept or counted.

use crate::events::UserWrite;

/// Verdicts on pages that were copied, against what became of them.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    /// A bit for each LBA, set from its last write on; empty while no write was a last one.
    frozen: Vec<u64>,
    /// Copies by whether the page was taken for frozen, and whether it was.
    copies: [[u64; 2]; 2],
}

impl Verdicts {
    /// The user writes a page.
    #[inline(always)]
    pub fn written(&mut self, write: &UserWrite<'_>) {
        if write.last {
            self.freeze(write.lba);
        }
    }

    #[inline(never)]
    fn freeze(&mut self, lba: u32) {
        let word = lba as usize / 64;
        if self.frozen.len() <= word {
            self.frozen.resize(word + 1, 0);
        }
        self.frozen[word] |= 1 << (lba % 64);
    }

    /// A page is copied that was taken for frozen or not.
    #[inline(always)]
    pub fn copied(&mut self, lba: u32, taken: bool) {
        if !self.frozen.is_empty() {
            let word = self.frozen.get(lba as usize / 64).copied().unwrap_or(0);
            let frozen = word >> (lba % 64) & 1;
            self.copies[usize::from(taken)][frozen as usize] += 1;
        }
    }

    /// Share of the copied pages taken for frozen that were frozen, and share of the copied frozen
    /// pages that were taken for it, under these names; none before such pages were copied.
    pub fn gauges(&self, names: [&'static str; 2]) -> Vec<(&'static str, f64)> {
        let [[_, missed], [wrong, right]] = self.copies;
        let share = |other| right as f64 / (right + other) as f64;
        let shares = names.into_iter().zip([share(wrong), share(missed)]);
        shares.filter(|(_, share)| share.is_finite()).collect()
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.frozen[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_and_recall_are_of_copies_once_the_trace_tells_of_last_writes() {
        let names = ["precision", "recall"];
        let mut verdicts = Verdicts::default();
        verdicts.copied(3, true);
        assert_eq!((verdicts.gauges(names), verdicts.bytes()), (vec![], 0), "a store's");
        for lba in [3, 200] {
            verdicts.written(&UserWrite { last: true, ..UserWrite::first(lba, 1) });
        }
        verdicts.written(&UserWrite::first(64, 2));
        let copies = [(3, true), (200, false), (200, true), (64, true), (4, true), (9999, false)];
        copies.into_iter().for_each(|(lba, taken)| verdicts.copied(lba, taken));
        assert_eq!(verdicts.gauges(names), [("precision", 0.5), ("recall", 2.0 / 3.0)]);
    }
}
