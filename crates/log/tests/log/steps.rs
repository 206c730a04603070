//! Driven step by step, the log does the same as in runs; and no page is lost, whatever is written
//! between the steps of a cleaning.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use frostline_log::{
    Capacity, Counts, LogError, MAX_LBA, Options, PageReplay, Replay as _, Slot, Writes, ZoneImage,
};
use frostline_placement::{Candidates, Foresight, Recogniser, Scheme, SchemeSpec, Setup, victims};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases};
use crate::driver::Driver;
use crate::stub::Stub;

/// Writes a page and cleans.
fn write<S: Scheme>(driver: &mut Driver<S>, lba: u32) -> Result<(), LogError> {
    driver.place_user(lba)?;
    loop {
        driver.steps.log_mut().end_stale();
        let victims = driver.steps.log_mut().begin_cleaning();
        if victims.is_empty() {
            return Ok(());
        }
        victims.iter().try_for_each(|&zone| clean(driver, zone))?;
    }
}

fn clean<S: Scheme>(driver: &mut Driver<S>, zone: u32) -> Result<(), LogError> {
    let pages = driver.valid_pages_of(zone);
    let classes = driver.place_batch(zone, &pages);
    for (&(lba, from), class) in pages.iter().zip(classes) {
        driver.place_relocation(lba, from, class)?.expect("a valid page");
    }
    assert!(driver.steps.log_mut().release(zone));
    Ok(())
}

struct SameInSteps;

impl Check for SameInSteps {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        // A driver that keeps the map has no pages for the scheme's state in its zones.
        let zone_pages = case.options.zone_pages + scheme().wants().meta_pages;
        let options = Options { zone_pages, ..case.options };
        let mut runs = PageReplay::new(options, scheme(), case.policy()).unwrap();
        let mut steps = Driver::new(case.options, scheme(), case.policy()).unwrap();
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
        let expected = Counts { runs: 0, meta_pages: 0, ..runs.log_mut().counts().clone() };
        prop_assert_eq!(&expected, steps.steps.log_mut().counts());
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
    driver: Driver<S>,
    zone_pages: u32,
    /// LBA and version in each slot of a zone that was placed since it was reset.
    zones: HashMap<u32, Vec<(u32, usize)>>,
    /// The newest version of each page.
    versions: HashMap<u32, usize>,
    placed: usize,
    victims: Vec<u32>,
    /// Pages of the last victim still to be copied, the last first, with the classes that they were
    /// given.
    pages: Vec<((u32, Slot), Option<u8>)>,
}

impl<S: Scheme> Device<S> {
    fn new(driver: Driver<S>, zone_pages: u32) -> Self {
        Device {
            driver,
            zone_pages,
            zones: HashMap::new(),
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
                if let Ok(placed) = self.driver.place_user(lba) {
                    self.versions.insert(lba, self.placed);
                    self.put(placed.slot, lba, self.placed);
                }
            }
            Action::Trim(lba) => {
                let trimmed = self.driver.trim(lba).unwrap();
                assert_eq!(trimmed, self.versions.remove(&lba).is_some());
            }
            Action::Clean => self.clean(),
        }
    }

    fn put(&mut self, slot: Slot, lba: u32, version: usize) {
        let zone = self.zones.entry(slot.zone).or_default();
        let used = zone.len() as u32;
        assert!(slot.offset == used && used < self.zone_pages, "{slot:?} after {used}");
        zone.push((lba, version));
        self.placed += 1;
    }

    /// Begins a cleaning, or continues the one that has begun.
    fn clean(&mut self) {
        let Some(&victim) = self.victims.last() else {
            self.driver.steps.log_mut().end_stale();
            self.victims = self.driver.steps.log_mut().begin_cleaning();
            return self.next_victim();
        };
        if let Some(&((lba, from), class)) = self.pages.last() {
            let version = self.zones[&from.zone][from.offset as usize].1;
            let current = self.versions.get(&lba) == Some(&version);
            // If there is no room, the copy waits.
            if let Ok(placed) = self.driver.place_relocation(lba, from, class) {
                self.pages.pop();
                assert_eq!(placed.is_some(), current);
                placed.into_iter().for_each(|placed| self.put(placed.slot, lba, version));
            }
        } else if self.driver.steps.log_mut().release(victim) {
            self.zones.remove(&victim);
            self.victims.pop();
            self.next_victim();
        }
    }

    fn next_victim(&mut self) {
        let Some(&victim) = self.victims.last() else { return };
        let pages = self.driver.valid_pages_of(victim);
        let classes = self.driver.place_batch(victim, &pages);
        self.pages = pages.into_iter().zip(classes).rev().collect();
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        prop_assert_eq!(self.driver.verify(), Ok(()));
        prop_assert_eq!(self.driver.steps.log().valid_pages(), self.versions.len() as u64);
        for (&lba, &version) in &self.versions {
            let slot = self.driver.slot_of(lba).expect("a page that was written");
            let zone = self.zones.get(&slot.zone);
            let found = zone.and_then(|zone| zone.get(slot.offset as usize));
            prop_assert_eq!(found, Some(&(lba, version)));
        }
        let counts = self.driver.steps.log_mut().counts();
        prop_assert_eq!(counts.user_writes + counts.relocations, self.placed as u64);
        Ok(())
    }
}

struct NothingIsLost {
    actions: Vec<Action>,
}

impl Check for NothingIsLost {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        let driver = Driver::new(case.options, scheme(), case.policy()).unwrap();
        let mut device = Device::new(driver, case.options.zone_pages);
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
    let mut driver = Driver::new(options, Stub::new(2), policy).unwrap();
    (0..3).for_each(|lba| _ = driver.place_user(lba).unwrap());
    assert!(matches!(driver.place_user(3), Err(LogError::Full { .. })));
    assert!(driver.place_user(2).is_ok());
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
    let mut driver = Driver::new(options, scheme, policy).unwrap();
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
    driver.steps.restore(100, 21, &[image(1, 10), image(2, 1)]).unwrap();
    assert_eq!(driver.steps.log_mut().begin_cleaning(), [1]);
    driver.place_batch(1, &[(5, Slot { zone: 1, offset: 0 })]);
    assert_eq!(told.load(Ordering::Relaxed), 21);
}
