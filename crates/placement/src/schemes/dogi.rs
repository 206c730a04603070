//! DOGI: hot pages by an estimated interval, frozen pages by a bit, and all others by the class of
//! lifespans that a small network forecasts, in groups that a Markov chain finds. Kim, Oh, Kim,
//! Park, Kim, Lee and Noh, "DOGI: Data Placement with Oracle-Guided Insights for Log-Structured
//! Systems", FAST 2026.
//!
//! Class 0 is the hot group: pages whose estimated interval is below two zones. The estimate has
//! eight bits: the sum of the ages of the zones in which the page's copies lay. Classes 1 to 4 are
//! groups of lifespans, by forecasts. The last group in use is the pool, together with the classes
//! behind it, which take further relocations. Class 5 is for pages that no user has written since
//! the first capacity of user writes: one bit a page records this, and relocations read it.
//!
//! A zone of a group before the pool is cleaned when it is older than the range of lifespans that
//! its group takes. Among such zones the lowest group comes first, and in it the oldest zone. If
//! there is none, the victim policy chooses in the pool.
//!
//! The paper's text was not at hand: this is a reading of its abstract and of its prototype's
//! behaviour. Our own readings are:
//! * The forecast is made at the write. The prototype collects 128 writes for one inference; here
//!   each write
//!   is answered at once.
//! * The capacity is the size of the LBA space. Frozen pages are looked for after two capacities of
//!   user
//!   writes.
//! * A page that was never written is not hot.
//! * When and from what the forecaster learns: `TrainingSchedule`. The six inputs: `AccessHistory`.
//!   The classes: `Ranges`; the chain: `divide`.

use crate::chain::measured::Measured;
use crate::chain::model::Hot;
use crate::chain::pool::Pool;
use crate::dogi::access_history::{AccessHistory, Habit};
use crate::dogi::division::{DividedVolume, MOST_GROUPS, RangeDivision, divide};
#[cfg(doc)]
use crate::dogi::ranges::Ranges;
use crate::dogi::training_schedule::TrainingSchedule;
use crate::{
    BuildError, Choice, Info, LARGEST_FORECASTER, Params, Relocation, Scheme, Setup, UserWrite,
    VictimPolicy, Victims, Wants, ZoneEvent, ZoneView,
};

/// The hot group, the groups of lifespans, and frozen pages.
const CLASSES: usize = MOST_GROUPS + 2;
const FROZEN: usize = CLASSES - 1;
/// Zones' worth of user writes below which an interval is hot.
const HOT: u8 = 2;
/// The most divisions that are explained.
const EVENTS: usize = 64;

/// Classes by hot intervals, forecasts of lifespans and a frozen bit.
#[derive(Debug)]
pub struct Dogi {
    habits: AccessHistory,
    course: TrainingSchedule,
    division: RangeDivision,
    measured: Measured,
    /// The time at which the measurement of the hot group began; `None` before the first write.
    measured_from: Option<u32>,
    pool: Pool,
    zone_pages: u32,
    /// One over the pages of a zone, in units of 2^-32.
    zone_share: u64,
    /// The time at which each zone was opened, by zone.
    opened_at: Vec<u32>,
    /// Open and sealed zones.
    zones: u32,
    now: u32,
    valid: u64,
    accuracy: (f64, f64),
    events: Vec<String>,
}

impl Dogi {
    /// Zones' worth of user writes since a zone was opened.
    #[inline(always)]
    fn age(&self, zone: u32) -> u32 {
        let opened_at = self.opened_at.get(zone as usize).copied().unwrap_or(self.now);
        let age = u64::from(self.now.wrapping_sub(opened_at));
        ((age * self.zone_share) >> 32) as u32
    }

    /// The user writes for which a group before the pool keeps its zones.
    fn range(&self, group: usize) -> u32 {
        match group {
            0 => u32::from(HOT).saturating_mul(self.zone_pages),
            _ => self.division.range(group, self.course.ranges()),
        }
    }

    /// Divides the groups anew after a course. No page is moved: zones of the old pool join the new
    /// one.
    fn divide_anew(&mut self, zones: &ZoneView<'_>, choice: &mut Choice) {
        let Some(outcomes) = self.course.take_outcomes() else { return };
        self.accuracy = outcomes.accuracy();
        let hot = self.measured.hot(self.now.wrapping_sub(self.measured_from.unwrap_or(self.now)));
        let lifetime = f64::from(self.range(0));
        let volume = DividedVolume {
            zones: f64::from(self.zones),
            zone_pages: f64::from(self.zone_pages),
            valid: self.valid as f64,
            hot: Hot { lifetime, ..hot },
        };
        self.measured.start_hot();
        self.measured_from = Some(self.now);
        let Some((division, waf)) = divide(&outcomes, self.course.ranges(), &volume) else {
            return;
        };
        let was = std::mem::replace(&mut self.division, division).groups;
        if division.groups > was {
            let of_pool = |zone: &u32| (was..division.groups).contains(&zones.class(*zone));
            let sealed = (1..zones.len() as u32).filter(|&zone| zones.is_sealed(zone));
            let relabelled = sealed.filter(of_pool).map(|zone| (zone, division.groups as u8));
            choice.relabelled.extend(relabelled);
        }
        self.tell(waf, &hot);
    }

    fn tell(&mut self, waf: f64, hot: &Hot) {
        if self.events.len() == EVENTS {
            return;
        }
        let ranges: Vec<String> =
            (1..self.division.groups).map(|group| self.range(group).to_string()).collect();
        let (right, near) = self.accuracy;
        self.events.push(format!(
            "at {}: {:.1} % of the forecasts right, {:.1} % within a class; hot {:.1} % of the writes, \
             {:.1} % leak; groups {} (ranges {}), WAF {waf:.3} predicted, {:.3} measured of late",
            self.now,
            100.0 * right,
            100.0 * near,
            100.0 * hot.share,
            100.0 * hot.leak,
            self.division.groups,
            if ranges.is_empty() { "none".to_string() } else { ranges.join(", ") },
            self.measured.waf(),
        ));
    }

    /// The next zone whose range is over: the oldest in the lowest group that has one.
    fn overdue(&self, zones: &ZoneView<'_>) -> Option<u32> {
        let ranges: [u32; MOST_GROUPS] = std::array::from_fn(|group| match group {
            group if group < self.division.groups => self.range(group),
            _ => u32::MAX,
        });
        let age = |zone: u32| zones.age(zone);
        let aged =
            |&zone: &u32| ranges.get(zones.class(zone)).is_some_and(|&range| age(zone) > range);
        let order = |zone: &u32| (zones.class(*zone), u32::MAX - age(*zone), *zone);
        zones.candidates().filter(aged).min_by_key(order)
    }
}

impl Scheme for Dogi {
    type Page = Habit;
    const INFO: Info = Info {
        name: "dogi",
        summary: "hot by interval, frozen by a bit, others by a network's forecast of the lifespan",
        source: "Kim et al., DOGI, FAST 2026",
        params: &[],
    };
    // Its model counts the copies of greedy cleaning.
    const WANTS: Wants = Wants {
        most_memory: LARGEST_FORECASTER + 64,
        victims: Victims::Ordered("greedy"),
        whole_pages: true,
        seals_stale: true,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, _: &mut Params) -> Result<Self, BuildError> {
        let forecaster = setup.make_forecaster(Self::INFO.name)?;
        Ok(Dogi {
            habits: AccessHistory::new(setup.space, setup.page_bytes),
            course: TrainingSchedule::new(forecaster, setup.space, setup.seed),
            division: RangeDivision::WHOLE,
            measured: Measured::new(setup.zone_pages),
            measured_from: None,
            pool: Pool::default(),
            zone_pages: setup.zone_pages,
            zone_share: (1 << 32) / u64::from(setup.zone_pages),
            opened_at: Vec::new(),
            zones: 0,
            now: 0,
            valid: 0,
            accuracy: (0.0, 0.0),
            events: Vec::with_capacity(EVENTS),
        })
    }

    fn classes(&self) -> usize {
        CLASSES
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, page: &mut Habit) -> usize {
        self.now = write.now;
        self.valid = write.valid;
        self.course.at(write.now);
        if page.was_awaited() {
            self.course.ended(write.lba, write.now);
        }
        let facts = self.habits.written(write, self.age(write.zone), page);
        if facts.interval < HOT && self.habits.is_past_first_capacity() {
            self.measured.hot_write();
            return 0;
        }
        if self.course.wants(write.now) && self.course.take(write.lba, write.now, facts.inputs) {
            page.await_end();
        }
        let Some(forecast) = self.course.forecast(&facts.inputs) else { return 1 };
        page.keep_forecast(forecast);
        self.division.group(forecast)
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, page: &mut Habit) -> usize {
        page.relocated(self.age(relocation.zone));
        let forecast = page.take_forecast();
        if self.habits.knows_frozen() && page.is_frozen() {
            return FROZEN;
        }
        match (relocation.class, forecast) {
            (0, _) => 1,
            (class, Some(forecast)) if class < self.division.groups => {
                self.division.after(forecast)
            }
            (class, _) => (class + 1).min(MOST_GROUPS),
        }
    }

    fn on_trim(&mut self, lba: u32, _: Option<&Self::Page>, _: u32) {
        self.course.ended(lba, self.now);
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        let place = zone.zone as usize;
        if place >= self.opened_at.len() {
            self.opened_at.resize((place + 1).next_power_of_two(), 0);
        }
        self.opened_at[place] = zone.now;
        self.measured_from.get_or_insert(zone.now);
        self.zones += 1;
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        self.measured.victim(zone.class, zones.valid(zone.zone));
        if zone.class == 0 {
            self.measured.hot_zones(zones.of_class(0));
        }
    }

    fn on_reclaimed(&mut self, _: &ZoneEvent) {
        assert!(self.zones > 0, "a zone is opened before it is reclaimed");
        self.zones -= 1;
    }

    fn pick(&mut self, zones: &ZoneView<'_>, policy: &mut dyn VictimPolicy, choice: &mut Choice) {
        self.measured.at(self.now, self.habits.capacity());
        self.divide_anew(zones, choice);
        // The view still has the old classes of zones that have just changed theirs.
        let overdue = if choice.relabelled.is_empty() { self.overdue(zones) } else { None };
        let victim = overdue
            .or_else(|| self.pool.pick(self.division.groups, zones, policy, choice))
            .or_else(|| policy.pick(zones));
        choice.victims.extend(victim);
    }

    fn memory(&self) -> Vec<u8> {
        match self.course.memory() {
            learned if learned.is_empty() => learned,
            learned => self.division.bytes().into_iter().chain(learned).collect(),
        }
    }

    fn recall(&mut self, memory: &[u8]) {
        let Some((division, learned)) =
            memory.split_at_checked(size_of_val(&self.division.bytes()))
        else {
            return;
        };
        let Some(division) = RangeDivision::of_bytes(division) else { return };
        if self.course.recall(learned) {
            self.division = division;
            self.habits.resume();
        }
    }

    fn bytes(&self) -> usize {
        self.habits.bytes()
            + self.course.bytes()
            + self.pool.bytes()
            + self.opened_at.capacity() * size_of::<u32>()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let (right, near) = self.accuracy;
        vec![
            ("accuracy", right),
            ("within_a_class", near),
            ("groups", self.division.groups as f64),
            ("divisions", self.events.len() as f64),
        ]
    }

    fn explain(&self) -> Vec<String> {
        self.events.clone()
    }
}
