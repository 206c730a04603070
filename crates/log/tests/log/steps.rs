//! Driven step by step, the log does the same as in runs; and no page is lost, whatever is written
//! between the steps of a cleaning.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use frostline_log::{
    Capacity, Counts, Extent, LogError, MAX_LBA, Options, Placed, Slot, Units, Volume, Writes,
    ZoneImage,
};
use frostline_placement::{
    Candidates, Foresight, Pages, Recogniser, Scheme, SchemeSpec, Setup, victims,
};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases};
use crate::stub::Stub;

/// Places a user write, and puts its entry back into the map.
pub(crate) fn place_user<S: Scheme>(volume: &mut Volume<S>, lba: u32) -> Result<Placed, LogError> {
    let mut entry = volume.entry_of(lba);
    let placed = volume.place_user(lba.into(), &mut entry, Units::PAGE, 0, None)?;
    volume.set_entry(lba, entry);
    Ok(placed)
}

/// Places a relocation, and puts its entry back into the map.
fn place_relocation<S: Scheme>(
    volume: &mut Volume<S>,
    lba: u32,
    from: Slot,
    class: Option<u8>,
) -> Result<Option<Placed>, LogError> {
    let mut entry = volume.entry_of(lba);
    let placed = volume.place_relocation(lba.into(), &mut entry, Extent::page(from), 1, class)?;
    volume.set_entry(lba, entry);
    Ok(placed)
}

/// The valid pages of a zone, in slot order.
fn valid_pages_of<S: Scheme>(volume: &Volume<S>, zone: u32) -> Vec<(u32, Slot)> {
    let lbas = 0..volume.map().len() as u32;
    let slots = lbas.filter_map(|lba| Some((lba, volume.slot_of(lba)?)));
    let mut pages: Vec<_> = slots.filter(|(_, slot)| slot.zone == zone).collect();
    pages.sort_by_key(|(_, slot)| slot.offset);
    pages
}

/// Writes a page and cleans.
fn write<S: Scheme>(volume: &mut Volume<S>, lba: u32) -> Result<(), LogError> {
    place_user(volume, lba)?;
    loop {
        volume.end_stale();
        let victims = volume.begin_cleaning();
        if victims.is_empty() {
            return Ok(());
        }
        victims.iter().try_for_each(|&zone| clean(volume, zone))?;
    }
}

/// Lets the scheme place all valid pages of a victim at once.
fn place_batch<S: Scheme>(
    volume: &mut Volume<S>,
    zone: u32,
    pages: &[(u32, Slot)],
) -> Vec<Option<u8>> {
    let lbas: Vec<_> = pages.iter().map(|&(lba, _)| lba).collect();
    let states: Vec<_> = lbas.iter().map(|&lba| volume.map()[lba as usize].page).collect();
    volume.place_batch(zone, &Pages { lbas: &lbas, states: &states, hotness: None, last: &[] })
}

fn clean<S: Scheme>(volume: &mut Volume<S>, zone: u32) -> Result<(), LogError> {
    let pages = valid_pages_of(volume, zone);
    let classes = place_batch(volume, zone, &pages);
    for (&(lba, from), class) in pages.iter().zip(classes) {
        place_relocation(volume, lba, from, class)?.expect("a valid page");
    }
    assert!(volume.release(zone));
    Ok(())
}

struct SameInSteps;

impl Check for SameInSteps {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        let mut runs = Volume::new(case.options, scheme(), case.policy()).unwrap();
        let mut steps = Volume::new(case.options, scheme(), case.policy()).unwrap();
        // Steps know neither requests nor the future.
        let lbas: Vec<u32> = case.trace.words.iter().map(|word| word & MAX_LBA).collect();
        case.trace.replay(&mut runs, &Writes::new(&lbas), 0..lbas.len()).unwrap();
        for (i, &lba) in lbas.iter().enumerate() {
            for trimmed in case.trace.trims_before(i) {
                let known = steps.slot_of(trimmed).is_some();
                prop_assert_eq!(steps.trim(trimmed), Ok(known));
            }
            write(&mut steps, lba).unwrap();
        }
        let expected = Counts { runs: 0, ..runs.counts().clone() };
        prop_assert_eq!(&expected, steps.counts());
        for lba in 0..case.options.space {
            prop_assert_eq!(runs.slot_of(lba), steps.slot_of(lba), "LBA {}", lba);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Write(u32),
    Trim(u32),
    Clean,
}

/// A device, and the content that must be read back from it.
struct Device<S: Scheme> {
    volume: Volume<S>,
    zone_pages: u32,
    /// LBA and version in each slot that was placed since its zone was reset.
    slots: HashMap<Slot, (u32, usize)>,
    /// The newest version of each page.
    versions: HashMap<u32, usize>,
    placed: usize,
    victims: Vec<u32>,
    /// Pages of the last victim still to be copied, the last first, with the classes that they were
    /// given.
    pages: Vec<((u32, Slot), Option<u8>)>,
}

impl<S: Scheme> Device<S> {
    fn new(volume: Volume<S>, zone_pages: u32) -> Self {
        Device {
            volume,
            zone_pages,
            slots: HashMap::new(),
            versions: HashMap::new(),
            placed: 0,
            victims: Vec::new(),
            pages: Vec::new(),
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Write(lba) => {
                // If there is no room, the write waits for cleaning.
                if let Ok(placed) = place_user(&mut self.volume, lba) {
                    self.versions.insert(lba, self.placed);
                    self.put(placed.slot, lba, self.placed);
                }
            }
            Action::Trim(lba) => {
                let trimmed = self.volume.trim(lba).unwrap();
                assert_eq!(trimmed, self.versions.remove(&lba).is_some());
            }
            Action::Clean => self.clean(),
        }
    }

    fn put(&mut self, slot: Slot, lba: u32, version: usize) {
        let used = self.slots.keys().filter(|other| other.zone == slot.zone).count() as u32;
        assert!(slot.offset == used && used < self.zone_pages, "{slot:?} after {used}");
        self.slots.insert(slot, (lba, version));
        self.placed += 1;
    }

    /// Begins a cleaning, or continues the one that has begun.
    fn clean(&mut self) {
        let Some(&victim) = self.victims.last() else {
            self.volume.end_stale();
            self.victims = self.volume.begin_cleaning();
            return self.next_victim();
        };
        if let Some(&((lba, from), class)) = self.pages.last() {
            let version = self.slots[&from].1;
            let current = self.versions.get(&lba) == Some(&version);
            // If there is no room, the copy waits.
            if let Ok(placed) = place_relocation(&mut self.volume, lba, from, class) {
                self.pages.pop();
                assert_eq!(placed.is_some(), current);
                placed.into_iter().for_each(|placed| self.put(placed.slot, lba, version));
            }
        } else if self.volume.release(victim) {
            self.slots.retain(|slot, _| slot.zone != victim);
            self.victims.pop();
            self.next_victim();
        }
    }

    fn next_victim(&mut self) {
        let Some(&victim) = self.victims.last() else { return };
        let pages = valid_pages_of(&self.volume, victim);
        let classes = place_batch(&mut self.volume, victim, &pages);
        self.pages = pages.into_iter().zip(classes).rev().collect();
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.volume.verify(), Ok(()));
        prop_assert_eq!(self.volume.valid_pages(), self.versions.len() as u64);
        for (&lba, &version) in &self.versions {
            let slot = self.volume.slot_of(lba).expect("a page that was written");
            prop_assert_eq!(self.slots.get(&slot), Some(&(lba, version)));
        }
        let counts = self.volume.counts();
        prop_assert_eq!(counts.user_writes + counts.relocations, self.placed as u64);
        Ok(())
    }
}

struct NothingIsLost {
    actions: Vec<Action>,
}

impl Check for NothingIsLost {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        let volume = Volume::new(case.options, scheme(), case.policy()).unwrap();
        let mut device = Device::new(volume, case.options.zone_pages);
        for action in self.actions {
            device.act(action);
            device.check()?;
        }
        Ok(())
    }
}

/// The trace's trims and writes; each write is followed by a few steps of cleaning.
fn actions(case: Case) -> impl Strategy<Value = (Case, Vec<Action>)> {
    let few = prop::collection::vec(Just(Action::Clean), 0..6);
    let each = prop::collection::vec(few, case.trace.words.len());
    each.prop_map(move |each| {
        let writes = case.trace.words.iter().map(|word| Action::Write(word & MAX_LBA));
        let all = writes.zip(each).enumerate().flat_map(|(i, (write, more))| {
            let trims = case.trace.trims_before(i).map(Action::Trim);
            trims.chain([write]).chain(more)
        });
        (case.clone(), all.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn steps_and_runs_decide_alike(case in cases(Foresight::None)) {
        case.check(SameInSteps)?;
    }

    #[test]
    fn steps_and_runs_offer_the_same_batches(
        case in cases(Foresight::None),
        classes in 1..20usize,
    ) {
        SameInSteps.check(&case, &|| Stub::new(classes))?;
    }

    #[test]
    fn writes_and_trims_between_the_steps_of_a_cleaning_lose_nothing(
        (case, actions) in cases(Foresight::None).prop_flat_map(actions),
    ) {
        case.check(NothingIsLost { actions })?;
    }
}

#[test]
fn a_full_volume_takes_overwrites_and_no_first_write() {
    let policy = victims::build("greedy", 0).unwrap();
    let options = Options { logical_pages: 3, ..Options::elastic(16, 64, 0.4) };
    let mut volume = Volume::new(options, Stub::new(2), policy).unwrap();
    (0..3).for_each(|lba| _ = place_user(&mut volume, lba).unwrap());
    assert!(matches!(place_user(&mut volume, 3), Err(LogError::Full { .. })));
    assert!(place_user(&mut volume, 2).is_ok());
}

/// Records the number of valid pages that the scheme is given.
#[derive(Debug)]
struct Valid(Arc<AtomicU32>);

impl Recogniser for Valid {
    fn wants_hotness(&self) -> bool {
        false
    }

    fn score(&mut self, pages: &Candidates<'_>, scores: &mut [f32]) {
        self.0.store(pages.valid, Ordering::Relaxed);
        scores.fill(0.0);
    }
}

#[test]
fn a_victim_cleaned_before_the_first_write_after_a_restart_is_judged_by_the_pages_there_are() {
    let told = Arc::new(AtomicU32::new(0));
    let make = |_: &str, _: &Setup<'_>| Ok(Box::new(Valid(told.clone())) as Box<dyn Recogniser>);
    let capacity = Capacity::Bounded { gp: 0.2, zones: 10, reserve: 2 };
    let options = Options { capacity, ..Options::elastic(16, 64, 0.2) };
    let setup = Setup {
        recogniser: Some(&make),
        classifier: Some(&frostline_learn::classifier),
        forecaster: Some(&frostline_learn::forecaster),
        ..Setup::new(16, 64)
    };
    let spec = SchemeSpec::parse("frozen:nosep").unwrap();
    let scheme = spec.build_any(&setup).unwrap();
    let policy = victims::build("greedy", 0).unwrap();
    let mut volume = Volume::new(options, scheme, policy).unwrap();
    let image = |zone, garbage| ZoneImage {
        zone,
        class: 0,
        opened_at: 1,
        sealed_at: Some(90),
        used: 16,
        garbage,
        padding: 0,
        pages: 0,
    };
    volume.restore(100, 21, &[image(1, 10), image(2, 1)]).unwrap();
    assert_eq!(volume.begin_cleaning(), [1]);
    place_batch(&mut volume, 1, &[(5, Slot { zone: 1, offset: 0 })]);
    assert_eq!(told.load(Ordering::Relaxed), 21);
}
