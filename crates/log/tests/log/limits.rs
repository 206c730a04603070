//! Invalid options are refused, and a full volume still accepts overwrites.

use std::collections::{BTreeMap, HashSet};

use bytemuck::Zeroable;
use frostline_log::{
    Capacity, Extent, Given, LogError, MAX_LBA, Map, Options, PageEntry, PageReplay, Replay as _,
    Slot, Steps, Units, Writes,
};
use frostline_placement::victims;

use crate::driver::Driver;
use crate::stub::{Stub, Tally};

fn pages(options: Options, classes: usize) -> Result<PageReplay<Stub>, LogError> {
    let policy = victims::build("greedy", 0).unwrap();
    PageReplay::new(options, Stub::new(classes), policy)
}

fn steps(options: Options, classes: usize) -> Driver<Stub> {
    Driver::new(options, Stub::new(classes), victims::build("greedy", 0).unwrap()).unwrap()
}

fn refused(options: Options) -> LogError {
    pages(options, 1).err().expect("options that can't be kept")
}

fn fixed(zone_pages: u32, zones: u32, logical_pages: u64) -> Options {
    let capacity = Capacity::Fixed { zones, reserve: 2 };
    Options { capacity, logical_pages, ..Options::elastic(zone_pages, 1000, 0.5) }
}

#[test]
fn no_more_classes_than_zones_may_be_open() {
    let limited = |limit| Options { max_open: Some(limit), ..Options::elastic(16, 100, 0.2) };
    let too_many = Some(LogError::TooManyClasses { classes: 3, limit: 2 });
    assert_eq!(pages(limited(2), 3).err(), too_many);
    assert!(pages(limited(3), 3).is_ok());
}

#[test]
fn zones_have_from_16_to_2_to_the_30_pages() {
    for pages in [0, 15, (1 << 30) + 1, u32::MAX] {
        let options = Options::elastic(pages, 100, 0.2);
        assert_eq!(refused(options), LogError::ZoneSize { pages });
    }
    assert!(pages(Options::elastic(16, 100, 0.2), 1).is_ok());
}

#[test]
fn a_garbage_proportion_lies_between_0_and_1() {
    for gp in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let options = Options::elastic(16, 100, gp);
        // NaN does not equal itself.
        let wanted = LogError::GarbageProportion { gp };
        assert_eq!(refused(options).to_string(), wanted.to_string());
    }
}

#[test]
fn every_slot_has_a_number_of_32_bits() {
    // Slot numbers from 15 << 28 on would end at 2^32.
    let too_large = LogError::TooLarge { zones: 15, zone_units: 1 << 28 };
    assert_eq!(refused(fixed(1 << 28, 15, 1000)), too_large);
    let elastic = Options::elastic(1 << 28, 1000, 0.2);
    assert!(matches!(refused(elastic), LogError::TooLarge { .. }));
    let space = MAX_LBA + 2;
    let elastic = Options::elastic(1 << 16, space, 0.2);
    assert_eq!(
        refused(elastic),
        LogError::BadLba { lba: u64::from(space) - 1, last: MAX_LBA.into() }
    );
}

/// A driver's map: no LBA that a number of 32 bits can't name has a slot at first.
#[derive(Default)]
struct DriversMap;

impl Map<Tally> for DriversMap {
    fn space(&self) -> u64 {
        3 << 32
    }

    fn peek(&self, _: u64) -> Option<Tally> {
        None
    }

    fn each_page(&mut self, _: &mut dyn FnMut(&mut Tally)) {}
}

#[test]
fn a_driver_that_keeps_the_map_has_more_slots_and_lbas_than_32_bits_number() {
    let policy = victims::build("greedy", 0).unwrap();
    let options = fixed(1 << 26, 90_000, 3 << 32);
    let mut steps = Steps::over(options, Stub::new(100), policy, DriversMap).unwrap();
    let mut entries: BTreeMap<u64, PageEntry<Tally>> = BTreeMap::new();
    let mut slots: HashSet<Slot> = HashSet::new();
    for i in 0..2000u64 {
        // Some LBAs are written again.
        let lba = (i % 700) * 0x1234_5677 % (3 << 32);
        let mut entry = entries.get(&lba).copied().unwrap_or_else(Zeroable::zeroed);
        let placed = steps.place_user(lba, &mut entry, Units::PAGE, 0, None).unwrap();
        assert_eq!(entry.slot, placed.slot);
        assert!(slots.insert(placed.slot), "{:?} is used twice", placed.slot);
        entries.insert(lba, entry);
    }
    assert_eq!(steps.log().valid_pages(), 700);
    assert!(entries.values().any(|entry| entry.slot.zone >= 64), "beyond 2^32 slots");
    let beyond = LogError::BadLba { lba: 3 << 32, last: (3 << 32) - 1 };
    let mut entry = PageEntry::zeroed();
    assert_eq!(steps.place_user(3 << 32, &mut entry, Units::PAGE, 0, None).err(), Some(beyond));
    // An open zone ends early, and its pages move.
    (0..100).for_each(|class| _ = steps.log_mut().end_early(class));
    for (&lba, entry) in &mut entries {
        let from = entry.slot;
        let given = Given { class: Some((from.zone % 100) as u8), ..Given::default() };
        let placed = steps.place_relocation(lba, entry, Extent::page(from), 1, given).unwrap();
        assert!(
            placed.is_some_and(|placed| placed.slot == entry.slot && slots.insert(placed.slot))
        );
    }
    assert!((1..=100).all(|zone| steps.log_mut().release(zone)));
    assert_eq!(steps.log().valid_pages(), 700);
}

#[test]
fn a_fixed_volume_has_zones_to_spare() {
    let too_small = LogError::TooSmall { physical: 9, logical: 7, spare: 3 };
    assert_eq!(refused(fixed(16, 9, 112)), too_small);
    assert!(pages(fixed(16, 10, 112), 1).is_ok());
}

#[test]
fn an_lba_beyond_the_volume_is_an_error_and_what_was_written_before_stays() {
    let mut replay = pages(Options::elastic(16, 100, 0.2), 2).unwrap();
    let beyond = LogError::BadLba { lba: 100, last: 99 };
    assert_eq!(replay.write(&Writes::new(&[98, 99, 100, 1]), 0..4), Err(beyond.clone()));
    assert_eq!((replay.log().valid_pages(), replay.log().now()), (2, 2));
    assert!(replay.slot_of(99).is_some() && replay.slot_of(100).is_none());
    assert_eq!(steps(Options::elastic(16, 100, 0.2), 2).place_user(100).err(), Some(beyond));
    assert_eq!(replay.verify(), Ok(()));
}

#[test]
fn a_full_volume_says_so_and_goes_on_taking_overwrites() {
    let mut replay = pages(fixed(16, 10, 112), 2).unwrap();
    replay.write(&Writes::new(&(0..112).collect::<Vec<_>>()), 0..112).unwrap();
    let mut steps = steps(fixed(16, 10, 112), 2);
    (0..112).for_each(|lba| _ = steps.place_user(lba).unwrap());
    let full = LogError::Full { valid: 112, slots: 160 };
    assert_eq!(steps.place_user(112).err(), Some(full));
    assert!(steps.place_user(111).is_ok());
    let overwrites: Vec<u32> = (0..2000).map(|i| i * 7 % 112).collect();
    replay.write(&Writes::new(&overwrites), 0..2000).unwrap();
    assert_eq!((replay.log().valid_pages(), replay.verify()), (112, Ok(())));
}

#[test]
fn a_volume_without_a_slot_left_says_so_and_keeps_what_it_has() {
    let mut replay = pages(fixed(16, 10, 112), 2).unwrap();
    let words: Vec<u32> = (0..1000).collect();
    let full = LogError::Full { valid: 160, slots: 160 };
    assert_eq!(replay.write(&Writes::new(&words), 0..1000), Err(full));
    assert!((0..160).all(|lba| replay.slot_of(lba).is_some()));
    assert_eq!(replay.verify(), Ok(()));
}

/// Every class has an open zone, all garbage is in open zones, and there is nothing to clean.
#[test]
fn more_classes_than_spare_zones_do_not_fill_a_fixed_volume() {
    for classes in 1..=16 {
        for stride in [1, 3, 5, 9, 11, 13, 15, 17] {
            let mut replay = pages(fixed(16, 10, 112), classes).unwrap();
            let words: Vec<u32> = (0..1000).map(|i| i * stride % 112).collect();
            let outcome = replay.write(&Writes::new(&words), 0..words.len());
            assert_eq!(outcome, Ok(()), "{classes} classes, every {stride}th page");
        }
    }
}
