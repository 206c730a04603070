//! survival: pages that are expected to die together lie together, whatever their survival curves
//! look like. Not published elsewhere; docs/survival.md says where its parts come from and what
//! each is worth.
//!
//! A page's context is what is known when it is written: its last lifespans, its neighbours,
//! its extent. With `hints=yes` an engine's record replaces neighbours and extent: origin, filling,
//! modifications. For each context and age, deaths and exposure are counted. These hazards give a
//! survival curve for each context and age, and a class is a cluster of such curves. User writes
//! and relocations are placed by the same look-up. So the scheme knows the pages of a write-ahead
//! log, whose lifespans alternate between very short and a whole cycle. It also knows frozen pages,
//! whose hazard falls with age, and needs no recogniser.
//!
//! Pages of long sequential runs among other writes have zones of their own if their curves say
//! that they live for a few zones' worth of writes. The pages of a database lie in the order of its
//! trees, so with hints there are as many more clusters instead.
//!
//! Counts fade, and the clusters are fitted anew at the end of each epoch. A class has a price: the
//! garbage in its open zone, which matters more the fewer zones a volume has, and with a fixed
//! capacity the free pages there, which are missing as spare room. A class that gains less is given
//! up. Open zones that are idle are lent, and clusters whose pages die together share a class.

use crate::survival::ages::{AGES, Ages};
use crate::survival::clusters::{Clusters, CurvePoint, MOST_CLASSES, Weighted, point, probability};
use crate::survival::companions::{Companions, Ended};
use crate::survival::contexts::{self, Around, Extents, Lifespans};
use crate::survival::hazards::{FADE, HORIZONS, Hazards, ROWS};
use crate::survival::loans::Loans;
use crate::survival::memory;
use crate::survival::streams::{Sequel, Streams};
use crate::survival::tally::AgeTally;
use crate::verdicts::Verdicts;
use crate::{
    BuildError, Info, PageState, Param, Params, Relocation, Room, Scheme, Setup, Stamp, UserWrite,
    Victims, Wants, ZoneEvent, ZoneView,
};

/// The class of a cell that was not used since the clusters were fitted.
const UNKNOWN: u8 = 0;
/// Marks the class of a cell whose pages live long enough for a stream's zone.
const LIVES: u8 = 0x80;
/// Zones' worth of user writes that pages live for, with a probability above one half, if they may
/// go to a stream's zone.
const STREAM_ZONES: u32 = 5;
/// Marks the class of a cell whose pages are more likely than not to outlive the last horizon:
/// frozen ones, as far as curves can tell.
const FROZEN: u8 = 0x40;
/// User writes in an epoch: one in [`EPOCHS`] of all so far, at most [`EPOCH_WRITES`], and at least
/// this many zones' worth.
const EPOCH_ZONES: u64 = 4;
const EPOCH_WRITES: u64 = 128 << 10;
const EPOCHS: u64 = 32;
/// The price of a class times the volume's zones: the least gain in mean squared distance that
/// keeps it.
const PRICE: f32 = 0.1;
/// The same times the spare zones of a fixed capacity, of which an open zone takes a part.
const SPARE_PRICE: f32 = 0.3;
/// A volume must have this many zones for each stream that is followed.
const ZONES_A_STREAM: f32 = 20.0;
/// The first horizon in zones' worth of user writes; below, the ratio of each horizon to the one
/// before.
const FIRST_HORIZON: f32 = 2.0;
const HORIZON_RATIO: f32 = 2.5;
/// One in this many spare zones may be open: in a volume that waits for zones, and in one that keeps
/// its open zones free, where each takes room from its pages.
const SPARE: usize = 2;
const KEPT_SPARE: usize = 3;
/// The least number of classes, however few zones are spare.
const FEWEST: usize = 4;
/// Zones' worth of user writes after which a page may have been in a zone that is cleaned.
const LIVED_ZONES: u32 = 2;
/// One in so many user writes is looked at to judge the curves.
const JUDGED: u64 = 64;
/// The number of sampled pages that recalled hazards count as.
const RECALLED: u64 = 1000;
/// A cell with less than this share of all placed pages does not move the centres.
const LEAST: f32 = 1e-4;

/// The state of a page.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Page {
    written: Stamp,
    context: u16,
    lifespans: Lifespans,
    /// The top bits of the context.
    context_top: u8,
}

impl PageState for Page {
    fn clamp(&mut self, now: u32) {
        self.written.clamp(now);
    }
}

impl Page {
    #[inline(always)]
    fn context(&self) -> usize {
        usize::from(self.context) | usize::from(self.context_top) << 16
    }

    #[inline(always)]
    fn set_context(&mut self, context: usize) {
        (self.context, self.context_top) = (context as u16, (context >> 16) as u8);
    }
}

/// Classes by clusters of survival curves.
#[derive(Clone, Debug)]
pub struct Survival {
    zone_pages: u32,
    space: u32,
    /// The number of clusters; the classes of streams follow theirs.
    clustered: usize,
    streamed: usize,
    /// Spare zones of a fixed capacity.
    spare: Option<u32>,
    /// True if contexts come from an engine's records.
    hinted: bool,
    ages: Ages,
    extents: Extents,
    streams: Streams,
    loans: Loans,
    companions: Companions,
    /// The cluster of the user writes of each row, whatever it is united with.
    clusters_of: Box<[u8; ROWS]>,
    hazards: Hazards,
    clusters: Clusters,
    /// The class plus 1, and [`LIVES`], of each cell, by age and row: entries of user writes lie
    /// together.
    classes: Box<[[u8; ROWS]; AGES]>,
    /// Pages that were placed.
    placed: AgeTally,
    points: Vec<Weighted>,
    /// Row and age of each point.
    cells: Vec<(u16, u8)>,
    behind: Option<u32>,
    valid: u64,
    /// User writes times valid pages; below, pages that were sampled. Both fade.
    exposed: u64,
    sampled: u64,
    writes: u64,
    epoch_ends: u64,
    verdicts: Verdicts,
    /// Of the pages that were written again and are looked at: those that were not taken for frozen
    /// at their age, and those that were.
    revived: [u64; 2],
}

impl Survival {
    /// A page is written again at this age.
    #[inline(never)]
    fn judge(&mut self, row: usize, age: usize) {
        let cell = self.classes[age.max(1)][row];
        if cell != UNKNOWN {
            self.revived[usize::from(cell & FROZEN != 0)] += 1;
        }
    }

    /// A page is written again at this age, and is looked at.
    #[inline(never)]
    fn look(&mut self, row: usize, age: u32, now: u32) {
        let ended = (self.classes[0][row] != UNKNOWN).then(|| Ended {
            cluster: self.clusters_of[row].into(),
            written: now.wrapping_sub(age),
            lived: age > LIVED_ZONES * self.zone_pages,
        });
        self.companions.look(self.writes, ended);
    }

    /// The class of a page that is placed and 1, with [`LIVES`] and [`FROZEN`].
    #[inline(always)]
    fn cell(&mut self, row: usize, age: usize) -> u8 {
        self.placed.count(row, age);
        match self.classes[age][row] {
            UNKNOWN => self.classify(row, age),
            known => known,
        }
    }

    #[cold]
    fn classify(&mut self, row: usize, age: usize) -> u8 {
        let curve = self.hazards.survival(row, age);
        let cluster = match self.clusters.is_empty() {
            true => self.first_class(row, age),
            false => self.clusters.nearest(&point(&curve, age > 0)),
        };
        let class = match age {
            0 => {
                self.clusters_of[row] = cluster as u8;
                self.companions.of(cluster)
            }
            _ => cluster,
        };
        let lives = age == 0 && self.hazards.survives(row, STREAM_ZONES * self.zone_pages) > 0.5;
        let mark = |is: bool, mark: u8| if is { mark } else { 0 };
        let frozen = mark(curve[HORIZONS - 1] > 0.5, FROZEN);
        let known = (class as u8 + 1) | mark(lives, LIVES) | frozen;
        self.classes[age][row] = known;
        known
    }

    /// The class before anything was learned, by the octave of the expected lifespan.
    fn first_class(&self, row: usize, age: usize) -> usize {
        let expected = self.hazards.mean_lifespan(row).max(self.ages.start(age));
        let cut = |class: usize| 2.0 * (self.zone_pages as f32) * (1u64 << class) as f32;
        (0..self.clustered - 1).filter(|&class| expected >= cut(class)).count()
    }

    #[cold]
    fn end_epoch(&mut self) {
        let least = EPOCH_ZONES * u64::from(self.zone_pages);
        self.epoch_ends = self.writes + (self.writes / EPOCHS).min(EPOCH_WRITES).max(least);
        let zones = (self.valid as f32 / self.zone_pages as f32).max(1.0);
        // Each page that was sampled stands for as many pages times user writes.
        self.hazards.learn(self.exposed as f32 / self.sampled.max(1) as f32);
        (self.exposed, self.sampled) = (self.exposed / 20 * 19, self.sampled / 20 * 19);
        self.hazards.look_ahead(FIRST_HORIZON * self.zone_pages as f32, self.ratio());
        self.draw();
        if self.clusters.is_empty() {
            let class = |i: usize| {
                let (row, age) = self.cells[i];
                self.first_class(row.into(), age.into())
            };
            self.clusters = Clusters::of(self.clustered, &self.points, class);
        }
        self.fit(zones);
        self.streams.limit((zones / ZONES_A_STREAM) as usize);
        let rows = self.hazards.used();
        self.classes.iter_mut().for_each(|classes| classes[..rows].fill(UNKNOWN));
        self.placed.fade(rows, FADE);
    }

    /// Fits the clusters and unites companions. A cluster that has no class any more leaves its
    /// zone to another.
    fn fit(&mut self, zones: f32) {
        let mut before = [None; MOST_CLASSES];
        before[..self.clustered].copy_from_slice(self.clusters.centres());
        let spare = self.spare.map_or(0.0, |spare| SPARE_PRICE / spare.max(1) as f32);
        self.clusters.fit(&self.points, f32::max(PRICE / zones, spare));
        self.companions.unite(FADE);
        for (cluster, before) in before[..self.clustered].iter().enumerate() {
            let heir = match (self.clusters.centres()[cluster], before) {
                (Some(_), _) => self.companions.of(cluster),
                (None, Some(centre)) => self.clusters.nearest(centre),
                (None, None) => continue,
            };
            match heir == cluster {
                true => self.loans.take_back(cluster),
                false => self.loans.given_up(cluster, heir),
            }
        }
    }

    /// The ratio of each horizon to the one before. The last horizon is four times the volume's
    /// valid pages, or further if the usual ratio goes further.
    fn ratio(&self) -> f32 {
        let zones = (self.valid as f32 / self.zone_pages as f32).max(1.0);
        (4.0 * zones / FIRST_HORIZON).powf(1.0 / 7.0).max(HORIZON_RATIO)
    }

    /// One line for each cluster: its recent share of the user writes and relocations, and the
    /// survival curve of its centre.
    fn curves(&self) -> Vec<String> {
        let mut placed = [[0.0; 2]; MOST_CLASSES];
        for (point, (_, age)) in self.points.iter().zip(&self.cells) {
            placed[self.clusters.nearest(&point.point)][usize::from(*age > 0)] += point.weight;
        }
        let all: f32 = placed.as_flattened().iter().sum();
        let horizon = |k: usize| FIRST_HORIZON * self.ratio().powi(k as i32);
        let line = |(class, centre): (usize, &Option<CurvePoint>)| {
            let centre = centre.as_ref()?;
            let [user, copied] = placed[class].map(|weight| 100.0 * weight / all);
            let lives = (0..HORIZONS)
                .map(|k| format!("{:.0} % {:.0}", 100.0 * probability(centre[k]), horizon(k)));
            let lives = lives.collect::<Vec<_>>().join(", ");
            Some(format!(
                "class {}: {user:.1} % user writes, {copied:.1} % relocations; live on for zones: {lives}",
                class + 1
            ))
        };
        self.clusters.centres().iter().enumerate().filter_map(line).collect()
    }

    /// Computes the survival curves of all cells with enough pages.
    fn draw(&mut self) {
        let placed = &self.placed.columns()[..self.hazards.used()];
        let least = LEAST * placed.as_flattened().iter().sum::<f32>();
        self.points.clear();
        self.cells.clear();
        for (row, placed) in placed.iter().enumerate() {
            for (age, &weight) in placed.iter().enumerate().filter(|(_, w)| **w > least) {
                let point = point(&self.hazards.survival(row, age), age > 0);
                self.points.push(Weighted { point, weight });
                self.cells.push((row as u16, age as u8));
            }
        }
    }
}

impl Scheme for Survival {
    type Page = Page;
    const INFO: Info = Info {
        name: "survival",
        summary: "by clusters of learned survival curves, long runs apart",
        source: "Frostline",
        params: &[
            Param::whole("classes", 8, 2..=MOST_CLASSES as i64, "clusters at most"),
            Param::whole("streams", 6, 0..=16, "classes of long runs"),
            Param::word(
                "hints",
                "no",
                &["no", "yes"],
                "go by hotness records, if there are any, and have clusters for streams",
            ),
        ],
    };
    const WANTS: Wants = Wants {
        others: true,
        hotness: true,
        victims: Victims::Policy("survival"),
        seals_stale: true,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let clustered = params.whole(Self::INFO.params, "classes")?;
        let streamed = params.whole(Self::INFO.params, "streams")?;
        let hints = params.word(Self::INFO.params, "hints")? == "yes";
        let hinted = hints && setup.has_hotness;
        let (clustered, streamed) = within(setup.room, clustered, streamed);
        let (clustered, streamed) = match hinted {
            true => ((clustered + streamed).min(MOST_CLASSES), 0),
            false => (clustered, streamed),
        };
        Ok(Survival {
            zone_pages: setup.zone_pages,
            space: setup.space,
            clustered,
            streamed,
            spare: setup.room.spare_zones.filter(|_| setup.room.waits_for_zones),
            hinted,
            ages: Ages::new(setup.zone_pages),
            extents: Extents::new(setup.space, setup.zone_pages),
            streams: Streams::new(streamed),
            loans: Loans::default(),
            companions: Companions::default(),
            clusters_of: bytemuck::zeroed_box(),
            hazards: Hazards::new(setup.zone_pages),
            clusters: Clusters::new(Vec::new()),
            classes: bytemuck::zeroed_box(),
            placed: AgeTally::new(ROWS),
            points: Vec::new(),
            cells: Vec::new(),
            behind: None,
            valid: 0,
            exposed: 0,
            sampled: 0,
            writes: 0,
            epoch_ends: EPOCH_ZONES * u64::from(setup.zone_pages),
            verdicts: Verdicts::default(),
            revived: [0; 2],
        })
    }

    fn classes(&self) -> usize {
        self.clustered + self.streamed
    }

    #[inline(always)]
    fn on_neighbour(&mut self, next: Option<&Page>, now: u32) {
        self.behind = next.map(|page| page.written.age(now));
    }

    #[inline(always)]
    fn on_survey(&mut self, page: &Page, now: u32) {
        let row = self.hazards.row(page.context());
        self.hazards.seen(row, self.ages.bucket(page.written.age(now)));
        self.sampled += 1;
    }

    fn on_trim(&mut self, _: u32, page: Option<&Page>, now: u32) {
        if let Some(page) = page {
            let row = self.hazards.row(page.context());
            self.hazards.died(row, self.ages.bucket(page.written.age(now)));
        }
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Page) -> usize {
        self.valid = write.valid;
        self.exposed += write.valid;
        self.writes += 1;
        self.verdicts.written(write);
        if self.writes >= self.epoch_ends {
            self.end_epoch();
        }
        let mut lived = None;
        page.lifespans = match write.first {
            true => Lifespans::default(),
            false => {
                let age = page.written.age(write.now);
                let row = self.hazards.row(page.context());
                let bucket = self.ages.bucket(age);
                self.hazards.died(row, bucket);
                if self.writes.is_multiple_of(JUDGED) {
                    self.judge(row, bucket);
                }
                if Companions::looks(self.writes) {
                    self.look(row, age, write.now);
                }
                lived = Some(age);
                page.lifespans.then(Ages::octave(bucket))
            }
        };
        let sequel = self.streams.write(write.lba);
        let context = match write.hotness {
            Some(hotness) if self.hinted => {
                contexts::hinted(page.lifespans, hotness, write.following, write.kind)
            }
            _ => {
                let Sequel { before: front, run, .. } = sequel;
                let UserWrite { following, kind, .. } = *write;
                let around = Around { lived, front, run, behind: self.behind, following, kind };
                self.extents.context(write.lba, page.lifespans, &around)
            }
        };
        page.set_context(context);
        page.written = Stamp::at(write.now);
        let row = self.hazards.row(context);
        let cell = self.cell(row, 0);
        let lives = cell & LIVES != 0;
        match self.streams.place(write.lba, lives & sequel.long) {
            Some(stream) if lives => {
                self.loans.used(self.clustered + stream, cluster_of(cell));
                self.clustered + stream
            }
            _ => self.loans.class(cluster_of(cell)),
        }
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Page) -> usize {
        let row = self.hazards.row(page.context());
        // The first bucket of ages is that of user writes.
        let age = self.ages.bucket(page.written.age(relocation.now)).max(1);
        let cell = self.cell(row, age);
        self.verdicts.copied(cell & FROZEN != 0, relocation.last);
        self.loans.class(cluster_of(cell))
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        self.loans.opened(zone.class);
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, _zones: &ZoneView<'_>) {
        if self.spare.is_none() {
            return;
        }
        let Survival { loans, streams, clusters, companions, clustered, .. } = self;
        loans.sealed(zone.class, |class| match class.checked_sub(*clustered) {
            Some(stream) => streams.is_idle(stream),
            None => {
                clusters.centres().get(class).is_some_and(Option::is_none)
                    || companions.of(class) != class
            }
        });
    }

    /// The class with the largest sum of survival over all horizons.
    fn coldest(&self) -> usize {
        let centres = self.clusters.centres().iter().enumerate();
        let lives =
            centres.filter_map(|(class, centre)| Some((class, centre.as_ref()?.iter().sum())));
        let coldest = lives.max_by(|a: &(usize, f32), b| a.1.total_cmp(&b.1));
        coldest.map_or(self.clustered - 1, |(class, _)| class)
    }

    /// A class most of whose pages live on beyond the last horizon.
    fn holds_frozen(&self, class: usize) -> bool {
        let centre = self.clusters.centres().get(class).and_then(Option::as_ref);
        centre.is_some_and(|centre| probability(centre[HORIZONS - 1]) > 0.5)
    }

    fn memory(&self) -> Vec<u8> {
        memory::write(self.clusters.centres(), self.hazards.parents())
    }

    fn recall(&mut self, memory: &[u8]) {
        if let Some((centres, hazards)) = memory::read(memory, self.clustered) {
            self.clusters = Clusters::new(centres);
            self.hazards.recall(&hazards, self.space as f32);
            (self.exposed, self.sampled) = (RECALLED * u64::from(self.space), RECALLED);
        }
    }

    fn bytes(&self) -> usize {
        let cells = self.hazards.used() * (1 + AGES * (1 + size_of::<f32>()));
        let points = size_of_val(&self.points[..]) + size_of_val(&self.cells[..]);
        let kept = self.extents.bytes() + self.hazards.bytes();
        kept + cells + points
    }

    fn explain(&self) -> Vec<String> {
        self.curves()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let used = self.clusters.centres().iter().flatten().count();
        let mut gauges = vec![("contexts", self.hazards.used() as f64), ("clusters", used as f64)];
        gauges.extend(self.verdicts.gauges(["curves' precision", "curves' recall"]));
        let [expected, wrong] = self.revived;
        if expected + wrong > 0 {
            let share = wrong as f64 / (expected + wrong) as f64;
            gauges.push(("share of writes to pages taken for frozen", share));
        }
        gauges
    }
}

/// The cluster in a cell of [`Survival::classes`] that is known.
#[inline(always)]
fn cluster_of(cell: u8) -> usize {
    usize::from(cell & !(LIVES | FROZEN)) - 1
}

/// The numbers of clusters and of streams' classes that there is room for. With few spare zones
/// both shrink in proportion, since free pages in open zones are missing as over-provisioning. With
/// next to none, four open zones would leave nothing to clean with.
fn within(room: Room, clustered: usize, streamed: usize) -> (usize, usize) {
    let most = clustered + streamed;
    let part = if room.waits_for_zones { SPARE } else { KEPT_SPARE };
    let spare = room.spare_zones.map(|spare| match spare as usize {
        spare if spare <= FEWEST => 2,
        spare => (spare / part).max(FEWEST),
    });
    let open = room.open_zones.map(|open| open as usize);
    let all = spare.into_iter().chain(open).fold(most, usize::min);
    if all == most {
        return (clustered, streamed);
    }
    let streams = all * streamed / most;
    ((all - streams).max(2), streams)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    const ZONE: u32 = 64;
    const SPACE: u32 = 4096;

    fn survival() -> Survival {
        let (_, mut params) = Params::parse("survival").unwrap();
        Survival::build(&Setup::new(ZONE, SPACE), &mut params).unwrap()
    }

    /// The hot page is written at every other time, the other pages in turn. Returns the states of
    /// the pages, and the classes of the last writes: of the hot page and of another.
    fn write(scheme: &mut Survival, writes: u32) -> (Vec<Page>, usize, usize) {
        let mut pages = vec![Page::zeroed(); SPACE as usize];
        let (mut hot, mut cold) = (0, 0);
        for now in 1..=writes {
            let lba = if now % 2 == 0 { 0 } else { 1 + (now / 2 * 7) % (SPACE - 1) };
            let page = &mut pages[lba as usize];
            let first = page.written == Stamp::default();
            let valid = u64::from(SPACE);
            let write = UserWrite { first, valid, ..UserWrite::first(lba, now) };
            let class = scheme.place_user(&write, page);
            *(if lba == 0 { &mut hot } else { &mut cold }) = class;
            let seen = pages[(now % SPACE) as usize];
            if seen.written != Stamp::default() {
                scheme.on_survey(&seen, now);
            }
        }
        (pages, hot, cold)
    }

    #[test]
    fn pages_that_die_early_lie_apart_from_those_that_live() {
        let (_, hot, cold) = write(&mut survival(), 60_000);
        assert_ne!(hot, cold);
    }

    #[test]
    fn every_cluster_is_explained_and_the_shares_are_of_all_pages() {
        let mut scheme = survival();
        assert!(scheme.explain().is_empty());
        write(&mut scheme, 60_000);
        let lines = scheme.explain();
        let share = |line: &String| line.split(' ').nth(2).unwrap().parse::<f32>().unwrap();
        assert_eq!(lines.len(), scheme.clusters.centres().iter().flatten().count());
        assert!((lines.iter().map(share).sum::<f32>() - 100.0).abs() < 1.0, "{lines:?}");
    }

    #[test]
    fn pages_that_are_trimmed_have_died() {
        let survives = |trimmed_after: u32| {
            let mut scheme = survival();
            let mut pages = vec![Page::zeroed(); SPACE as usize];
            for now in 1..=20_000 {
                let (lba, old) = (now % SPACE, now.wrapping_sub(trimmed_after));
                let write = UserWrite { valid: u64::from(SPACE), ..UserWrite::first(lba, now) };
                scheme.place_user(&write, &mut pages[lba as usize]);
                if (1..now).contains(&old) {
                    let page =
                        std::mem::replace(&mut pages[(old % SPACE) as usize], Page::zeroed());
                    scheme.on_trim(old % SPACE, Some(&page), now);
                }
                let seen = pages[(now * 7 % SPACE) as usize];
                if seen.written != Stamp::default() {
                    scheme.on_survey(&seen, now);
                }
            }
            let row = scheme.hazards.row(pages[(20_000 % SPACE) as usize].context());
            scheme.hazards.survival(row, 0)[0]
        };
        let (short, long) = (survives(ZONE), survives(SPACE - 1));
        assert!(short < 0.2 && long > 0.9, "{short} {long}");
    }

    #[test]
    fn few_spare_zones_mean_few_classes() {
        let few =
            |spare| Room { spare_zones: Some(spare), waits_for_zones: true, ..Room::default() };
        let classes = |spare| within(few(spare), 8, 6);
        assert_eq!((classes(0), classes(4)), ((2, 0), (2, 0)));
        assert_eq!((classes(5), classes(8), classes(16)), ((3, 1), (3, 1), (5, 3)));
        assert_eq!((classes(28), classes(1000)), ((8, 6), (8, 6)));
        assert_eq!(within(few(3), 2, 0), (2, 0));
        let kept = |spare| within(Room { waits_for_zones: false, ..few(spare) }, 8, 6);
        assert_eq!((kept(12), kept(24), kept(42)), ((3, 1), (5, 3), (8, 6)));
        assert_eq!(within(Room { open_zones: Some(10), ..few(1000) }, 8, 6), (6, 4));
    }

    #[test]
    fn what_was_learned_is_there_after_a_restart() {
        let mut scheme = survival();
        let (mut pages, hot, _) = write(&mut scheme, 60_000);
        let mut again = survival();
        again.recall(&scheme.memory());
        let write = UserWrite { first: false, valid: 1, ..UserWrite::first(0, 60_002) };
        assert_eq!(again.place_user(&write, &mut pages[0]), hot);
    }

    #[test]
    fn a_damaged_memory_and_damaged_states_do_no_harm() {
        let mut scheme = survival();
        write(&mut scheme, 60_000);
        let memory = scheme.memory();
        for at in 0..memory.len() {
            let mut damaged = memory.clone();
            damaged[at] ^= 0xff;
            let mut again = survival();
            again.recall(&damaged);
            let mut page = bytemuck::pod_read_unaligned::<Page>(&[0xff; 8]);
            let write = UserWrite { first: false, ..UserWrite::first(SPACE - 1, 9) };
            assert!(again.place_user(&write, &mut page) < again.classes());
            let relocation = Relocation { lba: 0, now: 9, zone: 1, class: 0, last: false };
            assert!(again.place_relocation(&relocation, &mut page) < again.classes());
        }
    }
}
