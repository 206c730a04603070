//! WARCIP: user writes by their rewrite interval, in clusters that follow the intervals, split and
//! merge. Yang, Pei and Yang, "WARCIP: Write Amplification Reduction by Clustering I/O Pages",
//! SYSTOR'19, as SepBIT (FAST'22, section 4.1) uses it: five clusters of user writes, and one
//! class for relocations.
//!
//! The interval of a user write is the time since the page's last user write, 0 for a new page; a
//! relocation adds the time since the page's last user write to the page's next interval, as a
//! penalty. A write goes to the cluster with the nearest centre, and the centre moves to the mean
//! of its intervals. After every 256 sealed zones of user writes the first cluster that took more
//! than half of the writes since the last look is split, if a class is free for it: the new
//! cluster's centre lies halfway to the next smaller one, or to 0. If none is split, the first
//! cluster that took less than a zone's worth of writes is marked, and dissolved when its open zone
//! is full; no second one is marked meanwhile.
//!
//! Class 0 takes the relocations. SepBIT's description leaves open over which intervals a centre is
//! the mean. Here they are about the cluster's last zone's worth of writes: each new interval has
//! the weight 1 / (k + 1), with k the writes so far, at most a zone's pages. The new centre of a
//! split counts as one write. The authors' simulator starts each centre over with the first
//! interval after every seal.

use crate::clock::Clock;
use crate::fast22::Fast22;
use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Scheme, Semantics, Setup, UserWrite,
    ZoneEvent, ZoneView,
};

/// Sealed zones of user writes between two looks at the clusters.
const LOOK: u32 = 256;

/// User writes by rewrite interval.
#[derive(Debug)]
pub struct Warcip {
    clock: Clock,
    fast22: bool,
    classes: usize,
    zone_pages: u64,
    /// Centre of each cluster, in the clusters' order.
    centres: Vec<f64>,
    /// The other figures of each cluster, in the same order.
    clusters: Vec<Cluster>,
    /// Class of the cluster that is to be dissolved.
    marked: Option<usize>,
    /// Zones of user writes sealed since the last look.
    sealed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    /// Its class: clusters change their order, but keep their open zones.
    class: usize,
    /// The number of writes whose mean the centre is.
    weight: u64,
    /// Writes since the last look.
    writes: u64,
}

/// The last user write, and the penalty for a relocation since.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed(4))]
pub struct Rewrite {
    last: u64,
    penalty: u64,
}

impl PageState for Rewrite {}

impl Scheme for Warcip {
    type Page = Rewrite;
    const INFO: Info = Info {
        name: "warcip",
        summary: "user writes in clusters of rewrite intervals, relocations apart",
        source: "Yang, Pei and Yang, SYSTOR 2019; SepBIT, FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=64, "one for relocations, clusters")],
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        let mut clusters = Vec::with_capacity(classes);
        clusters.extend((1..classes).map(|class| Cluster { class, weight: 0, writes: 0 }));
        let mut centres = Vec::with_capacity(classes);
        centres.resize(classes - 1, 0.0);
        Ok(Warcip {
            clock: Clock::default(),
            fast22: setup.semantics == Semantics::SepbitFast22,
            classes,
            zone_pages: u64::from(setup.zone_pages),
            centres,
            clusters,
            marked: None,
            sealed: 0,
        })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn coldest(&self) -> usize {
        0
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Rewrite) -> usize {
        let now = self.clock.read(write.now);
        let interval = now.wrapping_sub(page.last).wrapping_add(page.penalty) as i64 as f64;
        let interval = if write.first { 0.0 } else { interval };
        *page = Rewrite { last: now, penalty: 0 };
        let nearest = self.nearest(interval);
        let cluster = &mut self.clusters[nearest];
        let centre = &mut self.centres[nearest];
        let weight = cluster.weight as i64 as f64;
        *centre = (*centre * weight + interval) / (weight + 1.0);
        cluster.writes += 1;
        cluster.weight += 1;
        if !self.fast22 {
            cluster.weight = cluster.weight.min(self.zone_pages);
        }
        cluster.class
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Rewrite) -> usize {
        let now = self.clock.read(relocation.now);
        page.penalty = now.wrapping_sub(page.last);
        0
    }

    fn fast22(&mut self) -> Option<&mut dyn Fast22> {
        Some(self)
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, _: &ZoneView<'_>) {
        let Some(place) = self.clusters.iter().position(|c| c.class == zone.class) else {
            return;
        };
        if self.fast22 {
            self.clusters[place].weight = 0;
        }
        if self.marked == Some(zone.class) {
            self.marked = None;
            self.clusters.remove(place);
            self.centres.remove(place);
            assert!(!self.clusters.is_empty(), "a page finds a cluster");
        }
        assert_eq!(self.centres.len(), self.clusters.len(), "each cluster has a centre");
        self.sealed += 1;
        if self.sealed == LOOK {
            self.sealed = 0;
            self.look();
        }
    }

    fn bytes(&self) -> usize {
        self.clusters.capacity() * (size_of::<Cluster>() + 8)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("clusters", self.clusters.len() as f64)]
    }
}

impl Fast22 for Warcip {
    fn at(&mut self, micros: u64) {
        self.clock.at(micros);
    }

    fn keeps_open(&mut self, class: usize) -> bool {
        self.in_use(class)
    }
}

impl Warcip {
    /// True if a cluster puts pages into this class, or if it is the class of relocations.
    fn in_use(&self, class: usize) -> bool {
        class == 0 || self.clusters.iter().any(|c| c.class == class)
    }

    /// The cluster with the nearest centre, the last among equals.
    #[inline(always)]
    fn nearest(&self, interval: f64) -> usize {
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (i, centre) in self.centres.iter().enumerate().rev() {
            let distance = (interval - centre).abs();
            let nearer = distance < least;
            nearest = if nearer { i } else { nearest };
            least = if nearer { distance } else { least };
        }
        nearest
    }

    /// Splits a cluster that takes too many writes, or marks one that takes too few.
    fn look(&mut self) {
        let all: u64 = self.clusters.iter().map(|c| c.writes).sum();
        let busiest = self.clusters.iter().position(|c| c.writes * 2 > all);
        let free = (1..self.classes).find(|&class| !self.in_use(class));
        if let (Some(place), Some(class)) = (busiest, free) {
            let below = if place == 0 { 0.0 } else { self.centres[place - 1] };
            self.centres.insert(place, (below + self.centres[place]) / 2.0);
            let weight = u64::from(!self.fast22);
            self.clusters.insert(place, Cluster { class, weight, writes: 0 });
        } else if self.marked.is_none() {
            let idle = self.clusters.iter().find(|c| c.writes < self.zone_pages);
            self.marked = idle.map(|c| c.class);
        }
        assert!(self.clusters.len() < self.classes, "each cluster has a class of its own");
        self.clusters.iter_mut().for_each(|c| c.writes = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::table::ZoneRows;
    use bytemuck::Zeroable;

    fn scheme(semantics: Semantics) -> Warcip {
        let (_, mut params) = Params::parse("warcip:classes=4").unwrap();
        Warcip::build(&Setup { semantics, ..Setup::new(10, 100) }, &mut params).unwrap()
    }

    fn user_write(now: u32, first: bool) -> UserWrite<'static> {
        UserWrite { first, zone: 1, class: 1, ..UserWrite::first(0, now) }
    }

    /// A user write at time 1000 with the given interval, 0 for a new page.
    fn write(scheme: &mut Warcip, interval: u32) -> usize {
        let mut page = Rewrite { last: u64::from(1000 - interval), penalty: 0 };
        scheme.place_user(&user_write(1000, interval == 0), &mut page)
    }

    fn seal(scheme: &mut Warcip, class: usize) {
        scheme.on_sealed(&ZoneEvent { zone: 1, class, now: 1000 }, &ZoneRows::new(10).view());
    }

    #[test]
    fn writes_go_to_the_nearest_centre_of_equals_the_last_and_move_it() {
        let mut scheme = scheme(Semantics::Published);
        assert_eq!([write(&mut scheme, 0), write(&mut scheme, 90)], [3, 3]);
        assert_eq!(scheme.centres, [0.0, 0.0, 45.0]);
        assert_eq!(write(&mut scheme, 20), 2);
        assert_eq!(write(&mut scheme, 60), 3);
        assert_eq!(scheme.centres, [0.0, 20.0, 50.0]);
    }

    #[test]
    fn a_relocation_adds_its_age_to_the_next_interval_once() {
        for (semantics, by) in [(Semantics::Published, 1), (Semantics::SepbitFast22, 10)] {
            let mut scheme = scheme(semantics);
            let mut page = Rewrite::zeroed();
            let at = |scheme: &mut Warcip, now: u64| {
                if semantics == Semantics::SepbitFast22 {
                    scheme.at(now * by);
                }
            };
            at(&mut scheme, 5);
            scheme.place_user(&user_write(5, true), &mut page);
            at(&mut scheme, 12);
            let (lba, zone, class) = (0, 1, 3);
            let relocation = Relocation { lba, now: 12, zone, class, last: false };
            assert_eq!(scheme.place_relocation(&relocation, &mut page), scheme.coldest());
            scheme.clusters.iter_mut().for_each(|c| c.weight = 0);
            at(&mut scheme, 20);
            scheme.place_user(&user_write(20, false), &mut page);
            // 20 - 5 since the last user write, and a penalty of 12 - 5.
            assert_eq!(scheme.centres[2], (22 * by) as f64);
            assert_eq!(({ page.last }, { page.penalty }), (20 * by, 0));
        }
    }

    #[test]
    fn a_seal_restarts_the_centre_only_in_the_simulators_reading() {
        for (semantics, centre) in [(Semantics::Published, 70.0), (Semantics::SepbitFast22, 90.0)] {
            let mut scheme = scheme(semantics);
            for interval in [40, 80] {
                write(&mut scheme, interval);
            }
            assert_eq!(scheme.centres[2], 60.0);
            seal(&mut scheme, 3);
            write(&mut scheme, 90);
            assert_eq!(scheme.centres[2], centre);
        }
    }

    #[test]
    fn a_centre_is_the_mean_of_about_a_zone_of_writes() {
        let mut scheme = scheme(Semantics::Published);
        for _ in 0..50 {
            write(&mut scheme, 100);
        }
        assert_eq!((scheme.centres[2], scheme.clusters[2].weight), (100.0, 10));
        write(&mut scheme, 210);
        assert_eq!(scheme.centres[2], 110.0, "an eleventh of the way");
    }

    #[test]
    fn an_idle_cluster_is_dissolved_at_its_seal_and_its_class_taken_by_a_split() {
        for semantics in [Semantics::Published, Semantics::SepbitFast22] {
            let mut scheme = scheme(semantics);
            scheme.centres.copy_from_slice(&[10.0, 20.0, 400.0]);
            let writes = |scheme: &mut Warcip, writes: [u64; 3]| {
                scheme.clusters.iter_mut().zip(writes).for_each(|(c, w)| c.writes = w);
            };
            // The third took most, but no class is free for a split; the first took less than a
            // zone's worth.
            writes(&mut scheme, [9, 12, 400]);
            (0..255).for_each(|_| seal(&mut scheme, 3));
            assert_eq!((scheme.marked, scheme.clusters[2].writes), (None, 400));
            seal(&mut scheme, 0);
            assert_eq!(scheme.marked, None, "zones of relocations don't count");
            seal(&mut scheme, 3);
            assert_eq!((scheme.marked, scheme.clusters[2].writes), (Some(1), 0));
            assert!(scheme.in_use(1), "until its zone is full");
            seal(&mut scheme, 1);
            assert_eq!((scheme.marked, scheme.in_use(1)), (None, false));
            assert_eq!(scheme.clusters.iter().map(|c| c.class).collect::<Vec<_>>(), [2, 3]);
            assert_eq!(scheme.centres, [20.0, 400.0]);
            assert_eq!(write(&mut scheme, 21), 2, "open zones stay with their clusters");
            // Now a class is free for a split of the last, which is the busiest.
            scheme.centres.copy_from_slice(&[20.0, 400.0]);
            writes(&mut scheme, [40, 41, 0]);
            (0..255).for_each(|_| seal(&mut scheme, 3));
            assert!(scheme.in_use(0) && scheme.in_use(1));
            assert_eq!(scheme.clusters.iter().map(|c| c.class).collect::<Vec<_>>(), [2, 1, 3]);
            assert_eq!(scheme.centres, [20.0, 210.0, 400.0]);
            let weight = scheme.clusters[1].weight;
            assert_eq!(weight, u64::from(semantics == Semantics::Published));
        }
    }
}
