//! MiDAS: a hot group by update interval, then a chain of groups by relocation count, each a queue
//! with a size, whose number and sizes come from a model of the workload. Oh, Kim, Han, Kim, Lee
//! and Noh, "MiDAS: Minimizing Write Amplification in Log-Structured Systems through Adaptive Group
//! Number and Size Configuration", FAST 2024.
//!
//! Pages that were overwritten soon several times over go to the hot group, all other user writes
//! to the first group of the chain. A relocation goes one group further, out of the hot group to
//! the first, and the last group keeps its pages. When the log is cleaned, the first group that has
//! more zones than its size gives its oldest zone; if there is none, the victim policy chooses in
//! the last group. Sizes come from a model of the last epoch's update intervals (`epochs` in
//! `midas`). Before the first epoch ends, and where the model erred, several groups share a pool in
//! which the policy chooses.
//!
//! docs/schemes.md lists the differences from the simulator that the authors published.

use crate::chain::groups::{CLASSES, Groups};
use crate::chain::measured::Measured;
use crate::midas::epochs::{Decision, Epochs, VolumeState};
use crate::midas::heat::Heat;
use crate::midas::intervals::Intervals;
use crate::{
    BuildError, Choice, Info, Param, Params, Relocation, Scheme, Setup, UserWrite, VictimPolicy,
    Victims, Wants, ZoneEvent, ZoneView,
};

/// More cleanings than this within one user write make groups merge.
const ENDLESS: u32 = 25;

/// A hot group, and a chain of groups whose sizes a model finds.
#[derive(Clone, Debug)]
pub struct Midas {
    heat: Option<Heat>,
    epochs: Option<Epochs>,
    groups: Groups,
    measured: Measured,
    /// The time at which each zone was sealed, by zone; `None` while a zone is open.
    sealed_at: Vec<Option<u32>>,
    /// Open and sealed zones.
    zones: u32,
    now: u32,
    valid: u64,
    /// Time of the last cleaning, and cleanings at that time.
    cleaned: (u32, u32),
    /// The group that was cleaned last.
    victim: usize,
    /// True if there may be zones of classes beyond the groups, those of frozen pages.
    beside_others: bool,
}

/// User writes since a zone was sealed.
#[inline(always)]
fn age(sealed_at: &[Option<u32>], zone: u32, now: u32) -> u32 {
    match sealed_at.get(zone as usize) {
        Some(&Some(at)) => now.wrapping_sub(at),
        _ => 0,
    }
}

impl Midas {
    /// The scheme beside zones of frozen pages, which its model leaves out.
    #[must_use]
    pub fn beside_frozen(self) -> Self {
        Midas { beside_others: true, ..self }
    }

    fn decide(&mut self, zones: &ZoneView<'_>, choice: &mut Choice) {
        let Some(epochs) = &mut self.epochs else { return };
        let others = if self.beside_others { valid_beyond(zones, CLASSES) } else { 0 };
        let volume = VolumeState {
            now: self.now,
            zone_pages: zones.zone_pages(),
            zones: self.zones,
            valid: self.valid.saturating_sub(others),
        };
        match epochs.decide(&volume, &self.groups, &mut self.measured) {
            Decision::Keep => {}
            Decision::Merge(group) => self.groups.merge(group),
            Decision::Divide(division) => {
                // The open zone of each group is not in its queue.
                let sizes = std::iter::once(&division.hot.zones).chain(division.chain.queues());
                let sizes = sizes.map(|zones| zones.saturating_sub(1));
                self.groups.divide(sizes, epochs.parts(), zones, choice);
                self.measured.start_groups();
            }
        }
    }

    /// Merges groups if too many cleanings follow each other within one user write.
    fn end_the_endless(&mut self) {
        let (at, cleanings) = self.cleaned;
        self.cleaned = if at == self.now { (at, cleanings + 1) } else { (self.now, 1) };
        let sized = self.groups.sizes().len();
        if self.cleaned.1 > ENDLESS && sized > 0 {
            self.cleaned.1 = 0;
            self.merge(self.victim.min(sized - 1));
        }
    }

    fn merge(&mut self, group: usize) {
        let sized = self.groups.sizes().len();
        if let Some(epochs) = &mut self.epochs {
            epochs.endless(self.now, group, sized);
        }
        self.groups.merge(group);
    }
}

/// Valid pages in zones of the classes from `class` on.
fn valid_beyond(zones: &ZoneView<'_>, class: usize) -> u64 {
    let beyond = (1..zones.len() as u32).filter(|&zone| zones.class(zone) >= class);
    beyond.map(|zone| u64::from(zones.valid(zone))).sum()
}

impl Scheme for Midas {
    type Page = ();
    const INFO: Info = Info {
        name: "midas",
        summary: "hot pages by update interval, others by relocations, sizes by a model",
        source: "Oh et al., MiDAS, FAST 2024",
        params: &[
            Param::word("hot", "yes", &["yes", "no"], "whether hot pages have a group"),
            Param::word(
                "sizes",
                "model",
                &["model", "pool"],
                "model, or pool: groups have no sizes",
            ),
            Param::word(
                "frozen",
                "short",
                &["short", "counted"],
                "how the model takes last versions: as short-lived ones, or as counted apart",
            ),
        ],
    };
    // Its model counts the copies of greedy cleaning.
    const WANTS: Wants = Wants {
        fetches: true,
        victims: Victims::Ordered("greedy"),
        whole_pages: true,
        seals_stale: true,
        ..Wants::NOTHING
    };

    fn build(setup: &Setup<'_>, params: &mut Params) -> Result<Self, BuildError> {
        let hot = params.word(Self::INFO.params, "hot")? == "yes";
        let sized = params.word(Self::INFO.params, "sizes")? == "model";
        let counted = params.word(Self::INFO.params, "frozen")? == "counted";
        let Setup { space, zone_pages, seed, .. } = *setup;
        let epochs = || Epochs::new(Intervals::new(space, zone_pages, seed), counted, hot);
        Ok(Midas {
            heat: hot.then(|| Heat::new(space)),
            epochs: sized.then(epochs),
            groups: Groups::default(),
            measured: Measured::new(zone_pages),
            sealed_at: Vec::new(),
            zones: 0,
            now: 0,
            valid: 0,
            cleaned: (0, 0),
            victim: 0,
            beside_others: false,
        })
    }

    fn classes(&self) -> usize {
        CLASSES
    }

    #[inline(always)]
    fn fetch(&self, lba: u32) {
        if let Some(heat) = &self.heat {
            heat.fetch(lba);
        }
    }

    #[inline(always)]
    fn place_user(&mut self, write: &UserWrite, (): &mut ()) -> usize {
        self.now = write.now;
        self.valid = write.valid;
        if let Some(epochs) = &mut self.epochs {
            epochs.written(write.lba, write.now);
        }
        let Some(heat) = self.heat.as_mut().filter(|_| !write.first) else { return 1 };
        let hot = match write.class {
            0 => heat.overwritten(write.lba, true),
            1 => {
                let age = age(&self.sealed_at, write.zone, write.now);
                heat.overwritten(write.lba, age <= heat.threshold(write.valid))
            }
            _ => heat.is_hot(write.lba),
        };
        if hot {
            self.measured.hot_write();
        }
        usize::from(!hot)
    }

    #[inline(always)]
    fn destination(&self, victim: &ZoneEvent) -> Option<usize> {
        let moves_on = victim.class > 1 || self.heat.is_none();
        moves_on.then(|| self.groups.after(victim.class))
    }

    #[inline(always)]
    fn place_relocation(&mut self, relocation: &Relocation, (): &mut ()) -> usize {
        if let Some(heat) = self.heat.as_mut().filter(|_| relocation.class < 2) {
            heat.survived(relocation.lba, relocation.class == 0);
        }
        self.groups.after(relocation.class)
    }

    fn on_trim(&mut self, lba: u32, _: Option<&Self::Page>, _: u32) {
        if let Some(heat) = &mut self.heat {
            heat.forget(lba);
        }
        if let Some(epochs) = &mut self.epochs {
            epochs.trimmed(lba, self.now);
        }
    }

    fn on_opened(&mut self, zone: &ZoneEvent) {
        let place = zone.zone as usize;
        if place >= self.sealed_at.len() {
            self.sealed_at.resize((place + 1).next_power_of_two(), None);
        }
        self.sealed_at[place] = None;
        self.zones += 1;
    }

    fn on_sealed(&mut self, zone: &ZoneEvent, _: &ZoneView<'_>) {
        debug_assert!(self.sealed_at[zone.zone as usize].is_none(), "an open zone is sealed");
        self.sealed_at[zone.zone as usize] = Some(zone.now);
        self.groups.sealed(zone.zone, zone.class);
    }

    fn on_victim(&mut self, zone: &ZoneEvent, zones: &ZoneView<'_>) {
        self.victim = zone.class;
        self.measured.victim(zone.class, zones.valid(zone.zone));
        if zone.class == 0
            && let Some(heat) = &mut self.heat
        {
            self.measured.hot_zones(zones.of_class(0));
            heat.left(zones.age(zone.zone), zone.now, self.valid);
        }
    }

    fn on_reclaimed(&mut self, zone: &ZoneEvent) {
        self.groups.reclaimed(zone.zone, zone.class);
        assert!(self.zones > 0, "a zone is opened before it is reclaimed");
        self.zones -= 1;
    }

    fn pick(&mut self, zones: &ZoneView<'_>, policy: &mut dyn VictimPolicy, choice: &mut Choice) {
        self.decide(zones, choice);
        self.end_the_endless();
        let from = choice.relabelled.len();
        let found = self.groups.pick(zones, policy, choice);
        for &(zone, class) in &choice.relabelled[from..] {
            assert!(class > 0, "a zone that leaves a group uncopied joins the next one");
            self.measured.passed(usize::from(class) - 1, zones.valid(zone));
        }
        if !found {
            self.merge(0);
            choice.victims.extend(policy.pick(zones));
        }
    }

    fn memory(&self) -> Vec<u8> {
        self.groups.memory()
    }

    fn recall(&mut self, memory: &[u8]) {
        if self.epochs.is_some() {
            self.groups.recall(memory);
        }
    }

    fn explain(&self) -> Vec<String> {
        self.epochs.as_ref().map_or_else(Vec::new, Epochs::explain)
    }

    fn bytes(&self) -> usize {
        let heat = self.heat.as_ref().map_or(0, Heat::bytes);
        let epochs = self.epochs.as_ref().map_or(0, Epochs::bytes);
        heat + epochs + self.groups.bytes() + self.sealed_at.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victims::Greedy;
    use crate::zones::table::ZoneRows;

    fn midas(params: &str) -> Midas {
        let (_, mut params) = Params::parse(&format!("midas{params}")).unwrap();
        Midas::build(&Setup::new(16, 1000), &mut params).unwrap()
    }

    /// An overwrite of page 7, whose last copy lies in a zone of `class` that was sealed at time
    /// 100.
    fn overwrite(scheme: &mut Midas, class: usize, now: u32) -> usize {
        let write =
            UserWrite { zone: 1, class, valid: 500, first: false, ..UserWrite::first(7, now) };
        scheme.place_user(&write, &mut ())
    }

    fn sealed(params: &str) -> Midas {
        let mut scheme = midas(params);
        scheme.on_opened(&ZoneEvent { zone: 1, class: 1, now: 90 });
        scheme.sealed_at[1] = Some(100);
        scheme
    }

    #[test]
    fn a_page_is_hot_once_it_was_overwritten_soon_three_times() {
        let mut scheme = sealed("");
        assert_eq!(scheme.place_user(&UserWrite::first(7, 1), &mut ()), 1);
        let classes = [110, 120, 130, 140].map(|now| overwrite(&mut scheme, 1, now));
        assert_eq!(classes, [1, 1, 0, 0]);
        assert_eq!(overwrite(&mut scheme, 1, 5000), 1, "it had become cold");
        let classes = [5010, 5020].map(|now| overwrite(&mut scheme, 0, now));
        assert_eq!(classes, [0, 0], "but was so for once only");
        assert_eq!(overwrite(&mut sealed(":hot=no"), 0, 110), 1);
    }

    #[test]
    fn a_relocation_goes_one_group_on_and_cools_a_page_of_the_first_two() {
        let mut scheme = sealed("");
        for now in [110, 120, 130] {
            overwrite(&mut scheme, 1, now);
        }
        let relocation = |class| Relocation { lba: 7, now: 140, zone: 1, class, last: false };
        assert_eq!(scheme.place_relocation(&relocation(0), &mut ()), 1);
        assert_eq!(overwrite(&mut scheme, 1, 150), 1, "twice down, once up");
        assert_eq!(scheme.place_relocation(&relocation(3), &mut ()), 4);
        assert_eq!(scheme.place_relocation(&relocation(4), &mut ()), 4, "the last group keeps it");
    }

    #[test]
    fn a_destination_is_what_relocations_would_answer() {
        for params in ["", ":hot=no"] {
            let mut scheme = sealed(params);
            for class in 0..CLASSES {
                let relocation = Relocation { lba: 9, now: 140, zone: 1, class, last: false };
                let class = scheme.place_relocation(&relocation, &mut ());
                let victim = ZoneEvent { zone: 1, class: relocation.class, now: 140 };
                assert!(scheme.destination(&victim).is_none_or(|to| to == class));
            }
        }
        assert_eq!(sealed("").destination(&ZoneEvent { zone: 1, class: 1, now: 140 }), None);
    }

    #[test]
    fn a_zone_that_goes_on_uncopied_counts_as_one_that_left_its_group_alive() {
        let mut scheme = midas("");
        let (mut table, mut choice) = (ZoneRows::new(16), Choice::default());
        for (class, garbage) in [(1, 0), (1, 2), (2, 3)] {
            table.seal(class, garbage, 0);
        }
        scheme.groups.divide([0, 2].into_iter(), 1, &table.view(), &mut choice);
        scheme.groups.sealed(9, 1);
        scheme.pick(&table.view(), &mut Greedy::default(), &mut choice);
        assert_eq!((choice.relabelled, choice.victims), (vec![(1, 2)], vec![3]));
        let Midas { measured, .. } = &scheme;
        assert_eq!((measured.valid(1), measured.copied_from_groups()), (Some(1.0), 0));
    }
}
