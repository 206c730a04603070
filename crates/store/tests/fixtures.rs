//! Stores of this version of the format, kept as they were written: they can always be opened.
//!
//! A fixture is what each zone of a device holds, its length (4 bytes) first, compressed. Both
//! are made anew, for a new version of the format only, by
//! `cargo test -p frostline-store --test fixtures -- --ignored`.

use std::path::PathBuf;
use std::sync::Arc;

use frostline_store::{Cleaning, Format, Open, Store, StoreError};
use frostline_zone::{Device, Shape, in_memory};

const PAGE: usize = 4096;
const ZONES: u64 = 24;
const PAGES: u32 = 60;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// The page that is damaged in the twin.
const DAMAGED: u32 = 17;

/// Every seventh page was trimmed.
fn content(lba: u32) -> Option<Vec<u8>> {
    (!lba.is_multiple_of(7)).then(|| format!("page {lba:03}").into_bytes().repeat(PAGE / 8))
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/v1")).join(name)
}

fn empty() -> Arc<dyn Device> {
    let zone_bytes = 40 * PAGE as u64;
    let shape =
        Shape { bytes: ZONES * zone_bytes, zone_bytes: Some(zone_bytes), ..Shape::default() };
    in_memory(&shape).unwrap()
}

fn zones_of(name: &str) -> Vec<Vec<u8>> {
    let bytes = zstd::decode_all(&*std::fs::read(path(name)).unwrap()).unwrap();
    let mut rest = &bytes[..];
    let mut zones = Vec::new();
    while let Some((length, behind)) = rest.split_at_checked(4) {
        let (zone, behind) =
            behind.split_at(u32::from_le_bytes(length.try_into().unwrap()) as usize);
        zones.push(zone.to_vec());
        rest = behind;
    }
    zones
}

fn device_of(zones: &[Vec<u8>]) -> Arc<dyn Device> {
    let device = empty();
    (0..).zip(zones).for_each(|(zone, bytes)| device.append(zone, 0, bytes).unwrap());
    device
}

/// True if each page is as it was; panics if one is anything else but a named error.
fn sound_pages(store: &Store) -> Vec<bool> {
    let mut page = vec![0; PAGE];
    let mut sound = |lba| match store.read(lba, &mut page) {
        Ok(found) => {
            assert_eq!(found.then(|| page.clone()), content(lba), "LBA {lba}");
            true
        }
        Err(StoreError::Checksum { lba: named, .. }) => {
            assert_eq!(named, lba);
            false
        }
        Err(error) => panic!("LBA {lba}: {error}"),
    };
    (0..PAGES).map(&mut sound).collect()
}

#[test]
fn a_store_of_version_1_is_opened_read_and_written() {
    let store = Store::open(device_of(&zones_of("sound.zst")), OPEN).unwrap();
    assert_eq!(sound_pages(&store), [true; PAGES as usize]);
    store.write(0, &[1; PAGE]).unwrap();
    store.close().unwrap();
}

#[test]
fn of_a_damaged_store_of_version_1_all_but_the_damaged_page_is_read() {
    let store = Store::open(device_of(&zones_of("damaged.zst")), OPEN).unwrap();
    let sound = sound_pages(&store);
    assert!((0..).zip(&sound).all(|(lba, sound)| *sound == (lba != DAMAGED)));
}

/// `frostline.zst` was written when `frostline` was what is `frozen-lifespan` now, by
/// `frostline store format file:d --size 3840KiB --zone 160KiB --scheme frostline --hotness --pages 200`
/// and `frostline bench store --device file:d --workload zipf:1.0 --writes 3000 --cleaning inline --keep`.
#[test]
fn a_store_of_what_was_called_frostline_keeps_its_scheme() {
    let mut store = Store::open(device_of(&zones_of("frostline.zst")), OPEN).unwrap();
    let info = store.info().unwrap();
    assert_eq!((&*info.scheme, info.valid_pages), ("frozen-lifespan", 197));
    assert_eq!(store.check().unwrap().findings, []);
    let reclaimed = |store: &Store| store.stats().unwrap().counts.zones_reclaimed;
    let before = reclaimed(&store);
    (0..900).for_each(|i| store.write(i % PAGES, &[1; PAGE]).unwrap());
    assert!(reclaimed(&store) > before, "nothing was cleaned");
    store.close().unwrap();
}

#[test]
fn a_store_of_a_newer_version_is_refused() {
    let mut zones = zones_of("sound.zst");
    for zone in zones.iter_mut().filter(|zone| zone.len() >= PAGE && zone[8..12] == [1, 0, 0, 0]) {
        zone[12..16].copy_from_slice(&2u32.to_le_bytes());
        let crc = crc32c::crc32c(&zone[8..PAGE]);
        zone[4..8].copy_from_slice(&crc.to_le_bytes());
    }
    let refused = Store::open(device_of(&zones), OPEN).err();
    assert!(matches!(refused, Some(StoreError::Newer { found: 2, known: 1 })), "{refused:?}");
}

fn write(name: &str, zones: &[Vec<u8>]) {
    let parts =
        zones.iter().flat_map(|zone| [(zone.len() as u32).to_le_bytes().to_vec(), zone.clone()]);
    let bytes: Vec<u8> = parts.flatten().collect();
    std::fs::write(path(name), zstd::encode_all(&*bytes, 19).unwrap()).unwrap();
}

#[test]
#[ignore = "makes the fixtures anew"]
fn make() {
    let device = empty();
    let format = Format { logical_pages: Some(200), hotness: true, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    for lba in 0..PAGES {
        store.write(lba, &[9; PAGE]).unwrap();
    }
    store.checkpoint().unwrap();
    for lba in 0..PAGES {
        match content(lba) {
            Some(page) => store.write(lba, &page).unwrap(),
            None => assert!(store.trim(lba).unwrap()),
        }
    }
    // Recovery has something to do.
    store.sync().unwrap();
    drop(store);
    let read = |zone: u32| {
        let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        bytes
    };
    let mut zones: Vec<_> = (0..ZONES as u32).map(read).collect();
    write("sound.zst", &zones);
    // As the last chunk's damage can't be told from a torn append, the store is closed first.
    Store::open(device.clone(), OPEN).unwrap().close().unwrap();
    zones = (0..ZONES as u32).map(read).collect();
    let damaged = content(DAMAGED).unwrap();
    let mut pages = zones.iter_mut().flat_map(|zone| zone.chunks_exact_mut(PAGE));
    pages.find(|page| **page == damaged).unwrap()[1000] ^= 1;
    write("damaged.zst", &zones);
}
