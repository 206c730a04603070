//! Stores whose metadata is damaged or gone are rebuilt from the headers of their chunks.

use std::ops::Range;
use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, Rebuilt, RecordKind, Role, Store,
    StoreError,
};
use frostline_zone::{Device, Fault, Faulty, Shape, ZoneState, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;
const PAGES: u32 = 600;
const ZONE_PAGES: u64 = 40;
const ZONES: u64 = 44;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

fn empty(zones: u64) -> Arc<dyn Device> {
    let zone_bytes = ZONE_PAGES * PAGE as u64;
    let shape = Shape::of_zones(zones, zone_bytes);
    in_memory(&shape).unwrap()
}

fn format(hotness: bool) -> Format {
    Format {
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(400),
        unit: 4096,
        hotness,
        ..Format::default()
    }
}

/// A store after a while.
struct Sample {
    device: Arc<dyn Device>,
    /// All versions of each page; none is what a trim left. The last of each is durable.
    pages: Vec<Vec<Option<u32>>>,
    meta: Vec<u32>,
}

fn sample(hotness: bool, closed: bool) -> Sample {
    let device = empty(ZONES);
    Store::format(device.clone(), &format(hotness)).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let mut pages = vec![vec![None]; PAGES as usize];
    let mut rng = SmallRng::seed_from_u64(9);
    for version in 0..3000 {
        let lba = rng.random_range(0..PAGES);
        if rng.random_bool(0.01) {
            store.trim(lba).unwrap();
            pages[lba as usize].push(None);
        } else {
            store.write(lba, &content(lba, version)).unwrap();
            pages[lba as usize].push(Some(version));
        }
        if rng.random_bool(0.01) {
            store.sync().unwrap();
        }
    }
    assert!(store.stats().unwrap().counts.zones_reclaimed > 20);
    let meta = store.zones().unwrap().into_iter().filter(|view| view.role == Role::Meta);
    let meta = meta.map(|view| view.zone).collect();
    if closed {
        store.close().unwrap()
    } else {
        store.sync().unwrap()
    }
    Sample { device, pages, meta }
}

/// A copy of a device, but for what `change` makes of a zone's bytes.
fn copy(from: &dyn Device, zones: u64, change: impl Fn(u32, &mut Vec<u8>)) -> Arc<dyn Device> {
    let to = empty(zones);
    copy_to(from, &*to, change);
    to
}

fn copy_to(from: &dyn Device, to: &dyn Device, change: impl Fn(u32, &mut Vec<u8>)) {
    let count = from.geometry().zones;
    for (zone, info) in (0u32..).zip(from.report(0, count).unwrap()) {
        let mut bytes = vec![0; info.write_pointer as usize];
        from.read(zone, 0, &mut bytes).unwrap();
        change(zone, &mut bytes);
        to.append(zone, 0, &bytes).unwrap();
    }
}

/// The bytes of the data zones.
fn data(sample: &Sample, device: &dyn Device) -> Vec<Vec<u8>> {
    let zones = (0..ZONES as u32).filter(|zone| !sample.meta.contains(zone));
    let read = |zone| {
        let info = device.zone(zone).unwrap();
        let mut bytes = vec![0; info.write_pointer as usize];
        if info.state != ZoneState::Offline {
            device.read(zone, 0, &mut bytes).unwrap();
        }
        bytes
    };
    zones.map(read).collect()
}

/// Rebuilds a store, which is then sound, and reads it. Pages that were trimmed may be back; of
/// others, those in `unsure` may be anything that they were before.
fn rebuild(sample: &Sample, device: &Arc<dyn Device>, hotness: bool, loss: bool) -> Rebuilt {
    let before = data(sample, &**device);
    // Rebuilding finds out if headers have hotness records.
    let format = Format { hotness: !hotness, ..format(hotness) };
    let rebuilt = Store::rebuild(device.clone(), &format, loss).unwrap();
    assert!(data(sample, &**device) == before, "data zones were written");
    let mut store = Store::open(device.clone(), OPEN).unwrap();
    if !loss {
        assert_eq!(store.check().unwrap().findings, []);
    }
    assert_eq!(store.scrub(None, &mut |_| {}).unwrap().findings, []);
    let mut page = vec![0; PAGE];
    for (lba, versions) in (0..PAGES).zip(&sample.pages) {
        let found = store.read(lba, &mut page).unwrap();
        let is = |v: &Option<u32>| found.then_some(&page) == v.map(|v| content(lba, v)).as_ref();
        let last = versions.last().unwrap();
        let any = loss || last.is_none();
        assert!(is(last) || any && versions.iter().any(is), "LBA {lba} is wrong");
    }
    // It goes on working.
    for lba in 0..PAGES {
        store.write(lba, &content(lba, 1)).unwrap();
    }
    store.close().unwrap();
    Store::open(device.clone(), OPEN).unwrap().close().unwrap();
    rebuilt
}

fn smash(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(31).wrapping_add(7));
}

#[test]
fn without_any_superblock_every_page_is_what_it_was() {
    for (hotness, closed) in [(false, true), (true, true), (false, false), (true, false)] {
        let sample = sample(hotness, closed);
        let device = copy(&*sample.device, ZONES, |zone, bytes| {
            if sample.meta.contains(&zone) {
                let end = bytes.len().min(2 * PAGE);
                smash(&mut bytes[..end]);
            }
        });
        let refused = Store::open(device.clone(), OPEN).err();
        assert!(matches!(refused, Some(StoreError::NoSuperblock { .. })), "{refused:?}");
        let rebuilt = rebuild(&sample, &device, hotness, false);
        assert!(!rebuilt.superblock && rebuilt.missing.is_empty(), "{rebuilt:?}");
        assert!(rebuilt.pages >= 500 && rebuilt.zones > 10, "{rebuilt:?}");
    }
}

#[test]
fn without_any_metadata_every_page_is_what_it_was() {
    let sample = sample(false, false);
    for gone in [true, false] {
        let device = copy(&*sample.device, ZONES, |zone, bytes| {
            if sample.meta.contains(&zone) {
                if gone { bytes.clear() } else { smash(bytes) }
            }
        });
        assert_eq!(rebuild(&sample, &device, false, false).trims, 0);
    }
}

#[test]
fn a_superblock_that_is_left_tells_the_options_and_notes_that_are_left_the_trims() {
    let sample = sample(false, false);
    // Tables and leaves only.
    let device = copy(&*sample.device, ZONES, |_, bytes| {
        for page in bytes.chunks_exact_mut(PAGE) {
            if &page[..4] == b"FRST" && matches!(page[8], 3 | 4) {
                smash(page);
            }
        }
    });
    let refused = Store::open(device.clone(), OPEN).err();
    assert!(matches!(refused, Some(StoreError::Damaged { .. })), "{refused:?}");
    let wrong = Format { scheme: "nosep".to_string(), ..Format::default() };
    let rebuilt = Store::rebuild(device.clone(), &wrong, false).unwrap();
    assert!(rebuilt.superblock && rebuilt.trims > 0, "{rebuilt:?}");
    let store = Store::open(device, OPEN).unwrap();
    assert_eq!((store.info().unwrap().scheme.as_str(), store.pages()), ("survival", PAGES.into()));
}

#[test]
fn a_metadata_zone_that_is_offline_is_no_obstacle() {
    let sample = sample(false, true);
    for &zone in &sample.meta {
        let device = Faulty::new(copy(&*sample.device, ZONES, |_, _| {}), 1);
        device.schedule(1, Fault::Wear { zone, state: ZoneState::Offline });
        let _ = device.reset(zone);
        rebuild(&sample, &(Arc::new(device) as Arc<dyn Device>), false, false);
    }
}

#[test]
fn damaged_headers_are_told_and_the_rest_is_saved_if_that_is_accepted() {
    let sample = sample(false, true);
    let zone = (0..ZONES as u32)
        .find(|zone| {
            let info = sample.device.zone(*zone).unwrap();
            !sample.meta.contains(zone) && info.write_pointer == ZONE_PAGES * PAGE as u64
        })
        .unwrap();
    let device = copy(&*sample.device, ZONES, |number, bytes| {
        if sample.meta.contains(&number) {
            smash(bytes);
        } else if number == zone {
            // The first two headers.
            let is_header = |page: &&mut [u8]| &page[..4] == b"FRST";
            bytes.chunks_exact_mut(PAGE).filter(is_header).take(2).for_each(smash);
        }
    });
    let refused = Store::rebuild(device.clone(), &format(false), false).err();
    let Some(StoreError::Missing(losses)) = refused else { panic!("{refused:?}") };
    assert!(losses.iter().all(|loss| loss.zone == zone), "{losses:?}");
    assert_eq!(rebuild(&sample, &device, false, true).missing, losses);
}

#[test]
fn a_header_too_full_for_hotness_records_tells_that_there_are_none() {
    let zone_bytes = 256 * PAGE as u64;
    let shape = Shape::of_zones(32, zone_bytes);
    let device = in_memory(&shape).unwrap();
    Store::format(device.clone(), &format(false)).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let room = store.zone_pages();
    let meta: Vec<_> =
        store.zones().unwrap().into_iter().map(|view| (view.zone, view.role)).collect();
    (0..PAGES).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    store.close().unwrap();
    for (zone, _) in meta.into_iter().filter(|(_, role)| *role == Role::Meta) {
        device.reset(zone).unwrap();
    }
    Store::rebuild(device.clone(), &format(true), false).unwrap();
    // Smaller chunks, as of a store with hotness records, have more headers.
    assert_eq!(Store::open(device, OPEN).unwrap().zone_pages(), room);
}

#[test]
fn options_that_cannot_have_been_the_stores_are_refused_and_nothing_changes() {
    let sample = sample(false, true);
    let smashed = |zone: u32, bytes: &mut Vec<u8>| {
        if sample.meta.contains(&zone) {
            smash(bytes);
        }
    };
    let device = copy(&*sample.device, ZONES, smashed);
    let few = Format { logical_pages: Some(100), ..format(false) };
    let refused = Store::rebuild(device.clone(), &few, false).err();
    assert!(matches!(refused, Some(StoreError::Options { what: "pages", .. })), "{refused:?}");
    // Behind the store something else, as the log of a database.
    let longer = copy(&*sample.device, ZONES + 4, smashed);
    longer.append(ZONES as u32, 0, &[7; PAGE]).unwrap();
    let refused = Store::rebuild(longer.clone(), &format(false), false).err();
    assert!(matches!(refused, Some(StoreError::Options { what: "zones", .. })), "{refused:?}");
    assert_eq!(longer.zone(ZONES as u32).unwrap().write_pointer, PAGE as u64);
    // Or pages of another store.
    let longer = copy(&*sample.device, ZONES + 4, smashed);
    let mut page = vec![0; PAGE];
    sample.device.read(written(&*sample.device)[0], 0, &mut page).unwrap();
    page[16] ^= 1;
    page[32..36].copy_from_slice(&(ZONES as u32).to_le_bytes());
    forge(&mut page, PAGE - 1, 0, true);
    longer.append(ZONES as u32, 0, &page).unwrap();
    let refused = Store::rebuild(longer, &format(false), false).err();
    assert!(matches!(refused, Some(StoreError::Options { what: "zones", .. })), "{refused:?}");
    rebuild(&sample, &device, false, false);
    let refused = Store::rebuild(empty(ZONES), &format(false), false).err();
    assert!(matches!(refused, Some(StoreError::NotAStore)), "{refused:?}");
}

/// Damages heads of these kinds in the metadata zones, and those of chunks in some zones.
fn smash_heads(device: &dyn Device, kinds: &[u8], chunks_in: &[u32]) -> Arc<dyn Device> {
    copy(device, ZONES, |zone, bytes| {
        for page in bytes.chunks_exact_mut(PAGE).filter(|page| page[..4] == *b"FRST") {
            if kinds.contains(&page[8]) || page[8] == 5 && chunks_in.contains(&zone) {
                smash(page);
            }
        }
    })
}

const SUPERBLOCKS_AND_TABLES: [u8; 2] = [1, 4];
const TABLES: [u8; 1] = [4];

/// The data zones in which something is written.
fn written(device: &dyn Device) -> Vec<u32> {
    let infos = device.report(0, device.geometry().zones).unwrap();
    let zones =
        (0u32..).zip(infos).filter(|(_, info)| info.write_pointer > 0).map(|(zone, _)| zone);
    let mut page = vec![0; PAGE];
    zones
        .filter(|&zone| {
            device.read(zone, 0, &mut page).unwrap();
            page[8] == 5
        })
        .collect()
}

/// A store whose pages fill some zones and are synced, and behind these the first chunk of a zone
/// that no sync covered.
fn begun() -> (Arc<dyn Device>, Store, u32) {
    let device = empty(ZONES);
    Store::format(device.clone(), &Format { scheme: "nosep".into(), ..format(false) }).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let full = |store: &Store| 3 * store.zone_pages();
    (0..full(&store)).for_each(|lba| store.write(lba, &content(lba, 1)).unwrap());
    store.sync().unwrap();
    let before = written(&*device);
    let begins_a_zone = |lba| {
        store.write(lba, &content(lba, 2)).unwrap();
        written(&*device).len() > before.len()
    };
    assert!((0..PAGES).any(begins_a_zone));
    let last = written(&*device)[before.len()];
    (device, store, last)
}

#[test]
fn a_torn_first_chunk_that_no_sync_covered_is_no_loss() {
    let (device, _store, zone) = begun();
    for kinds in [&TABLES[..], &SUPERBLOCKS_AND_TABLES, &[1]] {
        let device = smash_heads(&*device, kinds, &[zone]);
        let rebuilt = Store::rebuild(device.clone(), &format(false), false).unwrap();
        assert_eq!((rebuilt.superblock, &rebuilt.torn[..]), (kinds == TABLES, &[zone][..]));
        let store = Store::open(device, OPEN).unwrap();
        let mut page = vec![0; PAGE];
        assert!(store.read(7, &mut page).unwrap() && page == content(7, 1));
    }
}

#[test]
fn a_first_chunk_that_something_later_tells_of_as_synced_is_a_loss() {
    let refused = |device: Arc<dyn Device>, kinds: &[u8], zone: u32| {
        let device = smash_heads(&*device, kinds, &[zone]);
        let refused = Store::rebuild(device.clone(), &format(false), false).err();
        let Some(StoreError::Missing(losses)) = refused else { panic!("{refused:?}") };
        assert!(losses.len() == 1 && losses[0].zone == zone, "{losses:?}");
        assert_eq!(Store::rebuild(device, &format(false), true).unwrap().missing, losses);
    };
    // A later chunk, in another zone.
    let (device, store, zone) = begun();
    store.sync().unwrap();
    let later = PAGES - store.zone_pages()..PAGES;
    later.for_each(|lba| store.write(lba, &content(lba, 3)).unwrap());
    store.sync().unwrap();
    refused(device, &SUPERBLOCKS_AND_TABLES, zone);
    // The last checkpoint.
    let (device, store, zone) = begun();
    store.checkpoint().unwrap();
    refused(device, &[1], zone);
    // The last word of a store that was closed.
    let (device, store, zone) = begun();
    store.close().unwrap();
    refused(device, &TABLES, zone);
}

#[test]
fn a_torn_header_in_a_zone_is_no_loss_unless_its_chunk_was_synced() {
    let zone_bytes = 256 * PAGE as u64;
    let shape = Shape::of_zones(32, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let (scheme, checkpoint_writes) = ("nosep".into(), Some(1 << 20));
    Store::format(device.clone(), &Format { scheme, checkpoint_writes, ..format(false) }).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let write = |lbas: Range<u32>| lbas.for_each(|lba| store.write(lba, &content(lba, 1)).unwrap());
    // Not all chunks are left that were durable.
    while store.stats().unwrap().counts.zones_reclaimed == 0 {
        write(0..1);
    }
    store.sync().unwrap();
    let begun =
        |zone: &u32| (1..100).contains(&(device.zone(*zone).unwrap().write_pointer / PAGE as u64));
    // A zone with one small chunk, and behind it two that no sync covers.
    let zone = loop {
        write(100..105);
        store.sync().unwrap();
        if let Some(zone) = written(&*device).into_iter().find(begun) {
            break zone;
        }
    };
    let page = device.zone(zone).unwrap().write_pointer as usize / PAGE;
    write(200..450);
    let without = || {
        let to = in_memory(&shape).unwrap();
        copy_to(&*device, &*to, |number, bytes| {
            for (at, bytes) in bytes.chunks_exact_mut(PAGE).enumerate() {
                let is_table = &bytes[..4] == b"FRST" && bytes[8] == 4;
                if is_table || (number, at) == (zone, page) {
                    smash(bytes);
                }
            }
        });
        to
    };
    let rebuilt = Store::rebuild(without(), &format(false), false).unwrap();
    assert_eq!(rebuilt.torn, [zone]);
    store.sync().unwrap();
    write(0..200);
    store.sync().unwrap();
    let refused = Store::rebuild(without(), &format(false), false).err();
    let Some(StoreError::Missing(losses)) = refused else { panic!("{refused:?}") };
    assert!(losses.len() == 1 && losses[0].zone == zone, "{losses:?}");
}

#[test]
fn a_zone_in_front_of_the_last_pages_is_the_stores_though_nothing_in_it_is_known() {
    let sample = sample(false, false);
    let zones = written(&*sample.device);
    let zone = zones[zones.len() / 2];
    let device = copy(&*sample.device, ZONES, |number, bytes| {
        if sample.meta.contains(&number) || number == zone {
            smash(bytes);
        }
    });
    let refused = Store::rebuild(device.clone(), &format(false), false).err();
    let Some(StoreError::Missing(losses)) = refused else { panic!("{refused:?}") };
    assert_eq!(losses.iter().map(|loss| loss.zone).collect::<Vec<_>>(), [zone]);
    assert_eq!(rebuild(&sample, &device, false, true).missing, losses);
}

/// Flips a byte of a page, and makes its checksum right again if it has one and that is wanted.
fn forge(page: &mut [u8], at: usize, mask: u8, resealed: bool) {
    page[at] ^= mask;
    if resealed && &page[..4] == b"FRST" {
        let sum = crc32c::crc32c(&page[8..]);
        page[4..8].copy_from_slice(&sum.to_le_bytes());
    }
}

#[test]
fn whatever_is_damaged_a_rebuild_gives_a_store_or_an_error() {
    let sample = sample(false, false);
    let mut rng = SmallRng::seed_from_u64(5);
    let mut rebuilt = 0;
    for round in 0..150 {
        let resealed = round % 2 == 1;
        let flips: Vec<(u32, u64, usize, u8)> = (0..rng.random_range(1..60))
            .map(|_| {
                let at = if rng.random_bool(0.8) { 72 } else { PAGE };
                let page = if rng.random_bool(0.5) { 0 } else { rng.random_range(0..ZONE_PAGES) };
                let zone = rng.random_range(0..ZONES as u32);
                (zone, page, rng.random_range(8..at), 1 << rng.random_range(0..8))
            })
            .collect();
        let device = copy(&*sample.device, ZONES, |zone, bytes| {
            for &(_, page, at, mask) in flips.iter().filter(|flip| flip.0 == zone) {
                if let Some(page) = bytes.chunks_exact_mut(PAGE).nth(page as usize) {
                    forge(page, at, mask, resealed);
                }
            }
        });
        if Store::rebuild(device.clone(), &format(false), true).is_err() {
            continue;
        }
        let Ok(store) = Store::open(device, OPEN) else { continue };
        rebuilt += 1;
        let mut page = vec![0; PAGE];
        for (lba, versions) in (0..PAGES).zip(&sample.pages) {
            if !matches!(store.read(lba, &mut page), Ok(true)) || resealed {
                continue;
            }
            let is = |v: &Option<u32>| v.is_some_and(|v| page == content(lba, v));
            assert!(versions.iter().any(is), "round {round}: LBA {lba} was never this");
        }
    }
    assert!(rebuilt > 75, "{rebuilt}");
}

#[test]
fn a_store_with_deltas_is_rebuilt_with_the_deltas_and_tails_of_its_pages() {
    for (unit, hotness) in [(64, false), (64, true), (512, true)] {
        let device = empty(ZONES);
        let format = Format { unit, ..format(hotness) };
        Store::format(device.clone(), &format).unwrap();
        let store =
            Store::open(device.clone(), Open { compression: Compression::None, ..OPEN }).unwrap();
        let mut pages = vec![(content(0, 0), ChangedWords::NONE); PAGES as usize];
        let mut rng = SmallRng::seed_from_u64(5);
        let mut tails = 0;
        for version in 0..12_000u32 {
            let lba = if version < PAGES { version } else { rng.random_range(0..PAGES) };
            let (page, changed) = &mut pages[lba as usize];
            let anew = version < PAGES || rng.random_bool(0.1);
            if anew {
                *page = content(lba, version);
                page[1000..2500].fill(0);
                *changed = ChangedWords::NONE;
            } else {
                let begin = rng.random_range(0..100);
                let words = begin..begin + rng.random_range(1..20);
                let word = u64::from(version).to_le_bytes();
                page[8 * begin..8 * words.end].copy_from_slice(&word.repeat(words.len()));
                changed.add(words);
            }
            let written = (!anew).then_some(&*changed);
            store.write_batch(&[PageWrite { lba, page, hotness: None, changed: written }]).unwrap();
            tails += u32::from(changed.kind() == RecordKind::Tail);
            changed.note_written();
        }
        store.sync().unwrap();
        let deltas = store.stats().unwrap().deltas;
        assert!(deltas.written > 5_000 && deltas.merged > 500, "{deltas:?}");
        assert!(tails > 2_000, "{tails}");
        let zones = store.zones().unwrap();
        let meta = |zone: u32| zones[zone as usize].role == Role::Meta;
        drop(store);
        let bare = copy(&*device, ZONES, |zone, bytes| {
            if meta(zone) {
                bytes.clear()
            }
        });
        let few = Format { unit: 4096, logical_pages: Some(100), ..format.clone() };
        let refused = Store::rebuild(bare.clone(), &few, false).err();
        assert!(matches!(refused, Some(StoreError::Options { what: "pages", .. })), "{refused:?}");
        Store::rebuild(bare.clone(), &Format { unit: 4096, ..format }, false).unwrap();
        let mut store = Store::open(bare, OPEN).unwrap();
        assert_eq!(store.unit(), unit);
        let mut page = vec![0; PAGE];
        for (lba, (content, _)) in (0..).zip(&pages) {
            assert!(store.read(lba, &mut page).unwrap() && page == *content, "LBA {lba}");
        }
        assert_eq!(store.check().unwrap().findings, []);
    }
}
