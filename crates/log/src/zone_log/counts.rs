//! Counts of a volume's writes and relocations.

/// Page writes by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassCounts {
    /// Pages written by the user into this class.
    pub user_writes: u64,
    /// Pages copied by cleaning into this class.
    pub relocations: u64,
}

/// Counts of a volume since they were last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Units of the records that the user wrote; 0 if every page takes one unit
    /// ([`Options::page_units`](crate::Options::page_units)).
    pub user_units: u64,
    /// Units of the records that cleaning copied; 0 if every page takes one unit.
    pub relocated_units: u64,
    /// User writes that were deltas or tails.
    pub delta_writes: u64,
    /// Relocations of a base that was merged with its delta and tail.
    pub merges: u64,
    /// Relocations that copied a frozen page: a version that was marked as the last of its LBA.
    pub frozen_relocations: u64,
    /// Runs: stretches of user writes in which nothing else happened. The inner loop began this
    /// often.
    pub runs: u64,
    /// Cleanings, including those that found no victim.
    pub cleanings: u64,
    /// The number of victims.
    pub zones_reclaimed: u64,
    /// Cleanings that found no victim while the trigger still asked for one.
    pub stalls: u64,
    /// Pages that went to another class than the scheme's, for want of a free zone.
    pub spilled: u64,
    /// Meta pages, which the scheme filled with its state of pages, see
    /// [`Wants::meta_pages`](frostline_placement::Wants::meta_pages).
    pub meta_pages: u64,
    /// Units that were left unused because a zone was ended early, or behind a chunk.
    pub skipped: u64,
    /// The number of victims by garbage, from none to all of a zone in equal steps: a unit each,
    /// or 65,536 steps if a zone has more units.
    pub victim_garbage: Vec<u64>,
    /// Page writes by class.
    pub classes: Vec<ClassCounts>,
}

/// The most steps in which the garbage of victims is counted: a large zone has millions of units.
const MOST_STEPS: u32 = 1 << 16;

impl Counts {
    pub(crate) fn new(zone_units: u32, classes: usize) -> Self {
        Counts {
            victim_garbage: vec![0; zone_units.min(MOST_STEPS) as usize + 1],
            classes: vec![ClassCounts::default(); classes],
            ..Counts::default()
        }
    }

    /// Counts a victim with so many garbage units of those in a zone.
    pub(crate) fn add_victim(&mut self, garbage: u32, zone_units: u32) {
        let steps = self.victim_garbage.len() as u64 - 1;
        let step = u64::from(garbage) * steps / u64::from(zone_units);
        self.victim_garbage[step as usize] += 1;
    }

    /// The same without `victim_garbage`, which is long.
    pub fn without_victims(&self) -> Counts {
        Counts { victim_garbage: Vec::new(), classes: self.classes.clone(), ..*self }
    }

    /// Write amplification: all pages written, divided by pages written by the user; the same of
    /// units if records are counted in units; 1 if there are none.
    pub fn waf(&self) -> f64 {
        match self.user_writes {
            0 => 1.0,
            _ if self.user_units > 0 => {
                (self.user_units + self.relocated_units) as f64 / self.user_units as f64
            }
            user => (user + self.relocations + self.meta_pages) as f64 / user as f64,
        }
    }

    /// Share of relocations that copied a frozen page; 0 if there are none.
    pub fn far(&self) -> f64 {
        match self.relocations {
            0 => 0.0,
            all => self.frozen_relocations as f64 / all as f64,
        }
    }

    /// The garbage proportion that a share `q` of the victims does not exceed; 0 if there are none.
    pub fn victim_gp(&self, q: f64) -> f64 {
        let victims: u64 = self.victim_garbage.iter().sum();
        let rank = ((victims as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (garbage, n) in self.victim_garbage.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return garbage as f64 / (self.victim_garbage.len() - 1) as f64;
            }
        }
        0.0
    }

    /// Mean garbage proportion of the victims, by the steps; 0 if there are none.
    pub fn mean_victim_gp(&self) -> f64 {
        let steps = self.victim_garbage.len().saturating_sub(1) as f64;
        let garbage: u64 = (0u64..).zip(&self.victim_garbage).map(|(g, n)| g * n).sum();
        match self.zones_reclaimed {
            0 => 0.0,
            n => garbage as f64 / (n as f64 * steps),
        }
    }

    /// The difference to counts that the same log had earlier.
    pub fn since(&self, earlier: &Counts) -> Counts {
        let mut since = self.clone();
        since.combine(earlier, |now, earlier| *now -= earlier);
        since
    }

    /// Adds the counts of another log.
    pub fn add(&mut self, other: &Counts) {
        let len = self.victim_garbage.len().max(other.victim_garbage.len());
        self.victim_garbage.resize(len, 0);
        let len = self.classes.len().max(other.classes.len());
        self.classes.resize(len, ClassCounts::default());
        self.combine(other, |sum, more| *sum += more);
    }

    /// Changes each count by the same one of `other`, which has no more classes.
    fn combine(&mut self, other: &Counts, change: impl Fn(&mut u64, u64)) {
        for (own, other) in self.totals().into_iter().zip(other.without_victims().totals()) {
            change(own, *other);
        }
        for (own, other) in self.victim_garbage.iter_mut().zip(&other.victim_garbage) {
            change(own, *other);
        }
        for (own, other) in self.classes.iter_mut().zip(&other.classes) {
            change(&mut own.user_writes, other.user_writes);
            change(&mut own.relocations, other.relocations);
        }
    }

    fn totals(&mut self) -> [&mut u64; 14] {
        [
            &mut self.user_writes,
            &mut self.relocations,
            &mut self.user_units,
            &mut self.relocated_units,
            &mut self.delta_writes,
            &mut self.merges,
            &mut self.frozen_relocations,
            &mut self.runs,
            &mut self.cleanings,
            &mut self.zones_reclaimed,
            &mut self.stalls,
            &mut self.spilled,
            &mut self.meta_pages,
            &mut self.skipped,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_victims_of_a_zone_of_a_gibibyte_are_counted_in_half_a_mebibyte() {
        for (units, half) in [(1000, 500), (1 << 16, 1 << 15), (1 << 24, 1 << 15)] {
            let mut counts = Counts::new(units, 1);
            for garbage in [0, units / 2, units] {
                counts.add_victim(garbage, units);
                counts.zones_reclaimed += 1;
            }
            assert!(size_of_val(&counts.victim_garbage[..]) <= (1 << 19) + 8);
            assert_eq!((counts.victim_garbage[half], counts.victim_gp(0.5)), (1, 0.5), "{units}");
            assert_eq!((counts.victim_gp(1.0), counts.mean_victim_gp()), (1.0, 0.5), "{units}");
        }
    }
}
