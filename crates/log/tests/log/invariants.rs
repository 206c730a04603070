//! Invariants that hold after every step, whatever the scheme and the victim policy.

use std::collections::{BTreeSet, HashSet};

use frostline_log::{Capacity, MAX_LBA, Options, Volume};
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
        let Some(mut volume) = limited.volume_of_records(scheme) else { return Ok(()) };
        let mut written = BTreeSet::new();
        for i in 0..case.trace.words.len() {
            let stalls = volume.counts().stalls;
            case.trace.replay(&mut volume, &case.writes(), i..i + 1).unwrap();
            for lba in case.trace.trims_before(i) {
                written.remove(&lba);
            }
            written.insert(case.trace.words[i] & MAX_LBA);
            prop_assert_eq!(volume.verify(), Ok(()));
            each_page_has_one_slot(&volume, &written, &options)?;
            units_used_are_counted(&mut volume, &options)?;
            prop_assert!(open_zones(&volume) <= limit);
            let stalled = volume.counts().stalls > stalls;
            prop_assert!(stalled || !trigger_asks(&volume, options.capacity));
        }
        Ok(())
    }
}

/// Besides, each delta is of a page, and each tail of a delta.
fn each_page_has_one_slot<S: Scheme>(
    volume: &Volume<S>,
    written: &BTreeSet<u32>,
    options: &Options,
) -> Result<(), TestCaseError> {
    let lbas = 0..options.space;
    let mapped: Vec<_> = lbas.filter_map(|l| volume.slot_of(l).map(|s| (l, s))).collect();
    let first = options.first_delta.unwrap_or(options.space);
    let (pages, parts) = mapped.split_at(mapped.partition_point(|(lba, _)| *lba < first));
    prop_assert!(pages.iter().map(|(lba, _)| lba).eq(written));
    prop_assert!(parts.iter().all(|(lba, _)| volume.slot_of(lba - first).is_some()));
    let slots: HashSet<_> = mapped.iter().map(|(_, slot)| slot).collect();
    prop_assert_eq!(slots.len(), mapped.len());
    prop_assert_eq!(volume.valid_pages(), mapped.len() as u64);
    Ok(())
}

/// Each unit that was written or left unused is in a zone, or was in a zone that is reclaimed. A
/// page of one slot is valid or garbage; for longer records [`Volume::verify`] sums the units.
fn units_used_are_counted<S: Scheme>(
    volume: &mut Volume<S>,
    options: &Options,
) -> Result<(), TestCaseError> {
    let images = volume.images();
    let live: u64 = images.iter().map(|zone| u64::from(zone.used)).sum();
    let garbage: u64 = images.iter().map(|zone| u64::from(zone.garbage)).sum();
    let zone_pages = options.zone_pages - volume.scheme().meta_pages();
    let valid = volume.valid_pages();
    let counts = volume.counts();
    let reset = counts.zones_reclaimed * u64::from(zone_pages * options.page_units);
    let written = match options.page_units {
        1 => counts.user_writes + counts.relocations,
        _ => counts.user_units + counts.relocated_units,
    };
    prop_assert_eq!(written + counts.skipped, live + reset);
    prop_assert!(options.page_units > 1 || valid + garbage == live);
    Ok(())
}

fn open_zones<S: Scheme>(volume: &Volume<S>) -> usize {
    volume.images().iter().filter(|zone| zone.sealed_at.is_none()).count()
}

fn trigger_asks<S: Scheme>(volume: &Volume<S>, capacity: Capacity) -> bool {
    let dirty = |gp| volume.garbage_proportion() > gp;
    let short = |reserve| volume.free_zones() < reserve as usize;
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
