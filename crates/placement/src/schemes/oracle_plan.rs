//! oracle-plan: classes and victims planned with every invalidation known. It shows the copies that
//! remain when nothing has to be guessed: the bound that schemes are measured against. Not
//! published elsewhere.
//!
//! A page's class is the interval in which its true remaining lifespan lies, at the user write and
//! again at each relocation; frozen pages have a class of their own. Waiting garbage forces copies,
//! and garbage waits for two reasons. First, the pages of a zone die one after another over the
//! width of their class, so a class holds garbage in proportion to its share of the writes times
//! its width. Second, every zone takes time to fill while pages in it die: that is one zone's worth
//! for each class. Dynamic programming over the lifespans of the trace finds the intervals with the
//! least sum of both, and so also their number. With a fixed capacity there are no more classes
//! than spare zones.
//!
//! A victim is chosen by the future of each zone. The rate at which waiting saves copies is the
//! largest, over all waits T, of the pages that die by then over the garbage that is held until
//! then: g = max over T of D(T) / (sum of the garbage up to T). With E the share of garbage, a
//! freed page costs (1 - E) / E copies now; the zone with the least (1 - E) / E * g is cleaned. A
//! wait until the trace ends saves all copies of a zone.
//!
//! The plan is near the optimum but not proven optimal: it judges zones one by one, and takes the
//! price of garbage to be the same at all times.

use crate::future::Death;
use crate::lifespan_clusters::{histogram, intervals};
use crate::{
    BuildError, Choice, Foresight, Info, NEVER, Param, Params, Relocation, Scheme, Setup,
    UserWrite, VictimPolicy, Victims, Wants, ZoneEvent, ZoneView,
};

/// Significant bits of the lifespans that may bound a class.
const BITS: u32 = 5;
/// The number of waits that are considered for a zone: each ends when one more of as many equal
/// parts of its pages is dead.
const STEPS: usize = 32;
/// A zone's rate is worked out again after this part of its age, or when this part of its pages has
/// died.
const LASTING: u32 = 64;

/// Classes by planned intervals of the remaining lifespan; victims by exact deaths.
#[derive(Clone, Debug)]
pub struct OraclePlan {
    /// Largest remaining lifespan of every class but the last two.
    cuts: Vec<u32>,
    classes: usize,
    zone_pages: u32,
    /// Time of the trace's last write.
    end: u32,
    /// Deaths of the pages in the open zone of each class.
    filling: Vec<Vec<u32>>,
    zones: Vec<Fate>,
}

/// The future of a sealed zone.
#[derive(Clone, Debug, Default)]
struct Fate {
    /// The times at which its pages die, in order; [`NEVER`] for frozen pages.
    deaths: Vec<u32>,
    /// The rate at which waiting saves copies, the time at which it was worked out, and the garbage
    /// then.
    rate: Option<(f32, u32, u32)>,
}

impl OraclePlan {
    #[inline(always)]
    fn place(&mut self, death: Death, now: u32) -> usize {
        let class = match death.remaining(now) {
            Some(remaining) => self.cuts.partition_point(|&cut| remaining > cut),
            None => self.cuts.len() + 1,
        };
        let filling = &mut self.filling[class];
        // For want of a free zone a page may go to another class, so the zone of its own class can
        // be full already.
        if filling.len() < self.zone_pages as usize {
            filling.push(death.remaining(now).map_or(NEVER, |remaining| now + remaining));
        }
        class
    }

    /// The price of cleaning a zone now: (1 - E) / E * g.
    fn score(&mut self, zones: &ZoneView<'_>, zone: u32) -> f64 {
        let (valid, garbage) = (zones.valid(zone), zones.garbage(zone));
        let (now, end) = (zones.now(), self.end);
        let Some(fate) = self.zones.get_mut(zone as usize) else { return f64::MAX };
        let lasting = (zones.age(zone) / LASTING).max(LASTING);
        let lasts = |&(_, at, then): &(f32, u32, u32)| {
            now.wrapping_sub(at) < lasting && garbage - then <= zones.zone_pages() / LASTING
        };
        let (rate, ..) = *match &mut fate.rate {
            Some(rate) if lasts(rate) => rate,
            rate => {
                let (valid, garbage) = (valid as f32, garbage as f32);
                let worked_out = rate_of_waiting(&fate.deaths, (now, end), (valid, garbage));
                rate.insert((worked_out, now, zones.garbage(zone)))
            }
        };
        f64::from(valid) / f64::from(garbage) * f64::from(rate)
    }
}

/// The largest rate, over all waits, of saved copies over the garbage held meanwhile.
fn rate_of_waiting(deaths: &[u32], (now, end): (u32, u32), (valid, garbage): (f32, f32)) -> f32 {
    debug_assert!(deaths.is_sorted(), "the next death is searched by time");
    let (mut best, mut held, mut dead) = (0.0f32, 0.0, 0.0);
    let mut from = now;
    let left = &deaths[deaths.partition_point(|&death| death <= now)..];
    for part in left.chunks((left.len() / STEPS).max(1)) {
        let (last, died) = (part[part.len() - 1], part.len() as f32);
        if last >= end {
            break;
        }
        held += (garbage + dead + died / 2.0) * (last - from) as f32;
        (from, dead) = (last, dead + died);
        best = best.max(dead / held.max(1.0));
    }
    held += (garbage + dead) * end.saturating_sub(from) as f32;
    best.max(valid / held.max(1.0))
}

impl Scheme for OraclePlan {
    type Page = Death;
    const INFO: Info = Info {
        name: "oracle-plan",
        summary: "by planned intervals of the true remaining lifespan, victims by exact deaths",
        source: "Frostline",
        params: &[Param::whole("classes", 64, 2..=255, "classes at most")],
    };
    const WANTS: Wants = Wants {
        foresight: Foresight::Lifespans,
        victims: Victims::Own("oracle-plan"),
        whole_pages: true,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let most: usize = params.whole(Self::INFO.params, "classes")?;
        let most = match setup.room.spare_zones {
            Some(spare) => most.min(spare as usize).max(2),
            None => most,
        };
        let lifespans =
            setup.lifespans.ok_or(BuildError::NeedsForesight { name: Self::INFO.name })?;
        let zone_pages = setup.zone_pages;
        let cuts = plan(lifespans, zone_pages, most - 1);
        assert!(cuts.is_sorted(), "a class is searched by its cuts");
        assert!(cuts.len() + 2 <= most, "frozen pages have a class behind the planned ones");
        Ok(OraclePlan {
            cuts,
            classes: most,
            zone_pages,
            end: lifespans.len() as u32,
            filling: vec![Vec::new(); most],
            zones: Vec::new(),
        })
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn coldest(&self) -> usize {
        self.cuts.len() + 1
    }

    fn holds_frozen(&self, class: usize) -> bool {
        class == self.coldest()
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Death) -> usize {
        *page = Death::of(write);
        self.place(*page, write.now)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Death) -> usize {
        self.place(*page, relocation.now)
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        if self.zones.len() < zones.len() {
            self.zones.resize_with(zones.len(), Fate::default);
        }
        let fate = &mut self.zones[zone.zone as usize];
        fate.rate = None;
        fate.deaths.clear();
        std::mem::swap(&mut fate.deaths, &mut self.filling[zone.class]);
        assert!(fate.deaths.len() <= self.zone_pages as usize, "a page of the zone dies once");
        fate.deaths.sort_unstable();
    }

    fn pick(&mut self, zones: &ZoneView<'_>, _: &mut dyn VictimPolicy, choice: &mut Choice) {
        let scored = zones.candidates().map(|zone| (self.score(zones, zone), zone));
        let least = scored.min_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j)));
        choice.victims.extend(least.map(|(_, zone)| zone));
    }

    fn bytes(&self) -> usize {
        let deaths = self.zones.iter().map(|fate| &fate.deaths).chain(&self.filling);
        let deaths = deaths.map(|deaths| deaths.capacity() * 4).sum::<usize>();
        self.zones.capacity() * size_of::<Fate>() + deaths + self.cuts.len() * 4
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        vec![("planned", (self.cuts.len() + 2) as f64)]
    }
}

/// Largest lifespans of all classes of dying pages but the last. There are at most `most` such
/// classes. The plan has the least sum of each class's share times width, plus one zone for each
/// class.
fn plan(lifespans: &[u32], zone_pages: u32, most: usize) -> Vec<u32> {
    let dying = lifespans.iter().copied().filter(|&lifespan| lifespan != NEVER);
    let histogram = histogram(dying, BITS);
    let lowest: Vec<u32> = histogram.keys().copied().collect();
    // A relocated page may have any lifespan left, so the intervals leave no gaps.
    let ends = lowest.iter().skip(1).copied().chain(lowest.last().map(|last| last + last / 16 + 1));
    let ends: Vec<u32> = ends.collect();
    let spread = |i: usize, j: usize| ends[j - 1] - if i == 0 { 0 } else { lowest[i] };
    let mut below = vec![0.0];
    for &count in histogram.values() {
        below.push(below[below.len() - 1] + count as f64 / lifespans.len() as f64);
    }
    let cost = |i: usize, j: usize| {
        (below[j] - below[i]) * f64::from(spread(i, j)) + f64::from(zone_pages)
    };
    let starts = intervals(lowest.len(), most, cost);
    starts.into_iter().skip(1).map(|start| lowest[start] - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::table::ZoneRows;

    fn planned(lifespans: &[u32], zone_pages: u32) -> OraclePlan {
        let setup = Setup { lifespans: Some(lifespans), ..Setup::new(zone_pages, 1000) };
        let mut params = Params::default();
        OraclePlan::build(&setup, &mut params).unwrap()
    }

    #[test]
    fn what_dies_at_very_different_times_is_parted_and_the_number_of_classes_has_a_price() {
        let lifespans = [vec![8; 400], vec![10; 400], vec![5000; 100], vec![NEVER; 100]].concat();
        let cuts = planned(&lifespans, 16).cuts;
        assert!(cuts.len() < 3 && cuts.iter().any(|cut| (10..5000).contains(cut)), "{cuts:?}");
        assert!(planned(&lifespans, 10_000).cuts.is_empty(), "a zone costs more than it saves");
    }

    #[test]
    fn the_least_sum_is_found() {
        let lifespans: Vec<u32> = (0..2000u32).map(|i| 1 + i * i % 977 + i % 7 * 300).collect();
        let histogram = histogram(lifespans.iter().copied(), BITS);
        let cost = |cuts: &[u32]| {
            let starts = std::iter::once(0).chain(cuts.iter().map(|cut| cut + 1));
            let last = *histogram.keys().last().unwrap();
            let ends = cuts.iter().map(|cut| cut + 1).chain([last + last / 16 + 1]);
            let sums = starts.zip(ends).map(|(start, end)| {
                let count: u64 = histogram.range(start..end).map(|(_, count)| count).sum();
                count as f64 / 2000.0 * f64::from(end - start) + 16.0
            });
            sums.sum::<f64>()
        };
        let best = cost(&plan(&lifespans, 16, 3));
        let keys: Vec<u32> = histogram.keys().skip(1).map(|key| key - 1).collect();
        for (i, &low) in keys.iter().enumerate() {
            assert!(best <= cost(&[low]) + 1e-6);
            for &high in &keys[i + 1..] {
                assert!(best <= cost(&[low, high]) + 1e-6, "{low} {high}");
            }
        }
    }

    #[test]
    fn a_zone_that_will_soon_be_empty_waits_and_one_whose_pages_live_on_is_cleaned() {
        let mut zones = ZoneRows::new(100);
        zones.now = 1000;
        let mut plan = planned(&[NEVER; 5000], 100);
        for (zone, death) in [(1, 1010), (2, 4000), (3, NEVER)] {
            assert_eq!(zones.seal(0, 50, 900), zone);
            plan.filling[0].extend([900; 50].iter().chain(&[death; 50]));
            plan.on_sealed(&ZoneEvent { zone, class: 0, now: 900 }, &zones.view());
        }
        let mut choice = Choice::default();
        let mut policy = crate::victims::Greedy::default();
        plan.pick(&zones.view(), &mut policy, &mut choice);
        assert_eq!(choice.victims, [3]);
        let score = |zone| planned_score(&mut plan, &zones, zone);
        let [soon, late, never] = [1, 2, 3].map(score);
        assert!(soon > late && late > never, "{soon} {late} {never}");
    }

    fn planned_score(plan: &mut OraclePlan, zones: &ZoneRows, zone: u32) -> f64 {
        plan.score(&zones.view(), zone)
    }
}
