//! A store that is told how much space it may take over its data takes that.

use std::sync::Arc;

use frostline_random::{SplitMix, Zipf};
use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, Store, StoreError,
};
use frostline_zone::{Device, Shape, in_memory};

const PAGE: usize = 4096;
const PAGES: u32 = 2500;
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

fn device() -> Arc<dyn Device> {
    let zone_bytes = 20 * PAGE as u64;
    let shape = Shape::of_zones(500, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let format = Format { logical_pages: Some(PAGES.into()), ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    device
}

fn open(device: &Arc<dyn Device>, space: f64) -> Store {
    Store::open(device.clone(), Open { space: Some(space), ..OPEN }).unwrap()
}

/// A page of half as many bytes as it may have.
fn content(lba: u32, version: u32) -> Vec<u8> {
    let mut page = (u64::from(lba + 1) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8);
    page[1000..3000].fill(0);
    page
}

/// Who writes what: the number of a write gives the page.
type Load = fn(&mut SplitMix, &Zipf, u32) -> u32;

const LOADS: [(&str, Load); 3] = [
    ("uniform", |random, _, _| random.below(PAGES)),
    ("skewed", |random, zipf, _| zipf.sample(|| random.unit()) as u32 % PAGES),
    ("queue", |_, _, n| n % PAGES),
];

/// Writes pages whole, every other time only with some words that changed.
fn write(store: &Store, load: Load, writes: u32) -> Result<(), StoreError> {
    let (mut random, zipf) = (SplitMix::new(7), Zipf::new(PAGES.into(), 0.99));
    let mut changes = vec![None; PAGES as usize];
    for n in 0..writes {
        let lba = load(&mut random, &zipf, n);
        let mut page = content(lba, 0);
        let changed = changes[lba as usize].get_or_insert(ChangedWords::NONE);
        let word = random.below(100) as usize;
        page[8 * word..8 * word + 8].copy_from_slice(&u64::from(n).to_le_bytes());
        let is_whole = n % 2 == 0;
        changed.add(word..word + 1);
        let changed = if is_whole { None } else { Some(&*changed) };
        store.write_batch(&[PageWrite { lba, page: &page, hotness: None, changed }])?;
    }
    Ok(())
}

#[test]
fn a_store_takes_as_much_space_over_its_data_as_it_was_told_when_it_was_opened() {
    for (name, load) in LOADS {
        let device = device();
        for target in [2.5, 1.5, 1.8] {
            let mut store = open(&device, target);
            write(&store, load, 6 * PAGES).unwrap();
            let (space, check) = (store.stats().unwrap().space, store.check().unwrap());
            let has = space.over_data();
            assert!((has / target - 1.0).abs() < 0.05, "{name}: {has} in place of {target}");
            assert_eq!(check.findings, [], "{name}");
            store.close().unwrap();
        }
    }
}

#[test]
fn a_store_that_is_told_to_take_less_than_it_can_copies_four_times_what_is_written_at_most() {
    let device = device();
    let store = open(&device, 1.01);
    write(&store, LOADS[0].1, 12 * PAGES).unwrap();
    let before = store.stats().unwrap().written;
    write(&store, LOADS[0].1, 6 * PAGES).unwrap();
    let stats = store.stats().unwrap();
    let written = stats.written.since(&before);
    let copies = written.relocated_bytes as f64 / written.user_bytes as f64;
    assert!((3.0..4.5).contains(&copies), "{copies}");
    assert!(stats.space.over_data() < 1.5, "{}", stats.space.over_data());
}

#[test]
fn a_space_that_can_not_be_is_refused() {
    for wrong in [1.0, 0.5, f64::NAN, 1e6] {
        let opened = Store::open(device(), Open { space: Some(wrong), ..OPEN });
        assert!(matches!(opened, Err(StoreError::Options { what: "space over data", .. })));
    }
}
