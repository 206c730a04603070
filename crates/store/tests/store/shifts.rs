//! Pages with sorted words, of which some are inserted and removed: their deltas say where, and the
//! store applies them, cleans, and is opened again.

use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, DeltaWrite, Format, Open, PageDelta, PageWrite, Store,
};
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;
const PAGES: u32 = 300;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// The bytes of a page that count its shifts. The sorted words follow.
const NUMBER: std::ops::Range<usize> = 24..26;
const FIRST: usize = 4;
const MOST: usize = 300;

/// A page as its writer knows it.
#[derive(Clone)]
struct Page {
    bytes: Vec<u8>,
    sorted: usize,
    changed: ChangedWords,
}

impl Page {
    fn new(rng: &mut SmallRng) -> Page {
        let mut page = Page { bytes: vec![0; PAGE], sorted: MOST / 2, changed: ChangedWords::NONE };
        page.bytes.fill_with(|| rng.random());
        page.note_number();
        page
    }

    fn note_number(&mut self) {
        self.bytes[NUMBER].copy_from_slice(&self.changed.shift_number().to_le_bytes());
        self.changed.set_shift_number_at(NUMBER.start as u16);
        self.changed.add(NUMBER.start / 8..NUMBER.start / 8 + 1);
    }

    /// Inserts or removes a word, or changes some; neighbouring ones more often than not.
    fn change(&mut self, rng: &mut SmallRng) {
        let (at, end) = (FIRST + rng.random_range(0..self.sorted), FIRST + self.sorted);
        let (word, behind) = (8 * at..8 * at + 8, 8 * at..8 * end);
        let is_noted = match rng.random_range(0..10) {
            0..4 if self.sorted < MOST => {
                self.bytes.copy_within(behind, word.end);
                self.bytes[word].fill_with(|| rng.random());
                self.sorted += 1;
                self.changed.insert_word(at, end)
            }
            4..7 if self.sorted > 1 => {
                self.bytes.copy_within(word.end..behind.end, word.start);
                self.sorted -= 1;
                self.changed.remove_word(at, end)
            }
            _ => {
                let first = rng.random_range(FIRST..PAGE / 8 - 6);
                let words = first..first + rng.random_range(1..6);
                self.bytes[8 * words.start..8 * words.end].fill_with(|| rng.random());
                self.changed.add(words);
                true
            }
        };
        if !is_noted {
            self.changed.forget_base();
        }
        self.note_number();
    }

    fn write(&self, store: &Store, lba: u32, changed: Option<&ChangedWords>) {
        store.write_batch(&[PageWrite { lba, page: &self.bytes, hotness: None, changed }]).unwrap();
    }

    /// Reads the page, with changes that were kept apart if there are any, and compares it.
    fn compare(&mut self, store: &Store, lba: u32, kept: Option<&PageDelta>) {
        let mut bytes = vec![0; PAGE];
        let found = match kept {
            None => store.read_changed(lba, &mut bytes, &mut self.changed),
            Some(kept) => store.read_with(lba, kept, &mut bytes, &mut self.changed),
        };
        assert!(found.unwrap(), "LBA {lba}");
        assert!(bytes == self.bytes, "LBA {lba}");
        self.changed.set_shift_number(u16::from_le_bytes([bytes[24], bytes[25]]));
    }
}

fn device() -> Arc<dyn Device> {
    let zone_bytes = 40 * PAGE as u64;
    let shape = Shape::of_zones(30, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let format = Format {
        scheme: "nosep".to_string(),
        logical_pages: Some(PAGES.into()),
        unit: 64,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    device
}

#[test]
fn pages_with_inserted_and_removed_words_are_read_as_they_are_by_store_and_judge() {
    let device = device();
    let mut rng = SmallRng::seed_from_u64(1);
    let mut store = Store::open(device.clone(), OPEN).unwrap();
    let mut pages: Vec<_> = (0..PAGES).map(|_| Page::new(&mut rng)).collect();
    (0..PAGES).zip(&pages).for_each(|(lba, page)| page.write(&store, lba, None));
    let (mut kept, mut merged, mut written) = (0, 0, 0);
    for step in 1..=6000 {
        let lba = rng.random_range(0..PAGES).min(rng.random_range(0..PAGES));
        let page = &mut pages[lba as usize];
        (0..rng.random_range(1..4)).for_each(|_| page.change(&mut rng));
        match rng.random_range(0..10) {
            0 => {
                page.write(&store, lba, None);
                page.changed.begin_base(page.changed.shift_number());
            }
            1..4 if let Some(delta) = store.delta(&page.bytes, &page.changed) => {
                page.clone().compare(&store, lba, Some(&delta));
                // The page is changed by cleaning, perhaps, before its changes are written.
                for _ in 0..rng.random_range(0..40) {
                    let other = rng.random_range(0..PAGES);
                    if other != lba {
                        pages[other as usize].clone().write(&store, other, None);
                        pages[other as usize].compare(&store, other, None);
                    }
                }
                let page = &mut pages[lba as usize];
                let write = DeltaWrite { lba, delta: &delta, hotness: None };
                if !store.write_deltas(&[write]).unwrap().is_empty() {
                    page.compare(&store, lba, Some(&delta));
                    page.write(&store, lba, None);
                }
                page.compare(&store, lba, None);
                kept += 1;
            }
            _ => {
                page.write(&store, lba, Some(&page.changed));
                page.changed.note_written();
            }
        }
        if step % 1000 == 0 {
            store.sync().unwrap();
            let judged = frostline_judge::pages(&*device).unwrap();
            let sums = (0..PAGES).zip(&pages).map(|(lba, page)| (lba, crc32c::crc32c(&page.bytes)));
            assert!(judged == sums.collect(), "in step {step}");
            let deltas = store.stats().unwrap().deltas;
            (merged, written) = (merged + deltas.merged, written + deltas.written);
            drop(store);
            store = Store::open(device.clone(), OPEN).unwrap();
            (0..PAGES).zip(&mut pages).for_each(|(lba, page)| page.compare(&store, lba, None));
        }
    }
    assert!(kept > 500 && merged > 1000 && written > 2000, "{kept} kept, {merged}, {written}");
}
