//! Groups: whole or absent after a power cut at any operation, in recoveries and rebuilds alike.

use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, Store, StoreError,
};
use frostline_zone::{Device, Fault, Faulty, Shape, Tail, in_memory};

const PAGE: usize = 4096;
/// Pages of a zone of the device: two headers and more.
const ZONE: u64 = 40;
const ZONES: u64 = 32;
const PAGES: u32 = 546;
/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

/// The units in which the stores keep their pages.
const UNITS: [u32; 3] = [64, 512, 4096];

/// Some pages are short, with zeroes behind.
fn content(lba: u32, version: u64) -> Vec<u8> {
    let words = 1 + (u64::from(lba) * 37 + version * 101) % 700;
    let word = (u64::from(lba) << 32 | version).to_le_bytes();
    let mut page = word.repeat(words.min(512) as usize);
    page.resize(PAGE, 0);
    page
}

fn version(store: &Store, lba: u32) -> Option<u64> {
    let mut page = vec![0; PAGE];
    store.read(lba, &mut page).unwrap().then(|| {
        let version = u64::from_le_bytes(page[..8].try_into().unwrap()) & 0xffff_ffff;
        assert_eq!(page, content(lba, version), "LBA {lba} is a mixture");
        version
    })
}

fn memory() -> Arc<dyn Device> {
    let zone_bytes = ZONE * PAGE as u64;
    let shape = Shape::of_zones(ZONES, zone_bytes);
    in_memory(&shape).unwrap()
}

fn format(scheme: &str, unit: u32) -> Format {
    let (scheme, logical_pages) = (scheme.to_string(), Some(PAGES.into()));
    Format { scheme, logical_pages, unit, ..Format::default() }
}

fn write_group(store: &Store, lbas: &[u32], version: u64) -> Result<(), StoreError> {
    let pages: Vec<_> = lbas.iter().map(|&lba| (lba, content(lba, version))).collect();
    let group: Vec<_> = pages
        .iter()
        .map(|(lba, page)| PageWrite { lba: *lba, page, hotness: None, changed: None })
        .collect();
    store.write_group(&group)
}

/// A store whose pages were written, some of them twice, so that schemes keep them apart.
fn start(device: Arc<dyn Device>, unit: u32) -> Store {
    Store::format(device.clone(), &format("sepbit", unit)).unwrap();
    let store = Store::open(device, OPEN).unwrap();
    for lba in (0..300).chain((0..300).step_by(3)) {
        store.write(lba, &content(lba, 1)).unwrap();
    }
    store.sync().unwrap();
    store
}

/// Pages of a group in several zones, some of them new.
fn lbas() -> Vec<u32> {
    (0..60).map(|i| i * 7 % 400).collect()
}

fn is_whole(store: &Store, case: &str) -> bool {
    let lbas = lbas();
    let new = lbas.iter().filter(|&&lba| version(store, lba) == Some(2)).count();
    assert!(new == 0 || new == lbas.len(), "{case}: {new} pages of {} are there", lbas.len());
    for lba in (0..300).filter(|lba| new == 0 || !lbas.contains(lba)) {
        assert_eq!(version(store, lba), Some(1), "{case}: LBA {lba}");
    }
    new > 0
}

/// A device whose power was cut at an operation of a group, and whether the group was written by
/// then.
fn cut_at(operation: u64, tail: Tail, seed: u64) -> (Faulty, bool) {
    let device = Arc::new(Faulty::new(memory(), seed).with_tail(tail));
    let store = start(device.clone(), UNITS[seed as usize % UNITS.len()]);
    device.schedule(device.operations() + operation, Fault::PowerCut);
    let written = write_group(&store, &lbas(), 2).is_ok();
    drop(store);
    (device.restart().unwrap(), written)
}

const TAILS: [Tail; 4] = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes];

/// Tries all power cuts of a group; `open` opens what they leave.
fn try_all(open: impl Fn(Arc<Faulty>) -> Store) {
    let (mut whole, mut absent) = (0, 0);
    for tail in TAILS {
        for seed in 0..8 {
            for operation in 1.. {
                let (device, written) = cut_at(operation, tail, seed);
                let store = open(Arc::new(device));
                let case = format!("{tail:?}, seed {seed}, operation {operation}");
                match is_whole(&store, &case) {
                    true => whole += 1,
                    false => absent += 1,
                }
                if written {
                    assert!(is_whole(&store, &case), "{case}: a durable group is gone");
                    break;
                }
            }
        }
    }
    println!("{whole} groups were whole, {absent} absent");
    assert!(whole > 20 && absent > 20, "{whole} whole, {absent} absent");
}

#[test]
fn a_power_cut_at_any_operation_of_a_group_leaves_it_whole_or_absent() {
    try_all(|device| {
        let judged = frostline_judge::pages(&*device).unwrap();
        let store = Store::open(device, OPEN).unwrap();
        for lba in 0..PAGES {
            let sum_of = |version| crc32c::crc32c(&content(lba, version));
            let sum = version(&store, lba).map(sum_of);
            assert_eq!(judged.get(&lba).copied(), sum, "LBA {lba}, judged and read");
        }
        store
    });
}

#[test]
fn a_rebuild_after_a_power_cut_finds_a_group_whole_or_absent() {
    try_all(|device| {
        let device: Arc<dyn Device> = device;
        Store::rebuild(device.clone(), &format("sepbit", 4096), true).unwrap();
        Store::open(device, OPEN).unwrap()
    });
}

/// Recovery gives the numbers anew that told of the group. Pages that were new in it are as if they
/// had been trimmed: a rebuild may bring them back.
#[test]
fn a_rebuild_after_a_recovery_brings_no_page_of_a_cut_group_back_that_was_there_before() {
    for (seed, tail) in (0..8).flat_map(|seed| TAILS.map(|tail| (seed, tail))) {
        for operation in 1.. {
            let (device, written) = cut_at(operation, tail, seed);
            let device: Arc<dyn Device> = Arc::new(device);
            let store = Store::open(device.clone(), OPEN).unwrap();
            let whole = is_whole(&store, "recovered");
            let meta_zones = store.info().unwrap().meta_zones;
            drop(store);
            (0..meta_zones).for_each(|zone| device.reset(zone).unwrap());
            Store::rebuild(device.clone(), &format("sepbit", 4096), true).unwrap();
            let store = Store::open(device, OPEN).unwrap();
            for lba in 0..300 {
                let expected = if whole && lbas().contains(&lba) { 2 } else { 1 };
                let case = format!("{tail:?}, seed {seed}, operation {operation}, LBA {lba}");
                assert_eq!(version(&store, lba), Some(expected), "{case}");
            }
            if written {
                break;
            }
        }
    }
}

/// The pages of a group in one of its zones are trimmed, so that the zone is reset. Nothing was
/// written since the group, so that notes alone tell that it was durable.
#[test]
fn a_group_whose_pages_were_trimmed_and_reset_is_still_whole() {
    let device = memory();
    Store::format(device.clone(), &format("nosep", 4096)).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let lbas: Vec<u32> = (0..60).collect();
    write_group(&store, &lbas, 2).unwrap();
    let zones = store.zones().unwrap();
    let fits = (ZONE - 2) as u32;
    (0..fits).for_each(|lba| assert!(store.trim(lba).unwrap()));
    store.sync().unwrap();
    let emptied = zones.iter().position(|zone| zone.valid == Some(fits)).unwrap();
    drop(store);
    // As cleaning would do, but for the note by which it gives the zone up: so a loss is to be
    // accepted.
    device.reset(emptied as u32).unwrap();
    let refused = Store::open(device.clone(), OPEN).err();
    assert!(matches!(refused, Some(StoreError::Missing(_))), "{refused:?}");
    let judged = frostline_judge::pages(&*device).unwrap();
    assert_eq!(judged.len(), 60 - fits as usize);
    let store = Store::open(device, Open { accept_loss: true, ..OPEN }).unwrap();
    for lba in lbas {
        assert_eq!(version(&store, lba), (lba >= fits).then_some(2), "LBA {lba}");
    }
}

#[test]
fn a_group_that_does_not_fit_is_refused_and_changes_nothing() {
    let device = memory();
    let store = start(device.clone(), 4096);
    let room = store.group_room().unwrap();
    let before: Vec<_> = (0..PAGES).map(|lba| version(&store, lba)).collect();
    let all: Vec<u32> = (0..PAGES).collect();
    assert!(room < u64::from(PAGES), "room for {room} pages");
    let refused = write_group(&store, &all, 2);
    assert!(
        matches!(refused, Err(StoreError::GroupTooLarge { pages, most }) if pages == u64::from(PAGES) && most == room),
        "{refused:?}"
    );
    assert_eq!(before, (0..PAGES).map(|lba| version(&store, lba)).collect::<Vec<_>>());
    write_group(&store, &all[..room as usize], 2).unwrap();
    store.close().unwrap();
    let store = Store::open(device, OPEN).unwrap();
    assert!((0..room as u32).all(|lba| version(&store, lba) == Some(2)));
}

#[test]
fn the_last_content_of_a_page_counts_in_a_group() {
    let store = start(memory(), 4096);
    let [first, last] = [7, 8].map(|version| content(5, version));
    let group =
        [&first, &last].map(|page| PageWrite { lba: 5, page, hotness: None, changed: None });
    store.write_group(&group).unwrap();
    assert_eq!(version(&store, 5), Some(8));
}

/// The first content is not written, so what changed since is not all that the last is made of.
#[test]
fn of_a_page_that_changes_twice_in_a_group_both_changes_are_there() {
    let store = start(memory(), 64);
    // The first changes are as many as a delta's, or too many.
    for (lba, words) in [(5, 0..60), (6, 0..300)] {
        let mut page = vec![1; PAGE];
        store.write(lba, &page).unwrap();
        let mut changed = ChangedWords::NONE;
        let mut change = |words: std::ops::Range<usize>, value| {
            page[8 * words.start..8 * words.end].fill(value);
            changed.add(words);
            let written = (page.clone(), changed);
            changed.note_written();
            written
        };
        let contents = [change(words, 2), change(400..410, 3)];
        let group = contents.each_ref().map(|(page, changed)| PageWrite {
            lba,
            page,
            hotness: None,
            changed: Some(changed),
        });
        store.write_group(&group).unwrap();
        let mut read = vec![0; PAGE];
        assert!(store.read(lba, &mut read).unwrap() && read == page, "LBA {lba}");
    }
}
