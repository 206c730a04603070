//! The zones of the authors' simulator.

use frostline_log::ZoneTable;
use frostline_placement::ZoneView;

/// Zones in a hash table, whose order of iteration decides among equal victims; the trace's time of
/// each zone's seal is kept, too.
pub(super) struct Zones {
    pub table: ZoneTable,
    /// The least garbage of a victim, in pages.
    least_garbage: u32,
    sealed_at: Vec<u64>,
    /// The place of each zone in the order of iteration.
    ranks: Vec<u64>,
    buckets: u64,
}

impl Zones {
    pub(super) fn new(zone_pages: u32, least_garbage: u32) -> Self {
        let table = ZoneTable::new(zone_pages);
        Zones { table, least_garbage, sealed_at: vec![0], ranks: vec![0], buckets: 16 }
    }

    pub(super) fn add(&mut self) -> u32 {
        self.sealed_at.push(0);
        self.ranks.push(0);
        let zone = self.table.add();
        let columns = [self.sealed_at.len(), self.ranks.len()];
        assert_eq!(columns, [self.table.len(); 2], "columns of one table");
        zone
    }

    pub(super) fn open(&mut self, zone: u32, class: usize, now: u32) {
        self.table.open(zone, class, now);
        self.ranks[zone as usize] = self.rank(zone);
        // The hash table doubles when it is three quarters full.
        if self.table.live() * 4 > self.buckets * 3 {
            self.buckets *= 2;
            for zone in 1..self.table.len() as u32 {
                self.ranks[zone as usize] = self.rank(zone);
            }
        }
    }

    pub(super) fn seal(&mut self, zone: u32, now: u32, clock: u64) {
        self.table.seal(zone, now);
        self.sealed_at[zone as usize] = clock;
    }

    /// The zones as policies and schemes see them.
    pub(super) fn view(&self, now: u32) -> ZoneView<'_> {
        self.table.view(now).with_least_garbage(self.least_garbage).with_ranks(&self.ranks)
    }

    /// The trace's time since the zone was sealed.
    pub(super) fn age(&self, zone: u32, clock: u64) -> u64 {
        clock.saturating_sub(self.sealed_at[zone as usize])
    }

    /// The place of a zone in the order of iteration: by bucket, then in the order of opening.
    fn rank(&self, zone: u32) -> u64 {
        let serial = self.table.open_order(zone);
        debug_assert!(self.buckets.is_power_of_two() && serial < 1 << 40, "a rank has two parts");
        let bucket = (serial ^ (serial >> 16)) & (self.buckets - 1);
        bucket << 40 | serial
    }
}

#[cfg(test)]
mod tests {
    use frostline_placement::victims;

    use super::*;

    #[test]
    fn ties_follow_the_order_of_the_hash_table() {
        let mut zones = Zones::new(10, 1);
        for serial in 0..18 {
            let zone = zones.add();
            zones.open(zone, 0, 0);
            zones.table.discard(zone, u32::from(serial >= 15) * 5);
            zones.seal(zone, 0, 0);
        }
        // 18 live zones: 32 buckets, so serial 15 (zone 16) comes first.
        assert_eq!(victims::build("greedy", 7).unwrap().pick(&zones.view(0)), Some(16));
        (1..=10).for_each(|zone| zones.table.free(zone));
        let zone = zones.add();
        zones.open(zone, 0, 0);
        assert_eq!([zone, 16].map(|z| zones.rank(z)), [18 << 40 | 18, 15 << 40 | 15]);
    }
}
