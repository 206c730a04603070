//! Stores as earlier builds wrote them: they can be opened as long as the format's version is the
//! same.
//!
//! A fixture is what each zone of a device holds, its length (4 bytes) first, compressed. Some
//! pages have deltas, and some of these tails. They are made anew, for a new version of the format
//! only, by `cargo test -p frostline-store --test store fixtures:: -- --ignored`.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, RecordKind, Store, StoreError,
};
use frostline_zone::{Device, Shape, in_memory};

/// The directory of the fixtures, by the format's version.
const DIRECTORY: &str = "v1";

const PAGE: usize = 4096;
const ZONES: u64 = 24;
const PAGES: u32 = 60;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// The page whose image is damaged in the twin.
const DAMAGED: u32 = 17;

/// The pages with tails: the words that their deltas have, and those that their tails have.
const TAILED: [u32; 3] = [31, 41, 51];
const OF_DELTA: Range<usize> = 8..56;
const OF_TAIL: Range<usize> = 50..58;

/// Of these the delta is damaged in one twin, and the tail in another.
const DAMAGED_CHANGES: [(&str, u32, &[u8; 8]); 2] =
    [("damaged-delta.zst", 31, b"delta031"), ("damaged-tail.zst", 51, b"tail 051")];

/// Words of a page that are not zero.
fn words(lba: u32) -> usize {
    1 + lba as usize * 97 % (PAGE / 8)
}

/// The first content of a page: so many words, then zeroes. Every seventh page was trimmed.
fn first(lba: u32) -> Option<Vec<u8>> {
    let word = format!("page {lba:03}").into_bytes();
    (!lba.is_multiple_of(7)).then(|| {
        let mut page = word.repeat(words(lba));
        page.resize(PAGE, 0);
        page
    })
}

/// The word that was changed in some pages.
fn changed(lba: u32) -> Option<usize> {
    (lba % 5 == 1 && words(lba) > 8).then_some(words(lba) / 2)
}

/// The contents of a page after the first, each with the words in which it differs from the one
/// before.
fn changes(lba: u32) -> Vec<(Range<usize>, Vec<u8>)> {
    let Some(mut page) = first(lba) else { return vec![] };
    let mut changes = Vec::new();
    let mut change = |words: Range<usize>, word: String| {
        page[8 * words.start..8 * words.end]
            .copy_from_slice(&word.repeat(words.len()).into_bytes());
        changes.push((words, page.clone()));
    };
    if TAILED.contains(&lba) {
        change(OF_DELTA, format!("delta{lba:03}"));
        change(OF_TAIL, format!("tail {lba:03}"));
    } else if let Some(word) = changed(lba) {
        change(word..word + 1, "changed!".to_string());
    }
    changes
}

/// The content of a page.
fn content(lba: u32) -> Option<Vec<u8>> {
    changes(lba).pop().map(|(_, page)| page).or_else(|| first(lba))
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures")).join(DIRECTORY).join(name)
}

fn empty() -> Arc<dyn Device> {
    let zone_bytes = 40 * PAGE as u64;
    let shape = Shape::of_zones(ZONES, zone_bytes);
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
fn a_store_of_an_earlier_build_is_opened_read_and_written() {
    let device = device_of(&zones_of("sound.zst"));
    let judged = frostline_judge::pages(&*device).unwrap();
    let mut store = Store::open(device, OPEN).unwrap();
    assert_eq!(store.unit(), 64);
    assert_eq!(sound_pages(&store), [true; PAGES as usize]);
    for lba in 0..PAGES {
        let sum = content(lba).map(|page| crc32c::crc32c(&page));
        assert_eq!(judged.get(&lba).copied(), sum, "LBA {lba}, judged");
    }
    assert_eq!(store.check().unwrap().findings, []);
    store.write(0, &[1; PAGE]).unwrap();
    store.close().unwrap();
}

#[test]
fn of_a_damaged_store_all_but_the_damaged_page_is_read() {
    assert_is_damaged("damaged.zst", DAMAGED);
}

#[test]
fn of_a_store_with_a_damaged_delta_or_tail_all_but_its_page_is_read() {
    for (name, lba, _) in DAMAGED_CHANGES {
        assert_is_damaged(name, lba);
    }
}

fn assert_is_damaged(name: &str, damaged: u32) {
    let device = device_of(&zones_of(name));
    let judged = frostline_judge::pages(&*device).unwrap_err().to_string();
    assert!(judged.starts_with(&format!("LBA {damaged}, ")), "{name}, judged: {judged}");
    let store = Store::open(device, OPEN).unwrap();
    let sound = sound_pages(&store);
    assert!((0..).zip(&sound).all(|(lba, sound)| *sound == (lba != damaged)), "{name}");
    let findings = store.scrub(None, &mut |_| {}).unwrap().findings;
    assert!(
        findings.iter().all(|finding| finding.lba == Some(damaged)) && findings.len() == 1,
        "{findings:?}"
    );
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

/// A store writes the same bytes in every build, but for its number.
#[test]
fn a_store_is_written_byte_for_byte_as_by_other_builds() {
    let device = empty();
    let (scheme, logical_pages) = ("sepbit".to_string(), Some(300));
    Store::format(device.clone(), &Format { scheme, logical_pages, ..Format::default() }).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    for step in 0..4_000u32 {
        let lba = step.wrapping_mul(2_654_435_761) >> 16 & 0xff;
        match step % 23 {
            0 => drop(store.trim(lba).unwrap()),
            _ => store.write(lba, &step.to_le_bytes().repeat(PAGE / 4)).unwrap(),
        }
        if step % 301 == 300 {
            store.sync().unwrap();
        }
    }
    store.close().unwrap();
    let mut sum = 0;
    for mut zone in zones_on(&*device) {
        for page in zone.chunks_exact_mut(PAGE).filter(|page| page[..4] == *b"FRST") {
            page[4..8].fill(0);
            page[16..24].fill(0);
        }
        sum = crc32c::crc32c_append(sum, &zone);
    }
    assert_eq!(sum, 2_468_237_579);
}

fn zones_on(device: &dyn Device) -> Vec<Vec<u8>> {
    let read = |zone: u32| {
        let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        bytes
    };
    (0..ZONES as u32).map(read).collect()
}

fn write(name: &str, zones: &[Vec<u8>]) {
    let parts =
        zones.iter().flat_map(|zone| [(zone.len() as u32).to_le_bytes().to_vec(), zone.clone()]);
    let bytes: Vec<u8> = parts.flatten().collect();
    let path = path(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, zstd::encode_all(&*bytes, 19).unwrap()).unwrap();
}

#[test]
#[ignore = "makes the fixtures anew"]
fn make() {
    let device = empty();
    let format = Format { logical_pages: Some(200), hotness: true, unit: 64, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    // Compressed, these pages would be shorter than any delta.
    let store =
        Store::open(device.clone(), Open { compression: Compression::None, ..OPEN }).unwrap();
    for lba in 0..PAGES {
        store.write(lba, &[9; PAGE]).unwrap();
    }
    store.checkpoint().unwrap();
    for lba in 0..PAGES {
        match first(lba) {
            Some(page) => store.write(lba, &page).unwrap(),
            None => assert!(store.trim(lba).unwrap()),
        }
    }
    for lba in 0..PAGES {
        let mut changed = ChangedWords::NONE;
        for (words, page) in changes(lba) {
            changed.add(words);
            let write = PageWrite { lba, page: &page, hotness: None, changed: Some(&changed) };
            store.write_batch(&[write]).unwrap();
            assert_eq!(
                changed.kind() == RecordKind::Tail,
                page[8 * OF_TAIL.start..].starts_with(b"tail")
            );
            changed.note_written();
        }
    }
    assert!(store.stats().unwrap().deltas.written > 5);
    // Recovery has something to do.
    store.sync().unwrap();
    drop(store);
    write("sound.zst", &zones_on(&*device));
    // As the last chunk's damage can't be told from a torn append, the store is closed first.
    Store::open(device.clone(), OPEN).unwrap().close().unwrap();
    let damaged = content(DAMAGED).unwrap();
    write("damaged.zst", &flipped(&*device, &damaged[..8 * words(DAMAGED)]));
    for (name, _, word) in DAMAGED_CHANGES {
        write(name, &flipped(&*device, word));
    }
}

/// The zones, with a bit flipped where these bytes lie.
fn flipped(device: &dyn Device, bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut zones = zones_on(device);
    let found = zones.iter_mut().find_map(|zone| {
        let at = zone.windows(bytes.len()).position(|window| window == bytes)?;
        Some(&mut zone[at])
    });
    *found.unwrap() ^= 1;
    zones
}
