//! Many threads write, read, trim and sync while the store cleans: everyone sees their own pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use frostline_store::{Cleaning, Format, Open, PageWrite, Store};
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;
const THREADS: u32 = 8;
const PAGES: u32 = 4096;
const ROUNDS: u32 = 2500;

/// A content that says which page and version it is, all over.
fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

/// Checks that a page is one version of an LBA, whole.
fn version(lba: u32, page: &[u8]) -> u32 {
    let version = u32::from_le_bytes(page[..4].try_into().unwrap());
    assert!(page == content(lba, version), "LBA {lba} is a mixture");
    version
}

/// The life of a thread, which alone writes the LBAs that are `own` modulo the threads; returns
/// their versions.
fn live(store: &Store, own: u32) -> Vec<(u32, Option<u32>)> {
    let mut rng = SmallRng::seed_from_u64(own.into());
    let mut pages: Vec<_> = (own..PAGES).step_by(THREADS as usize).map(|lba| (lba, None)).collect();
    let mut page = vec![0; PAGE];
    for round in 1..=ROUNDS {
        let most = if rng.random_bool(0.7) { pages.len() / 5 } else { pages.len() };
        let at = rng.random_range(0..most);
        let (lba, known) = pages[at];
        match rng.random_range(0..100) {
            0..60 => {
                store.write(lba, &content(lba, round)).unwrap();
                pages[at].1 = Some(round);
            }
            60..70 => {
                let some = &mut pages[at..(at + 10).min(PAGES as usize / THREADS as usize)];
                let contents: Vec<_> = some.iter().map(|(lba, _)| content(*lba, round)).collect();
                let batch: Vec<_> = (some.iter().zip(&contents))
                    .map(|((lba, _), page)| PageWrite {
                        lba: *lba,
                        page,
                        hotness: None,
                        changed: None,
                    })
                    .collect();
                store.write_batch(&batch).unwrap();
                some.iter_mut().for_each(|(_, known)| *known = Some(round));
            }
            70..75 => {
                assert_eq!(store.trim(lba).unwrap(), known.is_some(), "LBA {lba}");
                pages[at].1 = None;
            }
            75..76 => store.sync().unwrap(),
            76..90 => {
                let found = store.read(lba, &mut page).unwrap().then(|| version(lba, &page));
                assert_eq!(found, known, "LBA {lba}");
            }
            _ => {
                let other = rng.random_range(0..PAGES);
                if store.read(other, &mut page).unwrap() {
                    version(other, &page);
                }
            }
        }
    }
    pages
}

fn check(store: &Store, pages: &[(u32, Option<u32>)]) {
    let mut page = vec![0; PAGE];
    for &(lba, known) in pages {
        let found = store.read(lba, &mut page).unwrap().then(|| version(lba, &page));
        assert_eq!(found, known, "LBA {lba}");
    }
}

fn stress(open: Open) {
    let zone_bytes = 64 * PAGE as u64;
    let shape = Shape::of_zones(120, zone_bytes);
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    let format = Format {
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(5000),
        unit: 4096,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device.clone(), open).unwrap();
    let done = AtomicBool::new(false);
    let pages: Vec<_> = std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                store.checkpoint().unwrap();
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let store = &store;
        let threads: Vec<_> =
            (0..THREADS).map(|own| scope.spawn(move || live(store, own))).collect();
        let pages = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        done.store(true, Ordering::Relaxed);
        checkpoints.join().unwrap();
        pages
    });
    let counts = store.stats().unwrap().counts;
    assert!(counts.zones_reclaimed > 50, "{} zones reclaimed", counts.zones_reclaimed);
    check(&store, &pages);
    store.sync().unwrap();
    drop(store);
    let store = Store::open(device.clone(), open).unwrap();
    check(&store, &pages);
    store.close().unwrap();
    check(&Store::open(device, open).unwrap(), &pages);
}

#[test]
fn eight_threads_see_their_own_pages_while_another_cleans() {
    stress(Open::default());
}

#[test]
fn eight_threads_see_their_own_pages_while_one_of_them_cleans() {
    stress(Open { cleaning: Cleaning::Inline, ..Open::default() });
}

#[test]
fn eight_threads_see_their_own_pages_through_a_map_of_which_a_leaf_is_in_memory() {
    stress(Open { map_bytes: 1, ..Open::default() });
}
