//! Sizes of groups when lifespans are known: a search finds the sizes with the fewest copies.
//!
//! A group before the last is a queue. It keeps its zones for a time, which is its size divided by
//! the rate at which pages come. A page that lives longer is copied, to the group for the lifespan
//! that is left to it: the same group or a lower one. The last group has the rest of the zones; its
//! copies are those of greedy cleaning.

use std::collections::BTreeMap;

use super::model::desnoyers;

/// Factors by which the search changes a group's time.
const STEPS: [f64; 8] = [0.4, 0.6, 0.8, 0.93, 1.07, 1.25, 1.7, 2.5];
/// The most rounds in which the search tries each group's time again.
const ROUNDS: usize = 8;
/// The search begins with the longest lifespan of each cluster as its group's time. If there is no
/// room for that, all times are multiplied by this until there is.
const SHRUNK: f64 = 0.8;

/// Clusters of lifespans.
#[derive(Clone, Debug)]
pub(crate) struct Clusters {
    /// Largest lifespan of every cluster but the last.
    cuts: Vec<u32>,
    /// Lifespans, each with its share of all user writes; those of frozen versions are left out.
    lifespans: Vec<(f64, f64)>,
}

/// A volume whose zones shall be given to groups. Pages and zones are whole numbers held as `f64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SizedVolume {
    /// Zones, open ones included.
    pub zones: f64,
    /// Pages in a zone.
    pub zone_pages: f64,
    /// Valid pages.
    pub valid: f64,
    /// Frozen pages among `valid`; they lie in zones of their own.
    pub frozen: f64,
}

/// The prediction for given times of the groups.
struct Sizing {
    waf: f64,
    /// Sealed zones of every group but the last.
    sizes: Vec<u32>,
}

impl Clusters {
    /// Clusters with these cuts, of the lifespans that end within `writes` user writes.
    pub(crate) fn new(cuts: Vec<u32>, lifespans: &BTreeMap<u32, u64>, writes: usize) -> Self {
        debug_assert!(cuts.is_sorted(), "a cluster is searched by its cuts");
        let share = |(&lifespan, &count): (&u32, &u64)| {
            (f64::from(lifespan.max(1)), count as f64 / writes.max(1) as f64)
        };
        Clusters { cuts, lifespans: lifespans.iter().map(share).collect() }
    }

    /// The number of clusters.
    pub(crate) fn len(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The cluster of a lifespan.
    #[inline(always)]
    pub(crate) fn of(&self, lifespan: u32) -> usize {
        self.cuts.partition_point(|&cut| lifespan > cut)
    }

    /// Sealed zones of each group but the last, and the predicted write amplification; `None` if
    /// the volume has no room.
    pub(crate) fn sizes(&self, volume: &SizedVolume) -> Option<(Vec<u32>, f64)> {
        let mut times: Vec<f64> = self.cuts.iter().map(|&cut| f64::from(cut) + 1.0).collect();
        let least = volume.zone_pages;
        let mut best = loop {
            if let Some(sizing) = self.predict(&times, volume) {
                break sizing;
            }
            if times.iter().all(|&time| time < least) {
                return None;
            }
            times.iter_mut().for_each(|time| *time = (*time * SHRUNK).max(1.0));
        };
        for _ in 0..ROUNDS {
            let before = best.waf;
            for group in 0..times.len() {
                let present = times[group];
                for step in STEPS {
                    let held = std::mem::replace(&mut times[group], (present * step).max(1.0));
                    match self.predict(&times, volume).filter(|found| found.waf < best.waf) {
                        Some(found) => best = found,
                        None => times[group] = held,
                    }
                }
            }
            if best.waf > before - 1e-4 {
                break;
            }
        }
        Some((best.sizes, best.waf))
    }

    fn predict(&self, times: &[f64], volume: &SizedVolume) -> Option<Sizing> {
        let SizedVolume { zones, zone_pages, valid, frozen } = *volume;
        let last = times.len();
        assert_eq!(last, self.cuts.len(), "each group but the last has a time");
        // The pages that come to each group: the lifespan that is left to them, and their rate.
        let mut coming = vec![Vec::new(); last + 1];
        for &(lifespan, rate) in &self.lifespans {
            coming[self.of(lifespan as u32)].push((lifespan, rate));
        }
        let mut room = (zones - 0.5 * (last + 2) as f64) * zone_pages - frozen;
        let (mut held, mut copied) = (valid - frozen, 0.0);
        let mut sizes = vec![0; last];
        // Relocations never go to a higher group, so only user writes come to the last.
        let to_last: f64 = coming[last].iter().map(|(_, rate)| rate).sum();
        for group in (0..last).rev() {
            let (time, mut rate) = (times[group], 0.0);
            let lower = group.checked_sub(1).map(|below| f64::from(self.cuts[below]));
            for (left, of) in std::mem::take(&mut coming[group]) {
                // Copies until the page belongs to a lower group, unless it dies before. Counted at
                // once: a group that is cleaned all the time copies a page millions of times.
                let stays = (left / time).ceil();
                let until_lower = lower.map(|lower| ((left - lower - 1.0) / time).floor() + 1.0);
                if let Some(until_lower) = until_lower.filter(|&copies| copies < stays) {
                    rate += of * until_lower;
                    held -= of * time * until_lower;
                    copied += of * until_lower;
                    let left = left - time * until_lower;
                    coming[self.of(left as u32).min(group - 1)].push((left, of));
                } else {
                    rate += of * stays;
                    held -= of * left;
                    copied += of * (stays - 1.0);
                }
            }
            room -= rate * time;
            sizes[group] = (rate * time / zone_pages).round() as u32;
        }
        if room <= held {
            return None;
        }
        if held > 0.0 {
            copied += to_last * (desnoyers(room / held, 0.0, 0.0) - 1.0);
        }
        Some(Sizing { waf: 1.0 + copied, sizes })
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.cuts.capacity() * 4 + self.lifespans.capacity() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters() -> Clusters {
        let lifespans = [(80, 500), (120, 300), (4000, 100), (5000, 100)];
        Clusters::new(vec![120], &lifespans.into_iter().collect(), 1000)
    }

    fn volume(zones: f64) -> SizedVolume {
        SizedVolume { zones, zone_pages: 10.0, valid: 976.0, frozen: 0.0 }
    }

    #[test]
    fn with_room_enough_a_group_keeps_its_zones_until_all_in_it_are_dead() {
        let (sizes, waf) = clusters().sizes(&volume(400.0)).unwrap();
        // 0.8 of the writes, for 121 writes or a little longer, in zones of ten pages.
        assert!((9..=13).contains(&sizes[0]), "{sizes:?}");
        assert!(waf < 1.01, "{waf}");
    }

    #[test]
    fn no_other_size_costs_less_in_a_volume_that_is_short_of_room() {
        let (clusters, volume) = (clusters(), volume(115.0));
        let (_, waf) = clusters.sizes(&volume).unwrap();
        let others = (1..400).filter_map(|time| clusters.predict(&[f64::from(time)], &volume));
        let least = others.map(|sizing| sizing.waf).fold(f64::MAX, f64::min);
        assert!(waf < least * 1.02, "{waf}, {least}");
    }

    #[test]
    fn without_room_there_are_no_sizes() {
        assert!(clusters().sizes(&volume(90.0)).is_none());
    }

    #[test]
    fn pages_that_would_be_copied_a_million_times_are_counted_at_once() {
        let lifespans = [(1, 500), (900_000_000, 400), (2_000_000_000, 100)];
        let clusters =
            Clusters::new(vec![2, 1_000_000_000], &lifespans.into_iter().collect(), 1000);
        let volume = SizedVolume { zones: 4.0, zone_pages: 16.0, valid: 60.0, frozen: 0.0 };
        assert!(clusters.sizes(&volume).is_none_or(|(_, waf)| waf > 1.0));
    }
}
