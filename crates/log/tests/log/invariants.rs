//! Invariants that hold after every step, whatever the scheme and the victim policy.

use std::collections::{BTreeSet, HashSet};

use frostline_log::{Capacity, MAX_LBA, Options, Replay, ZoneLog};
use frostline_placement::{Foresight, Scheme};
use proptest::prelude::*;

use crate::cases::{Case, Check, cases, delta_cases, record_cases};

struct Invariants;

impl Check for Invariants {
    fn check<S: Scheme>(self, case: &Case, scheme: &dyn Fn() -> S) -> Result<(), TestCaseError> {
        let scheme = scheme();
        let limit = scheme.classes();
        let options = Options { max_open: Some(limit), ..case.options };
        let limited = Case { options, ..case.clone() };
        if !limited.options.in_records() {
            return self.hold(&limited, limited.of_pages(scheme));
        }
        match limited.of_records(scheme) {
            Some(log) => self.hold(&limited, log),
            None => Ok(()),
        }
    }
}

impl Invariants {
    fn hold(self, case: &Case, mut replay: impl Replay) -> Result<(), TestCaseError> {
        let options = case.options;
        let mut written = BTreeSet::new();
        for i in 0..case.trace.words.len() {
            let stalls = replay.log_mut().counts().stalls;
            case.trace.replay(&mut replay, &case.writes(), i..i + 1).unwrap();
            for lba in case.trace.trims_before(i) {
                written.remove(&lba);
            }
            written.insert(case.trace.words[i] & MAX_LBA);
            prop_assert_eq!(replay.verify(), Ok(()));
            each_page_has_one_slot(&replay, &written, &options)?;
            units_used_are_counted(replay.log_mut(), &options)?;
            prop_assert!(Some(open_zones(replay.log())) <= options.max_open);
            let stalled = replay.log_mut().counts().stalls > stalls;
            prop_assert!(stalled || !trigger_asks(replay.log(), options.capacity));
        }
        Ok(())
    }
}

/// Besides, each delta is of a page, and each tail of a delta.
fn each_page_has_one_slot(
    replay: &impl Replay,
    written: &BTreeSet<u32>,
    options: &Options,
) -> Result<(), TestCaseError> {
    let lbas = 0..options.space;
    let mapped: Vec<_> = lbas.filter_map(|l| replay.slot_of(l).map(|s| (l, s))).collect();
    let first = options.first_delta.unwrap_or(options.space);
    let (pages, parts) = mapped.split_at(mapped.partition_point(|(lba, _)| *lba < first));
    prop_assert!(pages.iter().map(|(lba, _)| lba).eq(written));
    prop_assert!(parts.iter().all(|(lba, _)| replay.slot_of(lba - first).is_some()));
    let slots: HashSet<_> = mapped.iter().map(|(_, slot)| slot).collect();
    prop_assert_eq!(slots.len(), mapped.len());
    prop_assert_eq!(replay.log().valid_pages(), mapped.len() as u64);
    Ok(())
}

/// Each unit that was written or left unused is in a zone, or was in a zone that is reclaimed. A
/// page of one slot is valid or garbage; for longer records [`ZoneLog::verify`] sums the units.
fn units_used_are_counted<S: Scheme>(
    log: &mut ZoneLog<S>,
    options: &Options,
) -> Result<(), TestCaseError> {
    let images = log.images();
    let live: u64 = images.iter().map(|zone| u64::from(zone.used)).sum();
    let garbage: u64 = images.iter().map(|zone| u64::from(zone.garbage)).sum();
    let zone_pages = options.zone_pages - log.scheme().meta_pages();
    let valid = log.valid_pages();
    let counts = log.counts();
    let reset = counts.zones_reclaimed * u64::from(zone_pages * options.page_units);
    let written = match options.page_units {
        1 => counts.user_writes + counts.relocations,
        _ => counts.user_units + counts.relocated_units,
    };
    prop_assert_eq!(written + counts.skipped, live + reset);
    prop_assert!(options.page_units > 1 || valid + garbage == live);
    Ok(())
}

fn open_zones<S: Scheme>(log: &ZoneLog<S>) -> usize {
    log.images().iter().filter(|zone| zone.sealed_at.is_none()).count()
}

fn trigger_asks<S: Scheme>(log: &ZoneLog<S>, capacity: Capacity) -> bool {
    let dirty = |gp| log.garbage_proportion() > gp;
    let short = |reserve| log.free_zones() < reserve as usize;
    match capacity {
        Capacity::Elastic { gp } => dirty(gp),
        Capacity::Fixed { reserve, .. } => short(reserve),
        Capacity::Bounded { gp, reserve, .. } => dirty(gp) || short(reserve),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn invariants_hold_after_every_write(case in cases(Foresight::Lifespans)) {
        case.check(Invariants)?;
    }

    #[test]
    fn invariants_hold_after_every_delta_and_tail(
        case in delta_cases(Foresight::Lifespans, Just(100)),
    ) {
        case.check(Invariants)?;
    }

    #[test]
    fn invariants_hold_after_every_record(case in record_cases(Foresight::Lifespans)) {
        case.check(Invariants)?;
    }
}
