//! Zones that wear out under the store: it goes on, and loses only what went offline with them.

mod parity;

use std::sync::Arc;

use frostline_store::{Cleaning, Failures, Format, Loss, Open, Store, StoreError};
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, ZoneState, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;
const PAGES: u32 = 500;
const ZONE_PAGES: u64 = 40;
const ZONES: u64 = 60;

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

fn device(seed: u64) -> Arc<Faulty> {
    let zone_bytes = ZONE_PAGES * PAGE as u64;
    let shape = Shape::of_zones(ZONES, zone_bytes);
    let memory = in_memory(&shape).unwrap();
    let format = Format { logical_pages: Some(PAGES.into()), unit: 4096, ..Format::default() };
    Store::format(memory.clone(), &format).unwrap();
    Arc::new(Faulty::new(memory, seed))
}

/// True if an error names a zone that went offline.
fn is_offline(error: &StoreError) -> bool {
    match error {
        StoreError::Device(error) => matches!(**error, DeviceError::OfflineZone { .. }),
        StoreError::Lost { .. } => true,
        _ => false,
    }
}

/// Reads everything; returns how many pages are lost. No page may be if nothing went offline.
fn check(store: &Store, versions: &[Option<u32>], offline: bool) -> usize {
    let mut page = vec![0; PAGE];
    let mut lost = 0;
    for (lba, version) in (0..).zip(versions) {
        match store.read(lba, &mut page) {
            Ok(found) => {
                assert_eq!(found, version.is_some(), "LBA {lba}");
                assert!(version.is_none_or(|v| page == content(lba, v)), "LBA {lba}");
            }
            Err(error) => {
                assert!(offline && is_offline(&error), "LBA {lba}: {error}");
                lost += 1;
            }
        }
    }
    lost
}

/// Writes and trims while data zones wear out as `fault` draws, then reopens the store.
fn wear(seed: u64, cleaning: Cleaning, fault: impl Fn(&mut SmallRng) -> Fault) -> usize {
    println!("seed {seed}, cleaning {cleaning:?}");
    let mut rng = SmallRng::seed_from_u64(seed);
    let device = device(seed);
    let open = Open { cleaning, ..Open::default() };
    let store = Store::open(device.clone(), open).unwrap();
    let mut versions = vec![None; PAGES as usize];
    let mut offline = false;
    for version in 0..4000 {
        if version % 500 == 499 {
            let fault = fault(&mut rng);
            offline |= matches!(fault, Fault::Wear { state: ZoneState::Offline, .. });
            device.schedule(device.operations() + rng.random_range(1..20), fault);
        }
        let lba = rng.random_range(0..PAGES);
        if rng.random_bool(0.1) {
            store.trim(lba).unwrap();
            versions[lba as usize] = None;
        } else {
            let written = store.write(lba, &content(lba, version));
            written.unwrap_or_else(|error| panic!("seed {seed}, write {version}: {error}"));
            versions[lba as usize] = Some(version);
        }
    }
    assert!(store.stats().unwrap().counts.zones_reclaimed > 20);
    let lost = check(&store, &versions, offline);
    store.close().unwrap();
    let store = reopen(device, open, lost > 0);
    // The last fault may have come while the store was closed.
    assert!(check(&store, &versions, offline) >= lost, "seed {seed}");
    lost
}

/// Opens a store again. It is refused if pages are lost, until that is accepted; and again, if the
/// last fault comes only then.
fn reopen(device: Arc<Faulty>, open: Open, lost: bool) -> Store {
    let is_offline = |loss: &Loss| device.zone(loss.zone).unwrap().state == ZoneState::Offline;
    let mut accepted = Vec::new();
    loop {
        let refused = match Store::open(device.clone(), open) {
            Ok(store) => {
                assert!(!lost || !accepted.is_empty(), "lost pages were not told");
                return store;
            }
            Err(error) => error,
        };
        let StoreError::Missing(losses) = &refused else { panic!("{refused}") };
        assert!(losses.iter().all(is_offline), "{refused}");
        let is_asked_again = |loss: &Loss| accepted.contains(&loss.zone);
        assert!(!losses.iter().any(is_asked_again), "{refused} was accepted");
        accepted.extend(losses.iter().map(|loss| loss.zone));
        let store = Store::open(device.clone(), Open { accept_loss: true, ..open }).unwrap();
        assert_eq!(store.missing(), losses);
        store.close().unwrap();
    }
}

/// A data zone: the first ones are for metadata.
fn zone(rng: &mut SmallRng) -> u32 {
    rng.random_range(12..ZONES as u32)
}

#[test]
fn zones_that_turn_read_only_cost_no_page() {
    for seed in 0..20 {
        for cleaning in [Cleaning::Inline, Cleaning::Background] {
            let state = ZoneState::ReadOnly;
            wear(seed, cleaning, |rng| Fault::Wear { zone: zone(rng), state });
        }
    }
}

#[test]
fn of_zones_that_go_offline_the_pages_are_named_when_they_are_read() {
    let lost: usize = (0..20)
        .map(|seed| {
            let state = ZoneState::Offline;
            wear(seed, Cleaning::Inline, |rng| Fault::Wear { zone: zone(rng), state })
        })
        .sum();
    assert!(lost > 0, "no page lay in a zone that went offline");
}

/// The zone of a device that has a chunk of pages, and takes more.
fn open_zone(device: &Faulty) -> u32 {
    let is_chunk = |zone: &u32| {
        let mut page = vec![0; PAGE];
        let info = device.zone(*zone).unwrap();
        info.write_pointer > 0 && {
            device.read(*zone, 0, &mut page).unwrap();
            page[8..12] == 5u32.to_le_bytes()
        }
    };
    (0..ZONES as u32).find(is_chunk).unwrap()
}

#[test]
fn a_zone_that_turns_read_only_in_the_middle_of_a_checkpoint_costs_no_page() {
    let device = device(1);
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device.clone(), open).unwrap();
    store.write(1, &content(1, 1)).unwrap();
    store.sync().unwrap();
    store.write(2, &content(2, 2)).unwrap();
    // The first that the checkpoint does is to append page 2.
    let fault = Fault::Wear { zone: open_zone(&device), state: ZoneState::ReadOnly };
    device.schedule(device.operations() + 1, fault);
    store.checkpoint().unwrap();
    let failures = store.stats().unwrap().failures;
    assert_eq!(failures, Failures { appends: 1, ..Failures::default() });
    store.close().unwrap();
    let store = Store::open(device, open).unwrap();
    check(&store, &[None, Some(1), Some(2)], false);
}
