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
//! Scores are kept, so that a choice among many zones is soon made. Zones are scored in stretches
//! of 32: a stretch is scored again when its zones gained a sixteenth of a zone in garbage, when
//! one was freed or came into another bucket of ages, and when rates have changed. The best stretch
//! is scored again before its best zone is taken.
//!
//! After a restart the table is learned anew; until then h is one over the age, which comes close
//! to cost-benefit.

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
/// Zones in a stretch.
const STRETCH: usize = 32;
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

/// Pages that died in sealed zones, and user writes that pages spent in them.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    deaths: f32,
    exposure: f32,
}

impl Count {
    fn add(&mut self, deaths: f32, exposure: f32) {
        self.deaths += deaths;
        self.exposure += exposure;
    }

    fn fade(&mut self) {
        self.deaths *= FADE;
        self.exposure *= FADE;
    }

    /// Deaths per page and user write, drawn towards the expected hazard `parent`.
    fn hazard(&self, parent: f32) -> f32 {
        (self.deaths + PRIOR) / (self.exposure + PRIOR / parent)
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
}

/// The zone whose cleaning saves most, by learned hazards.
#[derive(Clone, Debug)]
pub(super) struct SurvivalPolicy {
    seen: Vec<Seen>,
    classes: Vec<Class>,
    by_age: [Count; AGES],
    looks: u32,
    looked: u32,
    /// Sealed zones at the last look. The number of zones would not do: a device has all its zones
    /// in the table from the start, a simulated volume only those that it has used.
    sealed: u32,
    /// Empty after a change of rates.
    stretches: Vec<Stretch>,
}

/// Neighbouring zones, as they were when they were last scored. They are scored again when they
/// have changed enough; until then their highest score stands for them.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// The highest score of a candidate; [`f32::MIN`] if there is none.
    top: f32,
    /// Garbage of the sealed zones together, less one for each other zone. It falls when a zone is
    /// freed.
    garbage: i32,
    /// Time of scoring.
    at: u32,
    /// User writes until a zone comes into the next bucket of ages.
    lasting: u32,
}

impl VictimPolicy for SurvivalPolicy {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        let ages = Ages::new(zones.zone_pages());
        let elapsed = zones.now().wrapping_sub(self.looked);
        if self.seen.is_empty() || elapsed >= LOOK.max(self.sealed) {
            self.look(zones, ages, elapsed);
        }
        self.score_changed(zones, ages);
        self.best(zones, ages).or_else(|| {
            // Zones may have got their first garbage since their stretch was scored.
            self.stretches.clear();
            self.score_changed(zones, ages);
            self.best(zones, ages)
        })
    }
}

impl SurvivalPolicy {
    fn new() -> Self {
        let by_age = [Count::default(); AGES];
        SurvivalPolicy {
            seen: Vec::new(),
            classes: Vec::new(),
            by_age,
            looks: 0,
            looked: 0,
            sealed: 0,
            stretches: Vec::new(),
        }
    }

    /// The best zone of the stretch with the highest score.
    fn best(&mut self, zones: &ZoneView<'_>, ages: Ages) -> Option<u32> {
        let tops = self.stretches.iter().map(|stretch| stretch.top).enumerate();
        let (highest, _) = tops.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        self.score_stretch(zones, ages, highest)
    }

    /// Scores the stretches that have changed since they were scored.
    fn score_changed(&mut self, zones: &ZoneView<'_>, ages: Ages) {
        let (now, enough) = (zones.now(), zones.zone_pages() / ENOUGH);
        let known = self.stretches.len();
        for (stretch, column) in zones.columns.garbage.chunks(STRETCH).enumerate() {
            let garbage = column.iter().fold(0i32, |sum, &of| sum.wrapping_add(of.max(-1)));
            if stretch < known {
                let Stretch { garbage: before, at, lasting, .. } = self.stretches[stretch];
                let gained = garbage.wrapping_sub(before) as u32;
                if gained <= enough && now.wrapping_sub(at) < lasting {
                    continue;
                }
            } else {
                let at = now;
                self.stretches.push(Stretch { top: 0.0, garbage, at, lasting: 0 });
            }
            self.stretches[stretch].garbage = garbage;
            self.score_stretch(zones, ages, stretch);
        }
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
        let known = &mut self.stretches[stretch];
        *known = Stretch { top, at: zones.now(), lasting, ..*known };
        best
    }

    /// E^2 / ((1 - E) g) of a zone.
    #[inline(always)]
    fn score(&mut self, zones: &ZoneView<'_>, ages: Ages, zone: u32, age: u32) -> f32 {
        if zones.valid(zone) == 0 {
            return f32::MAX;
        }
        let empty = zones.garbage(zone) as f32 / zones.zone_pages() as f32;
        let rate = self.rate(ages, zones.class(zone), age, empty);
        empty * empty / ((1.0 - empty) * rate)
    }

    /// Counts what happened in each zone since the last look.
    fn look(&mut self, zones: &ZoneView<'_>, ages: Ages, elapsed: u32) {
        let pages = zones.zone_pages();
        self.seen.resize(zones.len(), Seen::default());
        self.sealed = 0;
        for zone in 1..zones.len() as u32 {
            let (sealed, garbage) = (zones.is_sealed(zone), zones.garbage(zone));
            self.sealed += u32::from(sealed);
            let now = Seen { sealed, sealed_at: zones.sealed_at(zone), garbage };
            let before = std::mem::replace(&mut self.seen[zone as usize], now);
            let same = sealed && before.sealed && now.sealed_at == before.sealed_at;
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
            let deaths = (garbage - before.garbage) as f32;
            let exposure =
                elapsed as f32 * (pages as f32 - (garbage + before.garbage) as f32 / 2.0);
            self.classes[class].levels[bucket][level].add(deaths, exposure);
            self.classes[class].all[bucket].add(deaths, exposure);
            self.by_age[bucket].add(deaths, exposure);
        }
        self.looked = zones.now();
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LASTING) {
            self.stretches.clear();
        }
        if self.looks.is_multiple_of(FADING) {
            self.by_age.iter_mut().for_each(Count::fade);
            for class in &mut self.classes {
                class.all.iter_mut().chain(class.levels.as_flattened_mut()).for_each(Count::fade);
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
            None => self.by_age[age].hazard(ages.prior(age)),
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
            let of_age = self.by_age[age].hazard(ages.prior(age));
            known.levels[age][level].hazard(known.all[age].hazard(of_age))
        });
        Curve { hazards, survivals: std::array::from_fn(|a| decay(hazards[a] * ages.width(a))) }
    }
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
    fn among_many_zones_the_kept_scores_choose_nearly_as_well_as_scores_worked_out_each_time() {
        let mut rng = frostline_random::SplitMix::new(5);
        let mut rows = ZoneRows::new(1024);
        rows.now = 2048 + 60 * 512;
        for zone in 0..2000u32 {
            rows.seal((zone % 2) as usize, rng.below(700) as i32, rng.below(20_000));
        }
        let (mut keeping, mut forgetful) = (learned(), learned());
        let (mut kept, mut worked_out) = (0.0, 0.0);
        for _ in 0..500 {
            for _ in 0..512 {
                rows.discard(1 + rng.below(2000));
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
        assert!(kept <= worked_out && kept > 0.99 * worked_out, "{kept} of {worked_out}");
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
