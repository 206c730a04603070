//! The zones as the authors' simulator keeps them.

use frostline_placement::ZoneTable;

/// Zones in a hash table, whose order of iteration decides among equal victims, with the trace's time
/// of their seals.
pub struct Zones {
    pub table: ZoneTable,
    sealed_at: Vec<u64>,
    buckets: u64,
}

impl Zones {
    pub fn new(zone_pages: u32, least_garbage: i32) -> Self {
        let mut table = ZoneTable::new(zone_pages, least_garbage);
        table.ranks.push(0);
        Zones { table, sealed_at: vec![0], buckets: 16 }
    }

    pub fn add(&mut self) -> u32 {
        self.sealed_at.push(0);
        self.table.ranks.push(0);
        self.table.add()
    }

    pub fn open(&mut self, zone: u32, class: usize, now: u32) {
        self.table.open(zone, class, now);
        self.table.ranks[zone as usize] = self.rank(zone);
        // The hash table doubles at three quarters.
        if self.table.live() * 4 > self.buckets * 3 {
            self.buckets *= 2;
            for zone in 1..self.table.len() as u32 {
                self.table.ranks[zone as usize] = self.rank(zone);
            }
        }
    }

    pub fn seal(&mut self, zone: u32, now: u32, clock: u64) {
        self.table.seal(zone, now);
        self.sealed_at[zone as usize] = clock;
    }

    /// The trace's time since the zone was sealed.
    pub fn age(&self, zone: u32, clock: u64) -> u64 {
        clock.saturating_sub(self.sealed_at[zone as usize])
    }

    /// The place of a zone in the order of iteration: by bucket, then in the order of opening.
    fn rank(&self, zone: u32) -> u64 {
        let serial = self.table.serial[zone as usize];
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
            zones.table.garbage[zone as usize] += i32::from(serial >= 15) * 5;
            zones.seal(zone, 0, 0);
        }
        // 18 live zones: 32 buckets, so serial 15 (zone 16) comes first.
        assert_eq!(victims::build("greedy", 7).unwrap().pick(&zones.table), Some(16));
        (1..=10).for_each(|zone| zones.table.free(zone));
        let zone = zones.add();
        zones.open(zone, 0, 0);
        assert_eq!([zone, 16].map(|z| zones.table.rank(z)), [18 << 40 | 18, 15 << 40 | 15]);
    }
}
