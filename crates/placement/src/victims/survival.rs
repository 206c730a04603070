//! survival: the zone whose cleaning saves most, by hazards that the policy learns from the zones
//! themselves. Not published elsewhere.
//!
//! Luo and Lomet (arXiv 2005.00044) clean the zone whose cost declines least if it waits. The cost
//! of a free page is (1 - E) / E, with E the share of garbage, so waiting gains (1 - E) h / E^2,
//! with h the rate at which the zone's pages die. They estimate that rate from the zone's past.
//! Here it comes from a table of the fate of other zones: deaths over exposure by class, by the age
//! of the zone since its seal, and by its garbage in eighths. A cell with few deaths is drawn
//! towards its class and age, a class towards the age, and an age towards one over itself.
//!
//! A zone whose pages will die together later gains nothing by waiting a little and everything by
//! waiting long enough. So h is the largest rate of gain over all waits: g = max over T of (1 -
//! S(T)) E / (T - (1 - E) (S summed up to T)), with S(T) the share of valid pages that live on for
//! T; for a short wait that is h. The policy cleans the zone with the largest E^2 / ((1 - E) g).
//!
//! A zone whose pages die right now is left alone until they have died, even if zones like it gain
//! nothing by waiting: g is at least the rate at which the zone's own pages died lately.
//!
//! Pages that have newer versions in an engine's memory are garbage as well: E counts the share of
//! them that was seen in victims whose pages died at such a rate.
//!
//! Scores are kept, so that a choice among many zones is soon made. Zones are scored in stretches
//! of 32: a stretch is scored again when its zones gained a sixteenth of a zone in garbage, when
//! one was freed or came into another bucket of ages, and when rates have changed. The best stretch
//! is scored again before its best zone is taken.
//!
//! A choice costs about the same with any number of zones: of more than 2,048 it looks at so many in
//! turn. With so many zones little changes in any of them between two choices. Rates are learned
//! from 32,768 to 65,536 zones, if there are more; what zones did lately is not known then.
//!
//! After a restart the table is learned anew; until then h is one over the age, which comes close
//! to cost-benefit.

use super::newer::Newer;
use super::{PolicyInfo, VictimPolicy, best_by};
use crate::ZoneView;
use crate::survival::ages::{AGES, Ages, decay};

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "survival",
    summary: "the least to gain by waiting: GP^2 / ((1 - GP) * g), g learned from zones like it",
    source: "Frostline; the cost of waiting is that of Luo and Lomet, arXiv 2005.00044",
    params: &[],
    build: |_, _| Ok(Box::new(SurvivalPolicy::new())),
};

/// User writes between two looks at all zones: this many, or the number of sealed zones if that is
/// more.
const LOOK: u32 = 512;
/// A rate is kept for this many looks before it is worked out again.
const LASTING: u32 = 4;
/// Looks between two fadings of the counts.
const FADING: u32 = 256;
/// Zones in a stretch, and stretches in a group.
const STRETCH: usize = 32;
/// Stretches that a choice looks at, at most.
const WINDOW: usize = 64;
/// Zones from which rates are learned, at least, if there are as many.
const SAMPLE: usize = 32_768;
/// A stretch that gained more than this part of a zone in garbage is scored again.
const ENOUGH: u32 = 16;
/// The share of a count that fading leaves.
const FADE: f32 = 0.9;
/// Steps of garbage by which deaths are counted.
const LEVELS: usize = 8;
/// Steps of garbage by which rates are kept.
const STEPS: usize = 32;
/// Pseudo-deaths: the weight of the expected hazard.
const PRIOR: f32 = 20.0;
/// The weight of g in the rate of a zone's own pages.
const OWN_PRIOR: f32 = 1.0;
/// The share of a zone's own count that a look leaves.
const OWN_FADE: f32 = 0.5;

/// Pages that died in sealed zones, and user writes that pages spent in them.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    deaths: f32,
    exposure: f32,
}

impl Count {
    /// A zone of so many pages, whose garbage grew from `before` to `garbage` in `elapsed` user
    /// writes.
    fn of_zone(pages: u32, (before, garbage): (u32, u32), elapsed: u32) -> Self {
        let valid = pages as f32 - (garbage + before) as f32 / 2.0;
        Count { deaths: (garbage - before) as f32, exposure: elapsed as f32 * valid }
    }

    fn add(&mut self, other: Count) {
        self.deaths += other.deaths;
        self.exposure += other.exposure;
    }

    /// The same with less weight.
    fn faded(self, share: f32) -> Self {
        Count { deaths: self.deaths * share, exposure: self.exposure * share }
    }

    /// Deaths per page and user write, drawn towards the expected hazard `parent` by so many
    /// pseudo-deaths.
    fn hazard(&self, parent: f32, prior: f32) -> f32 {
        (self.deaths + prior) / (self.exposure + prior / parent)
    }
}

/// The counts and rates of a class.
#[derive(Clone, Debug)]
struct Class {
    levels: [[Count; LEVELS]; AGES],
    all: [Count; AGES],
    /// Rates of gain, each with the period of looks in which it was worked out.
    rates: [[(f32, u32); STEPS]; AGES],
    /// Curves by level of garbage, each with the number of looks after which it was drawn.
    curves: [(Curve, u32); LEVELS],
}

/// The lives of pages in zones of a class with a level of garbage.
#[derive(Clone, Copy, Debug)]
struct Curve {
    hazards: [f32; AGES],
    /// The shares of pages that live through each bucket of ages.
    survivals: [f32; AGES],
}

/// A zone as the last look found it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    sealed: bool,
    sealed_at: u32,
    garbage: u32,
    /// Deaths and exposure of its pages; half of them count at the next look.
    recent: Count,
}

/// The zone whose cleaning saves most, by learned hazards.
#[derive(Clone, Debug)]
pub(super) struct SurvivalPolicy {
    /// The zones of the sample: one of each block of so many.
    seen: Vec<Seen>,
    every: usize,
    classes: Vec<Class>,
    by_age: [Count; AGES],
    looks: u32,
    looked: u32,
    /// Sealed zones at the last look. The number of zones would not do: a device has all its zones
    /// in the table from the start, a simulated volume only those that it has used.
    sealed: u32,
    stretches: Vec<Stretch>,
    /// The highest score of each stretch's candidates; [`f32::MIN`] if there is none.
    tops: Vec<f32>,
    /// The highest of each group of stretches.
    group_tops: Vec<f32>,
    /// The stretch that the next choice looks at first.
    next: usize,
    /// The stretch of the last choice.
    chosen: usize,
    newer: Newer,
}

/// Neighbouring zones, as they were when they were last scored. They are scored again when they
/// have changed enough; until then their highest score stands for them.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Garbage of the sealed zones together, less one for each other zone. It falls when a zone is
    /// freed.
    garbage: i32,
    /// Time of scoring.
    at: u32,
    /// User writes until a zone comes into the next bucket of ages.
    lasting: u32,
    /// The period of looks in which it was scored.
    period: u32,
}

impl VictimPolicy for SurvivalPolicy {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        let ages = Ages::new(zones.zone_pages());
        let elapsed = zones.now().wrapping_sub(self.looked);
        if self.seen.is_empty() || elapsed >= LOOK.max(self.sealed) {
            self.look(zones, ages, elapsed);
        }
        self.score_changed(zones, ages);
        let picked = self.best(zones, ages).or_else(|| {
            // Zones may have got their first garbage since their stretch was scored.
            self.stretches.clear();
            self.score_changed(zones, ages);
            self.best(zones, ages)
        })?;
        if zones.valid(picked) > 0 {
            let rate = self.zone_rate(zones, ages, picked, zones.age(picked));
            self.newer.picked(zones, picked, rate);
        }
        Some(picked)
    }

    fn copying_begins(&mut self, zones: &ZoneView<'_>, zone: u32) {
        self.newer.copying_begins(zones, zone);
    }
}

impl SurvivalPolicy {
    fn new() -> Self {
        let by_age = [Count::default(); AGES];
        SurvivalPolicy {
            seen: Vec::new(),
            every: 1,
            classes: Vec::new(),
            by_age,
            looks: 0,
            looked: 0,
            sealed: 0,
            stretches: Vec::new(),
            tops: Vec::new(),
            group_tops: Vec::new(),
            next: 0,
            chosen: 0,
            newer: Newer::default(),
        }
    }

    /// The best zone. A kept score may be too high: a stretch with the highest one is scored again
    /// until that is so of one just scored.
    fn best(&mut self, zones: &ZoneView<'_>, ages: Ages) -> Option<u32> {
        loop {
            let group = first_highest(&self.group_tops)?;
            self.chosen = group * STRETCH + first_highest(self.tops_of(group))?;
            let is_scored = self.stretches[self.chosen].at == zones.now();
            let best = self.score_stretch(zones, ages, self.chosen);
            if is_scored {
                return best;
            }
        }
    }

    /// Scores stretches that have changed since they were scored: the one of the last choice, and
    /// those in turn.
    fn score_changed(&mut self, zones: &ZoneView<'_>, ages: Ages) {
        let (known, all) = (self.stretches.len(), zones.len().div_ceil(STRETCH));
        let unscored = Stretch { garbage: 0, at: 0, lasting: 0, period: self.period() };
        self.stretches.resize(all, unscored);
        self.tops.resize(all, f32::MIN);
        self.group_tops.resize(all.div_ceil(STRETCH), f32::MIN);
        (known..all).for_each(|stretch| self.score_if_changed(zones, ages, stretch));
        if all > WINDOW {
            self.score_if_changed(zones, ages, self.chosen);
        }
        for _ in 0..all.min(WINDOW) {
            self.next = if self.next + 1 < all { self.next + 1 } else { 0 };
            self.score_if_changed(zones, ages, self.next);
        }
    }

    fn score_if_changed(&mut self, zones: &ZoneView<'_>, ages: Ages, stretch: usize) {
        let from = stretch * STRETCH;
        let column = &zones.columns.garbage[from..zones.len().min(from + STRETCH)];
        let garbage = column.iter().fold(0i32, |sum, &of| sum.wrapping_add(of.max(-1)));
        let known = &self.stretches[stretch];
        let gained = garbage.wrapping_sub(known.garbage) as u32;
        let lasts = zones.now().wrapping_sub(known.at) < known.lasting;
        let is_old = known.period != self.period();
        if is_old || gained > zones.zone_pages() / ENOUGH || !lasts {
            self.stretches[stretch].garbage = garbage;
            self.score_stretch(zones, ages, stretch);
        }
    }

    /// Rates are as they were in the same period.
    fn period(&self) -> u32 {
        self.looks / LASTING
    }

    /// Scores the zones of a stretch, and returns the best one.
    fn score_stretch(&mut self, zones: &ZoneView<'_>, ages: Ages, stretch: usize) -> Option<u32> {
        let from = stretch * STRETCH;
        let all = from as u32..(from + STRETCH).min(zones.len()) as u32;
        let (mut lasting, mut top) = (u32::MAX, f32::MIN);
        let best = best_by(zones, all.filter(|&zone| zones.is_candidate(zone)), |zone| {
            let age = zones.age(zone);
            let score = self.score(zones, ages, zone, age);
            lasting = lasting.min(ages.lasting(age));
            top = top.max(score);
            f64::from(score)
        });
        let period = self.period();
        let known = &mut self.stretches[stretch];
        *known = Stretch { at: zones.now(), lasting, period, ..*known };
        self.tops[stretch] = top;
        let group = stretch / STRETCH;
        self.group_tops[group] = self.tops_of(group).iter().copied().fold(f32::MIN, f32::max);
        best
    }

    /// The highest scores of a group's stretches.
    fn tops_of(&self, group: usize) -> &[f32] {
        let from = group * STRETCH;
        &self.tops[from..self.tops.len().min(from + STRETCH)]
    }

    /// E^2 / ((1 - E) g) of a zone.
    #[inline(always)]
    fn score(&mut self, zones: &ZoneView<'_>, ages: Ages, zone: u32, age: u32) -> f32 {
        if zones.valid(zone) == 0 {
            return f32::MAX;
        }
        let (garbage, rate) =
            (share_of_garbage(zones, zone), self.zone_rate(zones, ages, zone, age));
        let empty = garbage + (1.0 - garbage) * self.newer.share(rate);
        empty * empty / ((1.0 - empty) * rate)
    }

    /// The rate of gain of a zone.
    #[inline(always)]
    fn zone_rate(&mut self, zones: &ZoneView<'_>, ages: Ages, zone: u32, age: u32) -> f32 {
        let rate = self.rate(ages, zones.class(zone), age, share_of_garbage(zones, zone));
        let own = self.recent(zones, zone).hazard(rate, OWN_PRIOR);
        rate.max(own)
    }

    /// Recent deaths and exposure of a zone's pages. Both are 0 if only a sample of zones is seen, or
    /// the zone was sealed after the last look.
    #[inline(always)]
    fn recent(&self, zones: &ZoneView<'_>, zone: u32) -> Count {
        let Some(seen) = self.seen.get(zone as usize).filter(|_| self.every == 1) else {
            return Count::default();
        };
        let (at, garbage) = (zones.sealed_at(zone), zones.garbage(zone));
        if !seen.sealed || seen.sealed_at != at || garbage < seen.garbage {
            return Count::default();
        }
        let elapsed = zones.now().wrapping_sub(self.looked);
        let mut recent = seen.recent.faded(OWN_FADE);
        recent.add(Count::of_zone(zones.zone_pages(), (seen.garbage, garbage), elapsed));
        recent
    }

    /// Counts what happened in each sampled zone since the last look.
    fn look(&mut self, zones: &ZoneView<'_>, ages: Ages, elapsed: u32) {
        let (pages, every) = (zones.zone_pages(), (zones.len() / SAMPLE).max(1));
        if every != self.every {
            self.every = every;
            self.seen.clear();
        }
        self.seen.resize(zones.len() / every, Seen::default());
        self.sealed = 0;
        for (block, seen) in (0u32..).zip(&mut self.seen) {
            // One of each block, anywhere in it: classes may take turns with their zones.
            let place = (block.wrapping_mul(0x9e37_79b9) >> 16) % every as u32;
            let zone = block * every as u32 + place;
            let (sealed, garbage) = (zones.is_sealed(zone), zones.garbage(zone));
            self.sealed += u32::from(sealed) * every as u32;
            let (sealed_at, recent) = (zones.sealed_at(zone), Count::default());
            let now = Seen { sealed, sealed_at, garbage, recent };
            let before = std::mem::replace(seen, now);
            let same = sealed && before.sealed && sealed_at == before.sealed_at;
            if !same || garbage < before.garbage {
                continue;
            }
            let class = zones.class(zone);
            while self.classes.len() <= class {
                self.classes.push(Class::new());
            }
            let level = (before.garbage as usize * LEVELS) / (pages as usize + 1);
            let age = zones.age(zone);
            let bucket = ages.bucket(age - age.min(elapsed / 2));
            let count = Count::of_zone(pages, (before.garbage, garbage), elapsed);
            seen.recent = before.recent.faded(OWN_FADE);
            seen.recent.add(count);
            self.classes[class].levels[bucket][level].add(count);
            self.classes[class].all[bucket].add(count);
            self.by_age[bucket].add(count);
        }
        self.looked = zones.now();
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(FADING) {
            let fade = |count: &mut Count| *count = count.faded(FADE);
            self.by_age.iter_mut().for_each(fade);
            for class in &mut self.classes {
                class.all.iter_mut().chain(class.levels.as_flattened_mut()).for_each(fade);
            }
        }
    }

    /// The largest gain of waiting for a zone of this class, age and share of garbage.
    #[inline(always)]
    fn rate(&mut self, ages: Ages, class: usize, age: u32, empty: f32) -> f32 {
        let age = ages.bucket(age);
        let step = (empty * STEPS as f32) as usize;
        let due = self.looks / LASTING + 1;
        match self.classes.get(class) {
            Some(known) => match known.rates[age][step] {
                (rate, at) if at == due => rate,
                _ => self.work_out(ages, class, age, step, due),
            },
            None => self.by_age[age].hazard(ages.prior(age), PRIOR),
        }
    }

    #[cold]
    fn work_out(&mut self, ages: Ages, class: usize, age: usize, step: usize, due: u32) -> f32 {
        let empty = (step as f32 + 0.5) / STEPS as f32;
        let (level, valid) = (step * LEVELS / STEPS, 1.0 - empty);
        if self.classes[class].curves[level].1 != self.looks {
            self.classes[class].curves[level] = (self.draw(ages, class, level), self.looks);
        }
        let Curve { hazards, survivals } = &self.classes[class].curves[level].0;
        let mut rate = hazards[age];
        let (mut survival, mut lived, mut wait) = (1.0, 0.0, 0.0);
        for (later, &lives) in survivals.iter().enumerate().skip(age) {
            // On average the zone is halfway through its present bucket.
            let width = ages.width(later) / if later == age { 2.0 } else { 1.0 };
            let lives = if later == age { decay(hazards[age] * width) } else { lives };
            let after = survival * lives;
            lived += (survival + after) / 2.0 * width;
            wait += width;
            survival = after;
            rate = f32::max(rate, (1.0 - survival) * empty / (wait - valid * lived));
        }
        self.classes[class].rates[age][step] = (rate, due);
        rate
    }

    /// The curve of a class and level by the present counts.
    fn draw(&self, ages: Ages, class: usize, level: usize) -> Curve {
        let known = &self.classes[class];
        let hazards = std::array::from_fn(|age| {
            let of_age = self.by_age[age].hazard(ages.prior(age), PRIOR);
            known.levels[age][level].hazard(known.all[age].hazard(of_age, PRIOR), PRIOR)
        });
        Curve { hazards, survivals: std::array::from_fn(|a| decay(hazards[a] * ages.width(a))) }
    }
}

#[inline(always)]
fn share_of_garbage(zones: &ZoneView<'_>, zone: u32) -> f32 {
    zones.garbage(zone) as f32 / zones.zone_pages() as f32
}

/// The place of the first of the highest scores.
fn first_highest(scores: &[f32]) -> Option<usize> {
    let (place, _) = scores.iter().enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
    Some(place)
}

impl Class {
    fn new() -> Self {
        Class {
            levels: [[Count::default(); LEVELS]; AGES],
            all: [Count::default(); AGES],
            rates: [[(0.0, 0); STEPS]; AGES],
            curves: [(Curve { hazards: [0.0; AGES], survivals: [0.0; AGES] }, 0); LEVELS],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::table::ZoneRows;

    /// Zones of two classes, seen every 512 user writes: the pages of class 1 die steadily, those
    /// of class 0 not at all.
    fn learned() -> SurvivalPolicy {
        let mut policy = SurvivalPolicy::new();
        for round in 0..60u32 {
            let mut zones = ZoneRows::new(1024);
            zones.now = 2048 + round * 512;
            for class in [0, 1] {
                zones.seal(class, 100 + class as i32 * round as i32 * 10, 1024);
            }
            policy.pick(&zones.view());
        }
        policy
    }

    #[test]
    fn of_zones_with_the_same_garbage_one_whose_pages_live_is_cleaned() {
        let mut zones = ZoneRows::new(1024);
        zones.now = 2048 + 60 * 512;
        zones.seal(1, 600, 20_000);
        zones.seal(0, 600, 20_000);
        assert_eq!(learned().pick(&zones.view()), Some(2));
        assert_eq!(
            SurvivalPolicy::new().pick(&zones.view()),
            Some(1),
            "nothing is known: the first"
        );
    }

    #[test]
    fn a_zone_whose_pages_die_now_waits_until_they_have() {
        let (mut zones, mut policy) = (ZoneRows::new(1024), learned());
        zones.now = 2048 + 60 * 512;
        zones.seal(0, 500, 20_000);
        zones.seal(0, 500, 20_000);
        assert_eq!(policy.pick(&zones.view()), Some(1), "they are alike");
        (0..60).for_each(|_| zones.discard(1));
        zones.now += 200;
        assert_eq!(policy.pick(&zones.view()), Some(2), "the first has more garbage, and dies");
        zones.now += 40_000;
        assert_eq!(policy.pick(&zones.view()), Some(1), "its other pages live");
    }

    #[test]
    fn among_many_zones_the_kept_scores_choose_nearly_as_well_as_scores_worked_out_each_time() {
        // Of the second number a choice looks at a fifth.
        kept_scores_choose_nearly_as_well(2000, 0.99);
        kept_scores_choose_nearly_as_well(10_000, 0.97);
    }

    fn kept_scores_choose_nearly_as_well(count: u32, least: f32) {
        let mut rng = frostline_random::SplitMix::new(5);
        let mut rows = ZoneRows::new(1024);
        rows.now = 2048 + 60 * 512;
        for zone in 0..count {
            rows.seal((zone % 2) as usize, rng.below(700) as i32, rng.below(20_000));
        }
        let (mut keeping, mut forgetful) = (learned(), learned());
        let (mut kept, mut worked_out) = (0.0, 0.0);
        for _ in 0..500 {
            for _ in 0..512 {
                rows.discard(1 + rng.below(count));
            }
            rows.now += 1;
            let picked = keeping.pick(&rows.view()).unwrap();
            forgetful.stretches.clear();
            let best = forgetful.pick(&rows.view()).unwrap();
            let view = rows.view();
            let ages = Ages::new(view.zone_pages());
            let mut score = |zone| forgetful.score(&view, ages, zone, view.age(zone));
            kept += score(picked);
            worked_out += score(best);
            rows.replace(picked, rng.below(200) as i32);
        }
        assert!(
            kept <= worked_out && kept > least * worked_out,
            "{count} zones: {kept} of {worked_out}"
        );
    }

    #[test]
    fn a_sample_of_very_many_zones_tells_classes_that_take_turns() {
        let (count, mut policy) = (2 * SAMPLE as u32, SurvivalPolicy::new());
        let mut zones = ZoneRows::new(1024);
        zones.now = 2048;
        for zone in 0..count {
            zones.seal((zone % 2) as usize, 100, 1024);
        }
        for _ in 0..20 {
            // Pages die in zones of class 1.
            for zone in (2..=count).step_by(2) {
                (0..10).for_each(|_| zones.discard(zone));
            }
            zones.now += count;
            policy.pick(&zones.view());
        }
        assert_eq!(policy.every, 2);
        let dead = |class: usize| policy.classes[class].all.iter().map(|of| of.deaths).sum::<f32>();
        let seen =
            |class: usize| policy.classes[class].all.iter().map(|of| of.exposure).sum::<f32>();
        assert!(dead(0) == 0.0 && dead(1) > 0.0, "{} and {} deaths", dead(0), dead(1));
        let share = seen(1) / (seen(0) + seen(1));
        assert!((0.4..0.6).contains(&share), "class 1 has {share} of the exposure");
    }

    #[test]
    fn a_zone_without_valid_pages_goes_first() {
        let mut zones = ZoneRows::new(1024);
        zones.now = 40_000;
        zones.seal(0, 1023, 1);
        zones.seal(1, 1024, 39_999);
        assert_eq!(learned().pick(&zones.view()), Some(2));
    }
}
