//! SFS: pages by hotness, write frequency over age, in groups found by k-means over the zones.
//! Min, Kim, Cho, Lee and Eom, "SFS: Random Write Considered Harmful in Solid State Drives",
//! FAST'12, as SepBIT (FAST'22, section 4.1) uses it, with six classes.
//!
//! A page's hotness is w / (now - m), with w the user writes to it and m the time of the last one.
//! A user write is classed by the values from before it, a relocation by the present ones; a new
//! page is as hot as can be. The class is the nearest of the centres, hottest first. At every
//! victim the centres are fitted anew to all sealed zones, each with the hotness of its valid pages
//! together, sum(w) / sum(now - m): three rounds of k-means from the previous centres. While there
//! are no more zones than classes, each zone is a centre.
//!
//! The sums are kept up page by page, so that no page is looked at when the centres are fitted.
//!
//! SFS writes in segments of its file system and fits the centres when it writes one. SepBIT's
//! description names no such moment; here it is the choice of a victim, as in the authors'
//! simulator. That simulator reads the trace's time in microseconds; here time is user writes. A
//! sealed zone without valid pages has hotness 0/0 there, and spoils a centre until the next
//! victim; here it is left out.

use multiversion::multiversion;

use crate::clock::Clock;
use crate::fast22::Fast22;
use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Scheme, Semantics, Setup, UserWrite,
    ZoneEvent, ZoneView,
};

/// Rounds of k-means at every victim.
const ROUNDS: usize = 3;

/// Classes by hotness.
#[derive(Debug)]
pub struct Sfs {
    clock: Clock,
    /// True if zones without a hotness are left out.
    guarded: bool,
    /// Hotness of each class, hottest first.
    centres: Vec<f64>,
    /// The open zone of each class; 0 while there is none.
    open: Vec<u32>,
    /// Sums over the valid pages of each zone. Entry 0 takes a page whose class has no open zone
    /// yet; it moves to the zone that is opened next.
    sums: Vec<ZoneSums>,
    /// Sealed zones in the order in which they are summed: the order changes the last digit of a
    /// sum.
    sealed: Vec<u32>,
    /// Hotness of the sealed zones; scratch memory.
    hotness: Vec<f64>,
    /// Groups of the sealed zones; scratch memory.
    groups: Vec<u64>,
}

/// User writes of a page, and the time of the last.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, packed(4))]
pub struct Heat {
    last: u64,
    writes: u32,
}

impl PageState for Heat {}

/// Sums over pages, modulo 2^64; differences of sums are still right.
#[derive(Clone, Copy, Debug, Default)]
struct ZoneSums {
    pages: u64,
    writes: u64,
    last: u64,
}

impl ZoneSums {
    #[inline(always)]
    fn add(&mut self, page: &Heat) {
        self.pages = self.pages.wrapping_add(1);
        self.writes = self.writes.wrapping_add(u64::from(page.writes));
        self.last = self.last.wrapping_add(page.last);
    }

    #[inline(always)]
    fn remove(&mut self, page: &Heat) {
        self.pages = self.pages.wrapping_sub(1);
        self.writes = self.writes.wrapping_sub(u64::from(page.writes));
        self.last = self.last.wrapping_sub(page.last);
    }

    /// Sum of the pages' ages.
    #[inline(always)]
    fn age(&self, now: u64) -> i64 {
        self.pages.wrapping_mul(now).wrapping_sub(self.last) as i64
    }
}

impl Scheme for Sfs {
    type Page = Heat;
    const INFO: Info = Info {
        name: "sfs",
        summary: "by hotness (writes over age), grouped by k-means over zones",
        source: "Min et al., FAST 2012; SepBIT, FAST 2022, section 4.1",
        params: &[Param::whole("classes", 6, 2..=64, "groups, hottest first")],
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let classes = params.whole(Self::INFO.params, "classes")?;
        Ok(Sfs {
            clock: Clock::default(),
            guarded: setup.semantics == Semantics::Published,
            centres: vec![0.0; classes],
            open: vec![0; classes],
            sums: vec![ZoneSums::default()],
            sealed: Vec::new(),
            hotness: Vec::new(),
            groups: Vec::new(),
        })
    }

    fn classes(&self) -> usize {
        self.centres.len()
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Heat) -> usize {
        let now = self.clock.read(write.now);
        // A new page has infinite hotness. It is infinitely far from every centre, so it goes to
        // class 0.
        let mut class = 0;
        if !write.first {
            class = nearest(&self.centres, hotness(page, now));
            if let Some(sums) = self.sums.get_mut(write.zone as usize) {
                sums.remove(page);
            }
        }
        *page = Heat { last: now, writes: page.writes.saturating_add(1) };
        self.sums[self.open[class] as usize].add(page);
        class
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Heat) -> usize {
        let now = self.clock.read(relocation.now);
        let class = nearest(&self.centres, hotness(page, now));
        // The victim keeps its sums until it is opened again.
        self.sums[self.open[class] as usize].add(page);
        class
    }

    fn fast22(&mut self) -> Option<&mut dyn Fast22> {
        Some(self)
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        let z = zone.zone as usize;
        if self.sums.len() <= z {
            self.sums.resize(z + 1, ZoneSums::default());
        }
        self.sums[z] = std::mem::take(&mut self.sums[0]);
        self.open[zone.class] = zone.zone;
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if self.open[zone.class] == zone.zone {
            self.open[zone.class] = 0;
        }
        self.sort(zones);
        debug_assert!(!self.sealed.contains(&zone.zone), "a zone is sealed once");
        let rank = zones.rank(zone.zone);
        let place = self.sealed.partition_point(|&z| zones.rank(z) < rank);
        self.sealed.insert(place, zone.zone);
    }

    fn on_victim(&mut self, victim: &ZoneEvent, zones: &ZoneView<'_>) {
        self.sort(zones);
        let now = self.clock.read(victim.now);
        self.fit(now);
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        if let Some(place) = self.sealed.iter().position(|&z| z == zone.zone) {
            self.sealed.remove(place);
        }
    }

    fn bytes(&self) -> usize {
        self.sums.capacity() * size_of::<ZoneSums>()
            + self.sealed.capacity() * 4
            + (self.hotness.capacity() + self.groups.capacity()) * 8
    }
}

impl Fast22 for Sfs {
    fn at(&mut self, micros: u64) {
        self.clock.at(micros);
    }
}

impl Sfs {
    /// Sorts the sealed zones if their order has changed.
    fn sort(&mut self, zones: &ZoneView<'_>) {
        if zones.is_ranked() && !self.sealed.is_sorted_by_key(|&z| zones.rank(z)) {
            self.sealed.sort_by_key(|&z| zones.rank(z));
        }
        debug_assert!(
            self.sealed.is_sorted_by_key(|&z| zones.rank(z)),
            "a zone's place is searched by rank"
        );
    }

    /// Fits the centres to the sealed zones.
    fn fit(&mut self, now: u64) {
        let sums = &self.sums;
        self.hotness.clear();
        self.hotness.extend(self.sealed.iter().map(|&zone| {
            let sums = &sums[zone as usize];
            sums.writes as i64 as f64 / sums.age(now) as f64
        }));
        let usable = |h: &f64| (0.0..f64::INFINITY).contains(h);
        let all_usable = self.hotness.iter().fold(true, |all, h| all & usable(h));
        if self.guarded && !all_usable {
            self.hotness.retain(usable);
        }
        let classes = self.centres.len();
        if self.hotness.is_empty() {
            return;
        }
        if self.hotness.len() <= classes {
            for (i, centre) in self.centres.iter_mut().enumerate() {
                *centre = self.hotness[i % self.hotness.len()];
            }
        } else {
            for _ in 0..ROUNDS {
                if k_means(&self.hotness, &mut self.groups, &mut self.centres) {
                    break;
                }
            }
        }
        // Hottest first; a value that is not a number sorts as the hottest.
        let rank = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
        self.centres
            .sort_by(|&a, &b| b.is_nan().cmp(&a.is_nan()).then(rank(b).total_cmp(&rank(a))));
    }
}

/// The hotness of a page: w / (now - m).
#[inline(always)]
fn hotness(page: &Heat, now: u64) -> f64 {
    f64::from(page.writes) / now.wrapping_sub(page.last) as i64 as f64
}

/// The nearest centre, the last among equals; 0 if none is at a finite distance.
#[inline(always)]
fn nearest(centres: &[f64], hotness: f64) -> usize {
    let (mut class, mut least) = (0, f64::MAX);
    for (i, centre) in centres.iter().enumerate().rev() {
        let distance = (hotness - centre).abs();
        let nearer = distance < least;
        class = if nearer { i } else { class };
        least = if nearer { distance } else { least };
    }
    class
}

/// A round of k-means: every point goes to the nearest centre (the first among equals), every
/// centre to the mean of its points, or to 0 if it has none. Returns true if no centre moved.
fn k_means(points: &[f64], groups: &mut Vec<u64>, centres: &mut [f64]) -> bool {
    assert!(centres.len() <= NUMBERS.len(), "each centre has a lane");
    groups.resize(points.len(), 0);
    group(points, groups, centres);
    match centres.len() {
        ..=8 => {
            let (sums, counts) = add_up_8(points, groups);
            move_centres(centres, &sums, &counts)
        }
        _ => {
            let (sums, counts) = add_up_64(points, groups);
            move_centres(centres, &sums, &counts)
        }
    }
}

/// Moves the centres to the means of their groups, given sums and counts; true if none moved.
fn move_centres(centres: &mut [f64], sums: &[f64], counts: &[f64]) -> bool {
    let mut unchanged = true;
    for (centre, (&sum, &count)) in centres.iter_mut().zip(sums.iter().zip(counts)) {
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        unchanged &= mean == *centre;
        *centre = mean;
    }
    unchanged
}

/// The nearest centre of each point, the first among equals; 0 if none is at a finite distance.
#[multiversion(targets("x86_64+avx2"))]
fn group(points: &[f64], groups: &mut [u64], centres: &[f64]) {
    let (blocks, points) = points.as_chunks::<BLOCK>();
    let (grouped, groups) = groups.as_chunks_mut::<BLOCK>();
    for (points, groups) in blocks.iter().zip(grouped) {
        *groups = group_block(points, centres);
    }
    let mut last = [0.0; BLOCK];
    last[..points.len()].copy_from_slice(points);
    groups.copy_from_slice(&group_block(&last, centres)[..points.len()]);
}

/// Points in a block.
const BLOCK: usize = 8;

#[inline(always)]
fn group_block(points: &[f64; BLOCK], centres: &[f64]) -> [u64; BLOCK] {
    let (mut nearest, mut least) = ([0; BLOCK], [f64::MAX; BLOCK]);
    for (&number, &centre) in NUMBERS.iter().zip(centres) {
        for i in 0..BLOCK {
            let distance = (points[i] - centre).abs();
            let nearer = distance < least[i];
            nearest[i] = if nearer { number } else { nearest[i] };
            least[i] = if nearer { distance } else { least[i] };
        }
    }
    nearest
}

/// 0, 1, 2... in memory, from where they are loaded quickly into all lanes.
static NUMBERS: [u64; 64] = {
    let mut numbers = [0; 64];
    let mut i = 0;
    while i < 64 {
        numbers[i] = i as u64;
        i += 1;
    }
    numbers
};

#[multiversion(targets("x86_64+avx2"))]
fn add_up_8(points: &[f64], groups: &[u64]) -> ([f64; 8], [f64; 8]) {
    add_up(points, groups)
}

#[multiversion(targets("x86_64+avx2"))]
fn add_up_64(points: &[f64], groups: &[u64]) -> ([f64; 64], [f64; 64]) {
    add_up(points, groups)
}

/// Sum and number of the points of each group. The points are added one after the other, so that
/// the sums are the same to the last bit; each lane is a group.
#[inline(always)]
fn add_up<const LANES: usize>(points: &[f64], groups: &[u64]) -> ([f64; LANES], [f64; LANES]) {
    let lane: [u64; LANES] = std::array::from_fn(|i| i as u64);
    let (mut sums, mut counts) = ([0.0; LANES], [0.0; LANES]);
    for (&point, &group) in points.iter().zip(groups) {
        for i in 0..LANES {
            let mine = lane[i] == group;
            sums[i] += if mine { point } else { 0.0 };
            counts[i] += if mine { 1.0 } else { 0.0 };
        }
    }
    (sums, counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::table::ZoneRows;
    use bytemuck::Zeroable;

    struct TestLog {
        scheme: Sfs,
        zones: ZoneRows,
        now: u32,
    }

    impl TestLog {
        fn new(semantics: Semantics, params: &str) -> TestLog {
            let (_, mut params) = Params::parse(params).unwrap();
            let setup = Setup { semantics, ..Setup::new(4, 100) };
            let mut scheme = Sfs::build(&setup, &mut params).unwrap();
            // All pages go to class 0 at first.
            scheme.centres[1..].fill(1e9);
            TestLog { scheme, zones: ZoneRows::new(4), now: 0 }
        }

        fn event(&self, zone: u32, class: usize) -> ZoneEvent {
            ZoneEvent { zone, class, now: self.now }
        }

        fn open(&mut self, class: usize) -> u32 {
            let zone = self.zones.seal(class, 0, 0);
            self.scheme.on_opened(&self.event(zone, class));
            zone
        }

        fn seal(&mut self, zone: u32) {
            let zones = self.zones.view();
            let event = ZoneEvent { zone, class: zones.class(zone), now: self.now };
            self.scheme.on_sealed(&event, &zones);
        }

        /// Writes a page whose previous copy lies in `zone` (0: none).
        fn write(&mut self, zone: u32, page: &mut Heat) -> usize {
            self.now += 1;
            self.scheme.place_user(&user_write(self.now, zone), page)
        }
    }

    fn user_write(now: u32, zone: u32) -> UserWrite<'static> {
        UserWrite { first: zone == 0, zone, ..UserWrite::first(0, now) }
    }

    #[test]
    fn few_zones_are_the_centres_hottest_first_and_pages_go_to_the_nearest() {
        let mut log = TestLog::new(Semantics::Published, "sfs:classes=3");
        let [mut a, mut b] = [Heat::zeroed(); 2];
        // Zone 1 gets page a at time 1, written again at time 2; zone 2 gets page b at time 3.
        let one = log.open(0);
        assert_eq!(log.write(0, &mut a), 0, "new pages are the hottest");
        log.write(one, &mut a);
        log.seal(one);
        let two = log.open(0);
        log.write(0, &mut b);
        log.seal(two);
        log.now = 12;
        log.scheme.on_victim(&log.event(one, 0), &log.zones.view());
        // 2 writes over an age of 10; 1 write over 9; and the first zone once more.
        assert_eq!(log.scheme.centres, [0.2, 0.2, 1.0 / 9.0]);
        log.open(0);
        // Hotness 2/11 is nearer to 0.2; two centres are equal, and the last is taken.
        assert_eq!(log.write(one, &mut a), 1);
        assert_eq!((a.writes, { a.last }), (3, 13));
        // Hotness 1/11, from before the write.
        assert_eq!(log.write(two, &mut b), 2);
    }

    #[test]
    fn sums_follow_the_pages_and_wait_for_a_zone_to_be_opened() {
        let mut log = TestLog::new(Semantics::Published, "sfs");
        let mut page = Heat::zeroed();
        log.write(0, &mut page);
        assert_eq!(log.scheme.sums[0].pages, 1, "class 0 has no zone yet");
        let one = log.open(0);
        let sums = |log: &TestLog, zone: u32| {
            let s = log.scheme.sums[zone as usize];
            (s.pages, s.writes, s.last)
        };
        assert_eq!((sums(&log, 0), sums(&log, one)), ((0, 0, 0), (1, 1, 1)));
        log.seal(one);
        let two = log.open(0);
        log.write(one, &mut page);
        assert_eq!((sums(&log, one), sums(&log, two)), ((0, 0, 0), (1, 2, 2)));
        log.seal(two);
        let three = log.open(0);
        log.now = 9;
        log.scheme.centres.fill(0.0);
        let victim = Relocation { lba: 0, now: 9, zone: two, class: 0, last: false };
        assert_eq!(log.scheme.place_relocation(&victim, &mut page), 5, "2/7, centres all 0");
        assert_eq!((page.writes, { page.last }), (2, 2), "a relocation is no write");
        assert_eq!(sums(&log, 0), (1, 2, 2), "class 5 has no zone");
        assert_eq!(sums(&log, three), (0, 0, 0));
    }

    #[test]
    fn a_zone_of_garbage_spoils_a_centre_only_in_the_simulators_reading() {
        for semantics in [Semantics::Published, Semantics::SepbitFast22] {
            let mut log = TestLog::new(semantics, "sfs:classes=2");
            let mut page = Heat::zeroed();
            let dead = log.open(0);
            log.write(0, &mut page);
            log.seal(dead);
            let live = log.open(0);
            log.write(dead, &mut page);
            log.seal(live);
            log.now = 6;
            log.scheme.on_victim(&log.event(live, 0), &log.zones.view());
            // Hotness of the live zone: 2 / (6 - 2).
            assert_eq!(log.scheme.centres[1], 0.5);
            assert_eq!(log.scheme.centres[0].is_nan(), semantics == Semantics::SepbitFast22);
            log.scheme.on_reclaimed(&log.event(live, 0));
            assert_eq!(log.scheme.sealed, [dead]);
        }
    }

    #[test]
    fn the_simulators_reading_takes_the_traces_time() {
        let mut page = [Heat::zeroed(); 2];
        for (page, semantics) in
            page.iter_mut().zip([Semantics::Published, Semantics::SepbitFast22])
        {
            let mut log = TestLog::new(semantics, "sfs");
            if semantics == Semantics::SepbitFast22 {
                log.scheme.at(1000);
            }
            log.scheme.place_user(&user_write(7, 0), page);
        }
        assert_eq!(page.map(|p| p.last), [7, 1000]);
    }

    #[test]
    fn a_round_of_k_means_agrees_with_its_definition() {
        let mut rng = frostline_random::SplitMix::new(9);
        for classes in [2, 6, 8, 9, 64] {
            for n in [1, 7, 8, 9, 100, 1001] {
                let points: Vec<f64> = (0..n).map(|_| rng.unit() * 3.0).collect();
                let mut centres: Vec<f64> = (0..classes).map(|_| rng.unit() * 2.0).collect();
                let mut sums = vec![(0.0, 0.0); classes];
                for &p in &points {
                    let (mut group, mut least) = (0, f64::MAX);
                    for (i, c) in centres.iter().enumerate() {
                        if (p - c).abs() < least {
                            (group, least) = (i, (p - c).abs());
                        }
                    }
                    sums[group].0 += p;
                    sums[group].1 += 1.0;
                }
                let means: Vec<f64> =
                    sums.iter().map(|&(s, n)| if n > 0.0 { s / n } else { 0.0 }).collect();
                k_means(&points, &mut Vec::new(), &mut centres);
                assert_eq!(centres, means, "{classes} {n}");
            }
        }
    }

    #[test]
    fn zones_are_added_up_in_the_order_of_their_ranks() {
        let mut log = TestLog::new(Semantics::SepbitFast22, "sfs");
        log.zones.ranks = vec![0, 30, 10, 20, 40];
        for _ in 0..4 {
            let zone = log.open(0);
            log.seal(zone);
        }
        assert_eq!(log.scheme.sealed, [2, 3, 1, 4]);
        log.zones.ranks = vec![0, 1, 4, 3, 2];
        log.scheme.on_victim(&log.event(1, 0), &log.zones.view());
        assert_eq!(log.scheme.sealed, [1, 4, 3, 2]);
    }
}
