//! The best zone of very many, without a look at all of them.
//!
//! Few zones are on a list: those that may reach a mark before some time to come. Every other zone
//! has a limit of garbage, below which it stays under the mark until then, and is [watched]: it comes
//! to the list when it reaches the limit. So the best zone of the list is the best of all as long as
//! it reaches the mark. If it does not, or the time has come, the list is made anew with another
//! mark, out of a list that is eight times as long and holds for eight times as many choices; that
//! one out of a longer one, and the longest out of all zones. A choice so costs as the logarithm of
//! the number of zones.
//!
//! [watched]: Watch

use std::marker::PhantomData;

use multiversion::multiversion;

use super::{VictimPolicy, best_by};
use crate::watch::{QUIET, Watch};
use crate::{ZoneColumns, ZoneView};

/// The score by which a policy compares zones. It falls neither with garbage nor with time. The
/// lowest number goes first among equals.
pub trait Rule: Send {
    /// True if the score of a zone grows with its age.
    const AGES: bool;

    /// Zones whose rough score is less than this of the best rough score don't have the best score.
    fn near(best: i32) -> i32;

    /// About the score of a zone with some garbage and an age, in a number that orders as scores do.
    /// It is no less than 0.
    fn rough(pages: u32, garbage: i32, age: u32) -> i32;

    /// A number of garbage pages; with fewer, a zone of this age loses to any zone that has this
    /// rough score. `behind`: it does so among equals.
    fn limit(pages: u32, score: i32, behind: bool, age: u32) -> i32;

    /// The score in full precision.
    fn score(zones: &ZoneView<'_>, zone: u32) -> f64;
}

/// A policy by a rule: the zones that may have the best score.
#[derive(Clone, Debug)]
pub struct Shortlist<R> {
    /// The shortest first. Each holds the zones of those before it.
    lists: Vec<List>,
    /// By zone, the number of lists that it is not on.
    depth: Vec<u8>,
    /// The least garbage of a candidate when all limits were set.
    least_garbage: i32,
    /// The time of the last pass over all zones, and choices since.
    made: u32,
    choices: u32,
    /// User writes between two choices.
    pace: u32,
    scores: Vec<i32>,
    keys: Vec<Key>,
    rule: PhantomData<R>,
}

#[derive(Clone, Debug, Default)]
struct List {
    zones: Vec<u32>,
    /// A zone that is not on the list has a lower key.
    mark: Key,
    /// The time until which this is so.
    until: u32,
    /// Zones with which the list is shortened.
    most: usize,
}

/// Orders zones as rough scores do, among equals the lowest number highest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u64);

impl Key {
    fn new(score: i32, zone: u32) -> Self {
        debug_assert!(score >= 0, "only candidates have keys");
        Key(u64::from(score as u32) << 32 | u64::from(!zone))
    }

    fn score(self) -> i32 {
        (self.0 >> 32) as i32
    }

    fn zone(self) -> u32 {
        !(self.0 as u32)
    }
}

/// Zones on the shortest list when it is made.
const SHORTEST: usize = 16;

/// How many times as long the next list is.
const FAN: usize = 8;

/// Zones in a block; of all zones only blocks that have a best one are searched for it.
const BLOCK: usize = 256;

// Not derived, which would ask for a rule that has a default.
impl<R> Default for Shortlist<R> {
    fn default() -> Self {
        Shortlist {
            lists: Vec::new(),
            depth: Vec::new(),
            least_garbage: 0,
            made: 0,
            choices: 0,
            pace: 0,
            scores: Vec::new(),
            keys: Vec::new(),
            rule: PhantomData,
        }
    }
}

impl<R: Rule> VictimPolicy for Shortlist<R> {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        self.scores.resize(zones.len(), 0);
        let best = score_all::<R>(&mut self.scores, zones);
        let near = if best < 0 { QUIET } else { R::near(best) };
        let blocks = (0u32..).step_by(BLOCK).zip(self.scores.chunks(BLOCK));
        let blocks = blocks.filter(|(_, scores)| highest(scores) >= near);
        let scored = blocks.flat_map(|(from, scores)| (from..).zip(scores));
        let finalists = scored.filter(|&(_, &score)| score >= near).map(|(zone, _)| zone);
        best_by(zones, finalists, |zone| R::score(zones, zone))
    }

    fn pick_watched(&mut self, zones: &ZoneView<'_>, watch: &mut Watch) -> Option<u32> {
        if zones.is_ranked() {
            return self.pick(zones);
        }
        self.choices += 1;
        if watch.is_kept() && self.least_garbage == zones.least_garbage() {
            self.depth.resize(zones.len(), self.lists.len() as u8);
            while let Some(zone) = watch.take() {
                self.settle(zones, watch, zone);
            }
            self.renew(zones, watch);
        } else {
            self.make(zones, watch);
        }
        for list in 0..self.lists.len() {
            if let Some(zone) = self.best(zones, watch) {
                return Some(zone);
            }
            self.refill(zones, watch, list);
        }
        self.best(zones, watch)
    }
}

impl<R: Rule> Shortlist<R> {
    /// Lists a quiet zone, or sets its limit.
    fn settle(&mut self, zones: &ZoneView<'_>, watch: &mut Watch, zone: u32) {
        if !zones.is_sealed(zone) {
            watch.set(zone, 0);
            return;
        }
        let depth = &mut self.depth[zone as usize];
        while let Some(list) = usize::from(*depth).checked_sub(1) {
            let list = &mut self.lists[list];
            let limit = list.limit::<R>(zones, zone).max(self.least_garbage);
            if (zones.garbage(zone) as i32) < limit {
                watch.set(zone, limit);
                return;
            }
            list.zones.push(zone);
            *depth -= 1;
        }
    }

    /// The best zone of the shortest list, if it reaches the mark.
    fn best(&mut self, zones: &ZoneView<'_>, watch: &mut Watch) -> Option<u32> {
        let (mut best, mut at) = (self.lists[0].mark, 0);
        let mut reaches = false;
        self.scores.clear();
        while let Some(&zone) = self.lists[0].zones.get(at) {
            let score = rough::<R>(zones, zone);
            if score < 0 {
                self.lists[0].zones.swap_remove(at);
                self.depth[zone as usize] = 1;
                self.settle(zones, watch, zone);
                continue;
            }
            let key = Key::new(score, zone);
            reaches |= key >= best;
            best = best.max(key);
            self.scores.push(score);
            at += 1;
        }
        if !reaches {
            return None;
        }
        let near = R::near(best.score());
        let scored = self.lists[0].zones.iter().zip(&self.scores);
        let finalists = scored.filter(|&(_, &score)| score >= near).map(|(&zone, _)| zone);
        best_by(zones, finalists, |zone| R::score(zones, zone))
    }

    /// Makes lists anew that hold no longer, or are too long.
    fn renew(&mut self, zones: &ZoneView<'_>, watch: &mut Watch) {
        let is_over = |list: &List| {
            let has_ended = R::AGES && (list.until.wrapping_sub(zones.now()) as i32) < 0;
            has_ended || list.zones.len() > list.most
        };
        if let Some(longest) = self.lists.iter().rposition(is_over) {
            self.refill(zones, watch, longest);
        }
    }

    /// Makes a list anew, and all that are shorter.
    fn refill(&mut self, zones: &ZoneView<'_>, watch: &mut Watch, list: usize) {
        let longer = list + 1;
        if longer == self.lists.len() {
            return self.make(zones, watch);
        }
        self.lists[..longer].iter_mut().for_each(|list| list.zones.clear());
        let mut source = std::mem::take(&mut self.lists[longer].zones);
        source.retain(|&zone| {
            let stays = zones.is_candidate(zone);
            if !stays {
                self.depth[zone as usize] = longer as u8 + 1;
                watch.quiet(zone);
                self.settle(zones, watch, zone);
            }
            stays
        });
        self.fill(zones, watch, list, &source, self.lists[longer].mark);
        self.lists[longer].zones = source;
    }

    /// Makes a list anew of zones, which are all that may reach the least mark, and all lists that
    /// are shorter. If the list that they come from ends sooner, that one ends all shorter ones.
    fn fill(
        &mut self,
        zones: &ZoneView<'_>,
        watch: &mut Watch,
        list: usize,
        source: &[u32],
        least: Key,
    ) {
        let (mark, until) = self.aim(zones, list, source.iter().copied());
        let mut made = std::mem::take(&mut self.lists[list]);
        (made.mark, made.until) = (mark.max(least), until);
        made.zones.clear();
        for &zone in source {
            let is_sealed = zones.is_sealed(zone);
            let limit = made.limit::<R>(zones, zone).max(self.least_garbage);
            let is_listed = is_sealed && zones.garbage(zone) as i32 >= limit;
            self.depth[zone as usize] = (list + usize::from(!is_listed)) as u8;
            watch.quiet(zone);
            match is_listed {
                true => made.zones.push(zone),
                false => watch.set(zone, if is_sealed { limit } else { 0 }),
            }
        }
        self.finish(zones, watch, list, made);
    }

    /// Makes the longest list anew of all zones, and all others of it.
    fn make(&mut self, zones: &ZoneView<'_>, watch: &mut Watch) {
        self.pace = zones.now().wrapping_sub(self.made) / self.choices.max(1);
        self.pace = self.pace.min(zones.zone_pages());
        (self.made, self.choices) = (zones.now(), 0);
        self.least_garbage = zones.least_garbage();
        let last = (1..).take_while(|&list| 4 * length(list) <= zones.len()).count();
        self.lists.resize(last + 1, List::default());
        self.depth.clear();
        self.depth.resize(zones.len(), self.lists.len() as u8);
        let (mark, until) = self.aim(zones, last, 1..zones.len() as u32);
        let mut made = std::mem::take(&mut self.lists[last]);
        (made.mark, made.until) = (mark, until);
        made.zones.clear();
        let limits = watch.begin();
        limit_all::<R>(limits, zones, &made);
        for ((zone, limit), &garbage) in (0..).zip(limits).zip(zones.columns.garbage) {
            if garbage >= *limit {
                *limit = QUIET;
                self.depth[zone as usize] = last as u8;
                made.zones.push(zone);
            }
        }
        self.finish(zones, watch, last, made);
    }

    /// Keeps a list that is made, and makes the shorter ones of it.
    fn finish(&mut self, zones: &ZoneView<'_>, watch: &mut Watch, list: usize, mut made: List) {
        if let Some(shorter) = list.checked_sub(1) {
            self.fill(zones, watch, shorter, &made.zones, made.mark);
        }
        made.most = (4 * length(list)).max(2 * made.zones.len());
        self.lists[list] = made;
    }

    /// The mark of a list that is made of these zones, and the time until which it is to hold.
    fn aim(
        &mut self,
        zones: &ZoneView<'_>,
        list: usize,
        source: impl Iterator<Item = u32>,
    ) -> (Key, u32) {
        let length = length(list);
        let sample = source.step_by(length / SHORTEST).map(|zone| (rough::<R>(zones, zone), zone));
        let keys =
            sample.filter(|&(score, _)| score >= 0).map(|(score, zone)| Key::new(score, zone));
        self.keys.clear();
        self.keys.extend(keys);
        let rank = self.keys.len().saturating_sub(SHORTEST);
        let mark = match self.keys.is_empty() {
            true => Key::default(),
            false => *self.keys.select_nth_unstable(rank).1,
        };
        let writes = self.pace.saturating_mul(length as u32 / 2).min(1 << 30);
        (mark, zones.now().wrapping_add(writes))
    }
}

impl List {
    /// The garbage with which a sealed zone comes to the list.
    #[inline(always)]
    fn limit<R: Rule>(&self, zones: &ZoneView<'_>, zone: u32) -> i32 {
        let age = self.until.wrapping_sub(zones.sealed_at(zone));
        R::limit(zones.zone_pages(), self.mark.score(), zone > self.mark.zone(), age)
    }
}

/// Zones that a list is made for.
fn length(list: usize) -> usize {
    SHORTEST * FAN.pow(list as u32)
}

/// The rough score of a zone, -1 if it is no candidate.
#[inline(always)]
fn rough<R: Rule>(zones: &ZoneView<'_>, zone: u32) -> i32 {
    let garbage = zones.columns.garbage[zone as usize];
    let score = R::rough(zones.zone_pages(), garbage, zones.age(zone));
    if garbage < zones.least_garbage() { -1 } else { score }
}

/// The rough scores of all zones, -1 for those that are no candidates; returns the highest.
#[multiversion(targets("x86_64+avx2"))]
fn score_all<R: Rule>(scores: &mut [i32], zones: &ZoneView<'_>) -> i32 {
    let (pages, now, least) = (zones.zone_pages(), zones.now(), zones.least_garbage());
    let ZoneColumns { garbage, sealed_at, .. } = zones.columns;
    let mut best = -1;
    for ((score, &garbage), &at) in scores.iter_mut().zip(garbage).zip(sealed_at) {
        let rough = R::rough(pages, garbage, now.wrapping_sub(at));
        *score = if garbage < least { -1 } else { rough };
        best = best.max(*score);
    }
    best
}

/// The highest of some scores. Vector instructions find a maximum, but not its place.
#[multiversion(targets("x86_64+avx2"))]
fn highest(scores: &[i32]) -> i32 {
    scores.iter().fold(-1, |highest, &score| highest.max(score))
}

/// The garbage with which each zone comes to a list.
#[multiversion(targets("x86_64+avx2"))]
fn limit_all<R: Rule>(limits: &mut [i32], zones: &ZoneView<'_>, list: &List) {
    let (pages, least) = (zones.zone_pages(), zones.least_garbage());
    let List { mark, until, .. } = *list;
    let (score, last) = (mark.score(), mark.zone());
    for ((limit, &at), zone) in limits.iter_mut().zip(zones.columns.sealed_at).zip(0u32..) {
        *limit = R::limit(pages, score, zone > last, until.wrapping_sub(at)).max(least);
    }
}

#[cfg(test)]
mod tests {
    use frostline_random::SplitMix;

    use super::*;
    use crate::victims::{CostBenefit, Greedy, build, cost_benefit};
    use crate::zones::table::ZoneRows;

    /// The definition of a policy.
    fn defined(spec: &str, zones: &ZoneView<'_>) -> Option<u32> {
        best_by(zones, zones.candidates(), |zone| match spec {
            "greedy" => f64::from(zones.garbage(zone)),
            _ => cost_benefit::score(zones, zone, f64::from(zones.age(zone))),
        })
    }

    /// Zones as a log changes them and reports it.
    struct Log {
        rows: ZoneRows,
        watch: Watch,
        policy: Box<dyn VictimPolicy>,
        least: u32,
    }

    impl Log {
        fn seal(&mut self, zone: u32, garbage: i32) {
            self.rows.replace(zone, garbage);
            self.watch.seal(zone);
        }

        fn discard(&mut self, zone: u32) {
            if self.rows.view().is_sealed(zone) {
                self.rows.discard(zone);
                let garbage = self.rows.view().garbage(zone) as i32;
                self.watch.bell().note(zone, garbage);
            }
        }

        fn pick(&mut self, spec: &str) -> Option<u32> {
            let view = self.rows.view().with_least_garbage(self.least);
            let picked = self.policy.pick_watched(&view, &mut self.watch);
            assert_eq!(picked, defined(spec, &view), "{spec} at {}", self.rows.now);
            picked
        }
    }

    #[test]
    fn whatever_happens_to_zones_the_list_has_the_best_by_the_definition() {
        for seed in 0..60 {
            let mut rng = SplitMix::new(seed);
            let spec = ["greedy", "cost-benefit"][seed as usize % 2];
            let count = [3, 40, 300, 3000][seed as usize / 2 % 4];
            let pages = [8, 64, 1000][rng.below(3) as usize];
            let (rows, policy) = (ZoneRows::new(pages), build(spec, 7).unwrap());
            let least = 1 + rng.below(2) * rng.below(pages);
            let mut log = Log { rows, watch: Watch::default(), policy, least };
            // Near the end of 32 bits, so that time wraps.
            log.rows.now = u32::MAX - rng.below(5000);
            for _ in 0..count {
                log.rows.seal(0, -1, 0);
            }
            log.watch.cover(count as usize + 1);
            let pace = [0, 1, 50][rng.below(3) as usize];
            for _ in 0..400 {
                // Garbage comes to a few zones, to all, or to those that follow each other.
                let hot = 1 + rng.below(count);
                for _ in 0..rng.below(2 * pages) {
                    let zone = [rng.below(count), rng.below(hot), hot - 1][rng.below(3) as usize];
                    log.discard(1 + zone);
                    log.rows.now = log.rows.now.wrapping_add(rng.below(pace + 1));
                }
                for _ in 0..rng.below(8) {
                    let (zone, garbage) = (1 + rng.below(count), rng.below(pages / 8 + 1) as i32);
                    match log.rows.view().is_sealed(zone) {
                        true if rng.below(8) == 0 => log.rows.replace(zone, -1),
                        true => {}
                        false => log.seal(zone, garbage),
                    }
                }
                if let Some(zone) = log.pick(spec)
                    && rng.below(8) > 0
                {
                    log.rows.replace(zone, -1);
                }
            }
        }
    }

    /// The lists of a policy that took the first zone.
    fn picked_first<R: Rule>(mut policy: Shortlist<R>, log: &mut Log) -> Vec<List> {
        assert_eq!(policy.pick_watched(&log.rows.view(), &mut log.watch), Some(1));
        policy.lists
    }

    #[test]
    fn few_of_many_zones_are_on_the_list_though_all_are_equal() {
        for spec in ["greedy", "cost-benefit"] {
            let (rows, policy) = (ZoneRows::new(100), build(spec, 7).unwrap());
            let mut log = Log { rows, watch: Watch::default(), policy, least: 1 };
            log.watch.cover(20_001);
            for _ in 0..20_000 {
                log.rows.seal(0, 100, 0);
            }
            let lists = match spec {
                "greedy" => picked_first(Greedy::default(), &mut log),
                _ => picked_first(CostBenefit::default(), &mut log),
            };
            let lengths: Vec<_> = lists.iter().map(|list| list.zones.len()).collect();
            assert!(
                lengths.iter().zip(0..).all(|(&of, list)| of <= 2 * length(list)),
                "{lengths:?}"
            );
        }
    }
}
