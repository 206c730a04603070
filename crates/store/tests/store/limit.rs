//! Stores at the limit of their room: whatever is written there, nothing wedges, and a write that
//! does not fit is refused before it changes anything.

use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Format, Open, PageWrite, RoomFor, Store, StoreError,
};
use frostline_zone::{Device, Faulty, Shape, Tail, in_memory};
use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

const PAGE: usize = 4096;
const ZONE: u64 = 40 * PAGE as u64;

/// What a page is filled with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fill {
    /// Nothing that compresses.
    Random,
    /// A third of it does not compress.
    Regular,
    /// It is half empty, and the rest does not compress.
    Half,
}

/// The contents that a store is to have, and the words that its pages' writer knows to have
/// changed.
struct Contents {
    rng: SmallRng,
    pages: Vec<Option<(Vec<u8>, ChangedWords)>>,
}

impl Contents {
    fn new(store: &Store, seed: u64) -> Contents {
        let pages = (0..store.pages()).map(|_| None).collect();
        Contents { rng: SmallRng::seed_from_u64(seed), pages }
    }

    fn draw(&mut self, fill: Fill) -> Vec<u8> {
        let mut page = vec![7; PAGE];
        let random = match fill {
            Fill::Random => 0..PAGE,
            Fill::Regular => 0..PAGE / 3,
            Fill::Half => {
                page.fill(0);
                0..PAGE / 2
            }
        };
        self.rng.fill_bytes(&mut page[random]);
        page
    }

    /// Writes a page whole. False if the store refuses it as it is full.
    fn write(&mut self, store: &Store, lba: u32, fill: Fill) -> bool {
        let page = self.draw(fill);
        let written = fits(store.write(lba, &page));
        if written {
            self.pages[lba as usize] = Some((page, ChangedWords::NONE));
        }
        written
    }

    /// Changes words of a page that is there. False if there is none, or the store refuses it as it
    /// is full.
    fn change(&mut self, store: &Store, lba: u32) -> bool {
        let Some((page, changed)) = &self.pages[lba as usize] else { return false };
        let (mut page, mut changed) = (page.clone(), *changed);
        let begin = self.rng.random_range(0..500);
        let words = begin..(begin + self.rng.random_range(1..60)).min(512);
        self.rng.fill_bytes(&mut page[8 * words.start..8 * words.end]);
        changed.add(words);
        let write = PageWrite { lba, page: &page, hotness: None, changed: Some(&changed) };
        if !fits(store.write_batch(&[write])) {
            return false;
        }
        changed.note_written();
        self.pages[lba as usize] = Some((page, changed));
        true
    }

    fn trim(&mut self, store: &Store, lba: u32) {
        assert_eq!(store.trim(lba).unwrap(), self.pages[lba as usize].is_some());
        self.pages[lba as usize] = None;
    }

    fn any(&mut self) -> u32 {
        self.rng.random_range(0..self.pages.len() as u32)
    }

    fn check(&self, store: &mut Store) {
        let mut page = vec![0; PAGE];
        for (lba, content) in (0..).zip(&self.pages) {
            let found = store.read(lba, &mut page).unwrap();
            assert_eq!(found, content.is_some(), "LBA {lba}");
            assert!(content.as_ref().is_none_or(|(content, _)| page == *content), "LBA {lba}");
        }
        assert_eq!(store.check().unwrap().findings, []);
    }
}

/// False if a full store refused it.
fn fits(written: Result<(), StoreError>) -> bool {
    match written {
        Err(error) if error.is_full() => false,
        written => written.map(|()| true).unwrap(),
    }
}

fn shape() -> Shape {
    Shape::of_zones(64, ZONE)
}

fn format(scheme: &str, thin: bool) -> Format {
    Format { scheme: scheme.to_string(), thin, ..Format::default() }
}

/// The most pages that formatting takes.
fn most_pages(format: &Format) -> u64 {
    let fits = |pages: &u64| {
        let format = Format { logical_pages: Some(*pages), ..format.clone() };
        Store::format(in_memory(&shape()).unwrap(), &format).is_ok()
    };
    (1..64 * 40).rev().find(fits).unwrap()
}

fn open(device: &Arc<dyn Device>, cleaning: Cleaning) -> Store {
    Store::open(device.clone(), Open { cleaning, ..Open::default() }).unwrap()
}

/// Every page that the store admitted is written in every way, and then whole.
fn every_page_is_written_whole(format: &Format, cleaning: Cleaning, seed: u64) {
    let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
    Store::format(device.clone(), format).unwrap();
    let mut store = open(&device, cleaning);
    let mut contents = Contents::new(&store, seed);
    let pages = store.pages() as u32;
    let what = format!("{} {cleaning:?}", format.scheme);
    for fill in [Fill::Regular, Fill::Random] {
        (0..pages).for_each(|lba| assert!(contents.write(&store, lba, fill), "{what}: {lba}"));
        for _ in 0..4 * pages {
            let lba = contents.any();
            assert!(contents.change(&store, lba), "{what}: LBA {lba}");
        }
        // Random ones, so that records of others lie between.
        for _ in 0..3 * pages {
            let lba = contents.any();
            assert!(contents.write(&store, lba, Fill::Random), "{what}: LBA {lba}");
            match contents.rng.random_range(0..10) {
                0 => {
                    let lba = contents.any();
                    contents.trim(&store, lba);
                }
                1..4 => {
                    let lba = contents.any();
                    contents.change(&store, lba);
                }
                _ => {}
            }
        }
        contents.check(&mut store);
    }
    store.close().unwrap();
}

#[test]
fn every_page_can_be_written_whole_whatever_deltas_and_tails_are_there() {
    for (scheme, seed) in ["sepbit", "nosep", "frostline", "dac"].iter().zip(1..) {
        every_page_is_written_whole(&format(scheme, false), Cleaning::Inline, seed);
    }
    every_page_is_written_whole(&format("frostline", false), Cleaning::Background, 9);
}

#[test]
fn every_page_of_as_many_as_formatting_takes_can_be_written_whole() {
    for (scheme, seed) in ["sepbit", "nosep", "frostline", "mida:classes=4"].iter().zip(1..) {
        let format = format(scheme, false);
        let logical_pages = Some(most_pages(&format));
        let format = Format { logical_pages, ..format };
        every_page_is_written_whole(&format, Cleaning::Inline, seed);
    }
}

#[test]
fn every_page_can_be_written_whole_if_each_write_is_synced() {
    for (scheme, seed) in ["sepbit", "frostline"].iter().zip(1..) {
        let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
        Store::format(device.clone(), &format(scheme, false)).unwrap();
        let mut store = open(&device, Cleaning::Inline);
        let mut contents = Contents::new(&store, seed);
        let pages = store.pages() as u32;
        for fill in [Fill::Regular, Fill::Random] {
            for lba in 0..pages {
                assert!(contents.write(&store, lba, fill), "{scheme}: LBA {lba}, {fill:?}");
                store.sync().unwrap();
            }
            for _ in 0..pages {
                let lba = contents.any();
                assert!(contents.change(&store, lba), "{scheme}: LBA {lba}");
                store.sync().unwrap();
            }
        }
        contents.check(&mut store);
    }
}

/// Fills a thin store until it refuses pages, and returns how many it took.
fn fill(store: &Store, contents: &mut Contents, fill: Fill) -> u32 {
    let pages = store.pages() as u32;
    (0..pages).find(|&lba| !contents.write(store, lba, fill)).unwrap_or(pages)
}

#[test]
fn a_thin_store_holds_twice_as_many_pages_that_are_half_empty_or_compress() {
    let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
    Store::format(device.clone(), &format("sepbit", false)).unwrap();
    let whole = open(&device, Cleaning::Inline).pages() as u32;
    for (kind, least) in
        [(Fill::Random, whole), (Fill::Half, whole * 19 / 10), (Fill::Regular, whole * 2)]
    {
        let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
        let thin = Format { logical_pages: Some(u64::from(3 * whole)), ..format("sepbit", true) };
        Store::format(device.clone(), &thin).unwrap();
        let mut store = open(&device, Cleaning::Inline);
        let mut contents = Contents::new(&store, 5);
        let held = fill(&store, &mut contents, kind);
        assert!(held >= least, "{held} pages, {kind:?}, where {whole} fit whole");
        contents.check(&mut store);
    }
}

#[test]
fn a_thin_store_refuses_what_does_not_fit_and_goes_on() {
    for (cleaning, scheme) in [
        (Cleaning::Inline, "sepbit"),
        (Cleaning::Inline, "frostline"),
        (Cleaning::Background, "sepbit"),
    ] {
        let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
        Store::format(device.clone(), &format(scheme, true)).unwrap();
        let mut store = open(&device, cleaning);
        let mut contents = Contents::new(&store, 3);
        fill(&store, &mut contents, Fill::Regular);
        let (mut refused, mut written) = (0, 0);
        for _ in 0..8 * store.pages() {
            let lba = contents.any();
            let done = match contents.rng.random_range(0..20) {
                0..8 => contents.write(&store, lba, Fill::Random),
                8..10 => contents.write(&store, lba, Fill::Regular),
                10..19 => contents.change(&store, lba) || contents.pages[lba as usize].is_none(),
                _ => {
                    contents.trim(&store, lba);
                    true
                }
            };
            *(if done { &mut written } else { &mut refused }) += 1;
        }
        assert!(refused > 100 && written > refused, "{scheme}: {refused} refused, {written} not");
        contents.check(&mut store);
        let space = store.stats().unwrap().space;
        assert_eq!(space.used + space.reclaimable + space.free, space.total, "{space:?}");
        store.close().unwrap();
        // It is opened again with the same room, and takes pages once others are trimmed.
        let mut store = open(&device, cleaning);
        let again = store.stats().unwrap().space;
        assert_eq!(again.used, space.used);
        let refused =
            (0..store.pages() as u32).find(|&lba| !contents.write(&store, lba, Fill::Random));
        let lba = refused.expect("it is full");
        (200..800).for_each(|lba| contents.trim(&store, lba));
        assert!(contents.write(&store, lba, Fill::Random));
        contents.check(&mut store);
    }
}

#[test]
fn what_an_engine_was_promised_is_there_after_all_others_have_written() {
    let device = in_memory(&shape()).unwrap() as Arc<dyn Device>;
    Store::format(device.clone(), &format("sepbit", true)).unwrap();
    let store = open(&device, Cleaning::Inline);
    let mut contents = Contents::new(&store, 3);
    let room = store.stats().unwrap().space.whole_pages;
    assert_eq!(store.promise(1, room + 1, room + 1, RoomFor::Any).unwrap(), None);
    assert_eq!(store.promise(1, 10, 50, RoomFor::Any).unwrap(), Some(50));
    let some = store.promise(2, 1, u64::MAX, RoomFor::Any).unwrap().unwrap();
    assert_eq!(some, 1 + (room - 50 - 1) / 8, "most is left to others");
    let left = room - 50;
    assert_eq!(store.promise(2, left, u64::MAX, RoomFor::Any).unwrap(), Some(left));
    assert_eq!(store.promise(1, 51, 51, RoomFor::Any).unwrap(), None);
    for room in [RoomFor::NoLonger, RoomFor::Last] {
        assert!(store.promise(1, 51, 51, room).unwrap().is_some(), "a part is kept for {room:?}");
    }
    assert_eq!(store.promise(1, 50, 50, RoomFor::Any).unwrap(), Some(50));
    (0..left as u32).for_each(|lba| assert!(contents.write(&store, lba, Fill::Random)));
    assert!(store.promise(2, 1, 1, RoomFor::Any).unwrap().is_none());
    (0..51).for_each(|lba| assert!(contents.write(&store, left as u32 + lba, Fill::Random)));
}

#[test]
fn a_full_store_is_found_as_it_was_after_crashes() {
    for thin in [false, true] {
        for seed in 0..6u64 {
            let schemes = ["sepbit", "nosep", "frostline"];
            let memory = in_memory(&shape()).unwrap();
            let format =
                Format { checkpoint_writes: Some(300), ..format(schemes[seed as usize % 3], thin) };
            Store::format(memory.clone(), &format).unwrap();
            let mut device = Arc::new(Faulty::new(memory, seed).with_tail(Tail::Torn));
            let first: Arc<dyn Device> = device.clone();
            let store = open(&first, Cleaning::Inline);
            let mut contents = Contents::new(&store, seed);
            fill(&store, &mut contents, if thin { Fill::Regular } else { Fill::Random });
            store.sync().unwrap();
            drop(store);
            for _ in 0..4 {
                let synced: Arc<dyn Device> = device.clone();
                let store = open(&synced, Cleaning::Inline);
                for _ in 0..600 {
                    let lba = contents.any();
                    match contents.rng.random_range(0..10) {
                        0..3 => _ = contents.write(&store, lba, Fill::Random),
                        3..9 => _ = contents.change(&store, lba),
                        _ => contents.trim(&store, lba),
                    }
                }
                store.sync().unwrap();
                let before = store.stats().unwrap().space;
                drop(store);
                device = Arc::new(device.restart().unwrap());
                let again: Arc<dyn Device> = device.clone();
                let mut store = open(&again, Cleaning::Inline);
                assert_eq!(store.stats().unwrap().space.used, before.used);
                contents.check(&mut store);
                drop(store);
                assert_eq!(
                    frostline_judge::pages(&*again).unwrap().len(),
                    contents.pages.iter().flatten().count()
                );
            }
        }
    }
}

#[test]
fn a_store_in_units_has_as_many_pages_as_one_of_whole_pages_but_for_its_metadata() {
    for (mib, zone_mib) in [(150, 1), (1 << 10, 8), (64 << 10, 512)] {
        let shape =
            Shape { bytes: mib << 20, zone_bytes: Some(zone_mib << 20), ..Shape::default() };
        let made = |unit: u32, thin: bool| {
            let device = in_memory(&shape).unwrap() as Arc<dyn Device>;
            let scheme = "sepbit".to_string();
            Store::format(device.clone(), &Format { scheme, unit, thin, ..Format::default() })
                .unwrap();
            let info = open(&device, Cleaning::Inline).info().unwrap();
            println!(
                "{mib} MiB, unit {unit}, thin {thin}: {} pages, {} whole, {} zones of metadata",
                info.logical_pages, info.whole_pages, info.meta_zones
            );
            info.whole_pages as f64
        };
        let whole = made(4096, false);
        assert!(made(64, false) >= whole * 0.95);
        assert!(made(64, true) >= whole * 0.9);
    }
}
