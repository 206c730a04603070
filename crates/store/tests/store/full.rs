//! A device that is full: overwriting and trimming go on for ever, and nothing wedges.

use frostline_log::LogError;
use frostline_store::{Cleaning, Format, Open, Store, StoreError};
use frostline_zone::{Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

/// A store with as many pages as the device can hold at all, every one of them written.
fn full(cleaning: Cleaning, scheme: &str) -> Store {
    let zone_bytes = 40 * PAGE as u64;
    let shape = Shape::of_zones(64, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let mut format = Format { scheme: scheme.to_string(), unit: 4096, ..Format::default() };
    format.logical_pages = Some(most_pages(&format, &shape));
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device, Open { cleaning, ..Open::default() }).unwrap();
    for lba in 0..store.pages() as u32 {
        store.write(lba, &content(lba, 0)).unwrap();
    }
    store
}

/// The most logical pages that formatting takes.
fn most_pages(format: &Format, shape: &Shape) -> u64 {
    let fits = |pages: &u64| {
        let format = Format { logical_pages: Some(*pages), ..format.clone() };
        Store::format(in_memory(shape).unwrap(), &format).is_ok()
    };
    (1..64 * 40).rev().find(fits).unwrap()
}

fn overwrite(store: &Store, versions: &mut [Option<u32>], writes: u32) {
    let mut rng = SmallRng::seed_from_u64(7);
    for version in 1..=writes {
        let lba = rng.random_range(0..versions.len() as u32);
        if rng.random_bool(0.1) {
            store.trim(lba).unwrap();
            versions[lba as usize] = None;
        } else {
            store.write(lba, &content(lba, version)).unwrap();
            versions[lba as usize] = Some(version);
        }
    }
}

fn check(store: &Store, versions: &[Option<u32>]) {
    let mut page = vec![0; PAGE];
    for (lba, version) in (0..).zip(versions) {
        let found = store.read(lba, &mut page).unwrap();
        assert_eq!(found, version.is_some(), "LBA {lba}");
        assert!(version.is_none_or(|v| page == content(lba, v)), "LBA {lba}");
    }
}

fn a_full_store_goes_on(cleaning: Cleaning, scheme: &str) {
    let store = full(cleaning, scheme);
    let mut versions = vec![Some(0); store.pages() as usize];
    overwrite(&store, &mut versions, 10_000);
    check(&store, &versions);

    let beyond = store.pages() as u32;
    let refused = store.write(beyond, &content(beyond, 0));
    assert!(matches!(refused, Err(StoreError::Log(LogError::BadLba { .. }))), "{refused:?}");

    (0..beyond)
        .for_each(|lba| assert_eq!(store.trim(lba).unwrap(), versions[lba as usize].is_some()));
    assert_eq!(store.stats().unwrap().valid_pages, 0);
    for round in 1..4 {
        for lba in 0..beyond {
            store.write(lba, &content(lba, round)).unwrap();
            versions[lba as usize] = Some(round);
        }
    }
    check(&store, &versions);
    assert_eq!(store.stats().unwrap().valid_pages, u64::from(beyond));
    store.close().unwrap();
}

#[test]
fn a_full_store_is_overwritten_trimmed_and_filled_again_inline() {
    for scheme in ["sepbit", "nosep", "dac", "mida", "frostline"] {
        a_full_store_goes_on(Cleaning::Inline, scheme);
    }
}

#[test]
fn a_full_store_is_overwritten_trimmed_and_filled_again_while_a_thread_cleans() {
    for scheme in ["sepbit", "nosep", "dac", "mida", "frostline"] {
        a_full_store_goes_on(Cleaning::Background, scheme);
    }
}
