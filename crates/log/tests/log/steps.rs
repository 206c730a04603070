//! Driven step by step the log does what it does in runs; and however late and in whatever order
//! writes complete, no page is lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use frostline_log::{
    Capacity, Counts, LogError, MAX_LBA, Map, Options, Slot, Ticket, Volume, Writes, ZoneImage,
};
use frostline_placement::registry::SchemeSpec;
use frostline_placement::{
    Candidates, Foresight, Pages, Recogniser, Scheme, Setup, Visitor, victims,
};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases};
use crate::stub::{Stub, Tally};

/// Writes a page and cleans; everything completes at once.
fn write<S: Scheme>(volume: &mut Volume<S>, lba: u32) -> Result<(), LogError> {
    let ticket = volume.place_user(lba, None)?;
    volume.commit_user(ticket);
    loop {
        volume.end_stale();
        let victims = volume.begin_cleaning();
        if victims.is_empty() {
            return Ok(());
        }
        victims.iter().try_for_each(|&zone| clean(volume, zone))?;
    }
}

/// Asks the scheme about all valid pages of a victim.
fn place_batch<S: Scheme>(
    volume: &mut Volume<S>,
    zone: u32,
    pages: &[(u32, Slot)],
) -> Vec<Option<u8>> {
    let lbas: Vec<_> = pages.iter().map(|&(lba, _)| lba).collect();
    let states: Vec<_> = lbas.iter().map(|&lba| volume.map().entry(lba).page).collect();
    volume.place_batch(zone, &Pages { lbas: &lbas, states: &states, hotness: None })
}

fn clean<S: Scheme>(volume: &mut Volume<S>, zone: u32) -> Result<(), LogError> {
    let mut pages = Vec::new();
    volume.valid_pages_of(zone, &mut pages);
    let classes = place_batch(volume, zone, &pages);
    for (&(lba, from), class) in pages.iter().zip(classes) {
        let ticket = volume.place_relocation(lba, from, class)?.expect("a valid page");
        assert!(volume.commit_relocation(ticket));
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

/// What happens next; a completion to any of the writes in flight.
#[derive(Clone, Copy, Debug)]
enum Action {
    Write(u32),
    Trim(u32),
    Complete(usize),
    Clean,
}

/// A page that is being written, with its version.
type Flight<S> = (Ticket<<S as Scheme>::Page>, usize);

/// A device whose writes take time, and what must be read back from it.
struct Device<S: Scheme> {
    volume: Volume<S>,
    zone_pages: u32,
    /// LBA and version in each slot that was placed since its zone was reset.
    slots: HashMap<Slot, (u32, usize)>,
    in_flight: Vec<Flight<S>>,
    /// The version of each page that completed last.
    versions: HashMap<u32, usize>,
    placed: usize,
    victims: Vec<u32>,
    /// Pages of the last victim still to be copied, last first, with the classes that they were given.
    pages: Vec<((u32, Slot), Option<u8>)>,
}

impl<S: Scheme> Device<S> {
    fn new(volume: Volume<S>, zone_pages: u32) -> Self {
        Device {
            volume,
            zone_pages,
            slots: HashMap::new(),
            in_flight: Vec::new(),
            versions: HashMap::new(),
            placed: 0,
            victims: Vec::new(),
            pages: Vec::new(),
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Write(lba) => {
                // Without room the write has to wait for cleaning.
                if let Ok(ticket) = self.volume.place_user(lba, None) {
                    self.start(ticket, self.placed);
                }
            }
            Action::Trim(lba) => {
                let trimmed = self.volume.trim(lba).unwrap();
                assert_eq!(trimmed, self.versions.remove(&lba).is_some());
            }
            Action::Complete(_) if self.in_flight.is_empty() => {}
            Action::Complete(which) => {
                let flight = self.in_flight.swap_remove(which % self.in_flight.len());
                self.complete(flight);
            }
            Action::Clean => self.clean(),
        }
    }

    fn start(&mut self, ticket: Ticket<S::Page>, version: usize) {
        let Slot { zone, offset } = ticket.slot;
        let used = self.slots.keys().filter(|slot| slot.zone == zone).count() as u32;
        assert!(offset == used && offset < self.zone_pages, "{:?} after {used}", ticket.slot);
        self.slots.insert(ticket.slot, (ticket.lba, version));
        self.in_flight.push((ticket, version));
        self.placed += 1;
    }

    fn complete(&mut self, (ticket, version): Flight<S>) {
        let lba = ticket.lba;
        match ticket.from {
            None => {
                self.volume.commit_user(ticket);
                self.versions.insert(lba, version);
            }
            Some(_) => {
                let current = self.volume.commit_relocation(ticket);
                assert_eq!(current, self.versions.get(&lba) == Some(&version));
            }
        }
    }

    /// Begins a cleaning, or goes on with the one that was begun.
    fn clean(&mut self) {
        let Some(&victim) = self.victims.last() else {
            self.volume.end_stale();
            self.victims = self.volume.begin_cleaning();
            return self.next_victim();
        };
        if let Some(&((lba, from), class)) = self.pages.last() {
            // Without room the copy has to wait.
            if let Ok(copy) = self.volume.place_relocation(lba, from, class) {
                self.pages.pop();
                copy.into_iter().for_each(|ticket| self.start(ticket, self.slots[&from].1));
            }
        } else if self.volume.release(victim) {
            self.slots.retain(|slot, _| slot.zone != victim);
            self.victims.pop();
            self.next_victim();
        }
    }

    fn next_victim(&mut self) {
        let Some(&victim) = self.victims.last() else { return };
        let mut pages = Vec::new();
        self.volume.valid_pages_of(victim, &mut pages);
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
        while !device.in_flight.is_empty() {
            device.act(Action::Complete(7));
            device.check()?;
        }
        Ok(())
    }
}

/// The trace's trims and writes, these followed by a few completions and steps of cleaning.
fn actions(case: Case) -> impl Strategy<Value = (Case, Vec<Action>)> {
    let other = prop_oneof![any::<usize>().prop_map(Action::Complete), Just(Action::Clean)];
    let few = prop::collection::vec(other, 0..6);
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
    fn late_and_reordered_completions_lose_nothing(
        (case, actions) in cases(Foresight::None).prop_flat_map(actions),
    ) {
        case.check(NothingIsLost { actions })?;
    }
}

fn stub_volume(options: Options) -> Volume<Stub> {
    let policy = victims::build("greedy", 0).unwrap();
    Volume::new(options, Stub::new(2), policy).unwrap()
}

/// Fills zone 1, whose pages but the last become garbage, and begins to clean it; returns the
/// copy of the last.
fn copy_in_flight(volume: &mut Volume<Stub>) -> Ticket<Tally> {
    for lba in (0..32).step_by(2).chain((0..30).step_by(2)) {
        let ticket = volume.place_user(lba, None).unwrap();
        volume.commit_user(ticket);
    }
    assert_eq!(volume.begin_cleaning(), [1]);
    let from = Slot { zone: 1, offset: 15 };
    let classes = place_batch(volume, 1, &[(30, from)]);
    volume.place_relocation(30, from, classes[0]).unwrap().unwrap()
}

#[test]
fn a_copy_that_completes_late_does_not_undo_the_state_of_a_write_that_was_placed_since() {
    let mut volume = stub_volume(Options::elastic(16, 64, 0.4));
    let copy = copy_in_flight(&mut volume);
    let write = volume.place_user(30, None).unwrap();
    assert!(volume.commit_relocation(copy));
    volume.commit_user(write);
    let next = volume.place_user(30, None).unwrap();
    volume.commit_user(next);
    assert_eq!(volume.scheme().seen[&30].user_writes, 3);
}

#[test]
fn a_copy_from_a_zone_that_was_reset_and_written_again_is_garbage() {
    let mut volume = stub_volume(Options::elastic(16, 64, 0.4));
    let copy = copy_in_flight(&mut volume);
    let place = |volume: &mut Volume<Stub>, lba| {
        let ticket = volume.place_user(lba, None).unwrap();
        let slot = ticket.slot;
        volume.commit_user(ticket);
        slot
    };
    place(&mut volume, 30);
    assert!(volume.release(1));
    let reused = (0..).map(|_| place(&mut volume, 30)).find(|s| *s == Slot { zone: 1, offset: 15 });
    assert_eq!(volume.slot_of(30), reused);
    assert!(!volume.commit_relocation(copy));
    assert_eq!(volume.slot_of(30), reused);
    assert_eq!(volume.verify(), Ok(()));
}

#[test]
fn first_writes_in_flight_count_towards_the_logical_pages() {
    let mut volume = stub_volume(Options { logical_pages: 3, ..Options::elastic(16, 64, 0.4) });
    let tickets: Vec<_> = (0..3).map(|lba| volume.place_user(lba, None).unwrap()).collect();
    assert!(matches!(volume.place_user(3, None), Err(LogError::Full { .. })));
    tickets.into_iter().for_each(|ticket| volume.commit_user(ticket));
    assert!(matches!(volume.place_user(3, None), Err(LogError::Full { .. })));
    assert!(volume.place_user(2, None).is_ok());
}

/// Notes how many valid pages it is told that the volume has.
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

struct CleanRestored(Options);

impl Visitor for CleanRestored {
    type Output = ();

    fn visit<S: Scheme>(self, scheme: S) {
        let policy = victims::build("greedy", 0).unwrap();
        let mut volume = Volume::new(self.0, scheme, policy).unwrap();
        let image = |zone, garbage| ZoneImage {
            zone,
            class: 0,
            opened_at: 1,
            sealed_at: Some(90),
            used: 16,
            garbage,
        };
        volume.restore(100, 21, &[image(1, 10), image(2, 1)]).unwrap();
        assert_eq!(volume.begin_cleaning(), [1]);
        place_batch(&mut volume, 1, &[(5, Slot { zone: 1, offset: 0 })]);
    }
}

#[test]
fn a_victim_cleaned_before_the_first_write_after_a_restart_is_judged_by_the_pages_there_are() {
    let told = Arc::new(AtomicU32::new(0));
    let make = |_: &str, _: &Setup<'_>| Ok(Box::new(Valid(told.clone())) as Box<dyn Recogniser>);
    let capacity = Capacity::Bounded { gp: 0.2, zones: 10, reserve: 2 };
    let options = Options { capacity, ..Options::elastic(16, 64, 0.2) };
    let setup = Setup { recogniser: Some(&make), ..Setup::new(16, 64) };
    let spec = SchemeSpec::parse("frozen:nosep").unwrap();
    spec.build(&setup, CleanRestored(options)).unwrap();
    assert_eq!(told.load(Ordering::Relaxed), 21);
}
