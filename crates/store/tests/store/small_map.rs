//! A map that does not fit in memory: leaves are read and written back as they are needed.

use std::collections::BTreeMap;
use std::ops::Range;

use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;

/// Pages of 16 leaves.
const PAGES: u32 = 16 << 10;

/// Room for three leaves of SepBIT's.
const MAP_BYTES: usize = 3 * 1024 * 12;

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

fn check(store: &Store, lba: u32, model: &BTreeMap<u32, u32>) {
    let mut page = vec![0; PAGE];
    let found = store.read(lba, &mut page).unwrap();
    let known = model.get(&lba);
    assert_eq!(found, known.is_some(), "LBA {lba}");
    assert!(known.is_none_or(|&version| page == content(lba, version)), "LBA {lba}");
}

/// The pages of a range are those of the model, also to a callback that uses the store.
fn check_mapped(store: &Store, lbas: Range<u32>, model: &BTreeMap<u32, u32>) {
    let (mut found, mut page) = (Vec::new(), vec![0; PAGE]);
    let mut each = |lba| {
        found.push(lba);
        assert!(store.read(lba, &mut page).unwrap());
    };
    store.mapped(lbas.clone(), &mut each).unwrap();
    let known = model.keys().copied().filter(|lba| lbas.contains(lba));
    assert!(found.into_iter().eq(known), "{lbas:?}");
}

/// Random operations, with the store now and then closed, dropped after a sync, and opened.
fn run(cleaning: Cleaning) {
    let zone_bytes = 128 * PAGE as u64;
    let shape = Shape::of_zones(220, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let format = Format { logical_pages: Some(PAGES.into()), unit: 4096, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning, map_bytes: MAP_BYTES, ..Open::default() };
    let mut rng = SmallRng::seed_from_u64(2);
    let mut model = BTreeMap::new();
    for life in 0..6 {
        let store = Store::open(device.clone(), open).unwrap();
        for step in 0..4000 {
            let lba = rng.random_range(0..PAGES);
            match rng.random_range(0..10) {
                0..6 => {
                    let version = life * 10_000 + step;
                    store.write(lba, &content(lba, version)).unwrap();
                    model.insert(lba, version);
                }
                6 => {
                    assert_eq!(store.trim(lba).unwrap(), model.remove(&lba).is_some());
                }
                _ => check(&store, lba, &model),
            }
            if step % 500 == 0 {
                let lbas = rng.random_range(0..PAGES)..rng.random_range(0..PAGES);
                check_mapped(&store, lbas, &model);
            }
            let resident = store.stats().unwrap().map_leaves;
            // While a thread writes a checkpoint, its leaves stay.
            let bounded = resident <= 3 + 3 || cleaning == Cleaning::Background;
            assert!(bounded, "{resident} leaves in memory");
        }
        store.sync().unwrap();
        if life % 2 == 0 {
            store.close().unwrap();
        }
    }
    let store = Store::open(device, open).unwrap();
    check_mapped(&store, 0..PAGES, &model);
    (0..PAGES).for_each(|lba| check(&store, lba, &model));
}

#[test]
fn a_store_of_sixteen_leaves_works_with_three_in_memory_cleaned_inline() {
    run(Cleaning::Inline);
}

#[test]
fn a_store_of_sixteen_leaves_works_with_three_in_memory_cleaned_by_a_thread() {
    run(Cleaning::Background);
}

#[test]
fn an_empty_store_tells_no_pages_and_takes_no_map_into_memory_for_that() {
    let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
    Store::format(device.clone(), &Format::default()).unwrap();
    let store = Store::open(device, Open::default()).unwrap();
    let before = store.stats().unwrap().map_leaves;
    store.mapped(0..u32::MAX, &mut |lba| panic!("LBA {lba}")).unwrap();
    assert_eq!(store.stats().unwrap().map_leaves, before);
}

/// A map of a tebibyte, of which a few leaves were ever written: these are read, one by one, and
/// let go of.
#[test]
fn walks_over_a_large_store_that_holds_little_read_only_the_leaves_that_were_written() {
    let shape = Shape { bytes: 1 << 40, zone_bytes: Some(256 << 20), ..Shape::default() };
    for unit in [4096, 512] {
        let device = in_memory(&shape).unwrap();
        let format = Format { scheme: "nosep".to_string(), unit, ..Format::default() };
        Store::format(device.clone(), &format).unwrap();
        let open = || {
            let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
            Store::open(device.clone(), open).unwrap()
        };
        let mut store = open();
        let report = store.check().unwrap();
        assert_eq!((report.findings, report.leaves, report.pages), (vec![], 0, 0));
        let lbas: Vec<u32> = (0..5).map(|i| i * 30_000_000).collect();
        assert!(u64::from(lbas[4]) < store.pages());
        lbas.iter().for_each(|&lba| store.write(lba, &[1; 4096]).unwrap());
        store.close().unwrap();

        let mut store = open();
        let resident = |store: &Store| store.stats().unwrap().map_leaves;
        assert!(resident(&store) <= 1);
        let mut found = Vec::new();
        store.mapped(0..u32::MAX, &mut |lba| found.push(lba)).unwrap();
        assert_eq!(found, lbas);
        assert_eq!(store.scrub(None, &mut |_| {}).unwrap().pages, 5);
        let report = store.check().unwrap();
        assert_eq!((report.findings, report.leaves, report.pages), (vec![], 5, 5));
        assert!(resident(&store) <= 1, "{} leaves stay in memory", resident(&store));
        store.close().unwrap();
    }
}

/// Bytes of memory that this process took at most.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Not a test: what stores with units of 64 bytes take that hold nothing, and then 1,000 pages all
/// over them.
#[test]
#[ignore = "prints figures of docs/performance.md, of the size in FROSTLINE_LARGE, in GiB"]
fn large() {
    let gib: u64 = std::env::var("FROSTLINE_LARGE").unwrap().parse().unwrap();
    let device = in_memory(&Shape { bytes: gib << 30, ..Shape::default() }).unwrap();
    let on_device = || {
        let zones = device.report(0, device.geometry().zones).unwrap();
        zones.iter().map(|zone| zone.write_pointer).sum::<u64>() / 1024
    };
    let timed = |what: &str, step: &mut dyn FnMut()| {
        let begun = std::time::Instant::now();
        step();
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        println!(
            "{gib} GiB, {what}: {ms:.1} ms, {} kB of memory, {} kB written",
            peak_kb(),
            on_device()
        );
    };
    println!("{gib} GiB, device made: {} kB of memory", peak_kb());
    timed("format", &mut || Store::format(device.clone(), &Format::default()).unwrap());
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    for pages in ["empty", "1,000 pages"] {
        let mut store = None;
        timed(&format!("open, {pages}"), &mut || store = Store::open(device.clone(), open).ok());
        let mut store = store.unwrap();
        timed(&format!("info, {pages}"), &mut || _ = store.info().unwrap());
        timed(&format!("check, {pages}"), &mut || {
            assert_eq!(store.check().unwrap().findings, vec![]);
        });
        let all = store.pages();
        println!(
            "{gib} GiB: {all} pages, {} bytes of map, zones and scheme",
            store.info().unwrap().bytes
        );
        for i in 0..1000 {
            let lba = (i * (all / 1000)) as u32;
            store.write(lba, &content(lba, 1)).unwrap();
        }
        timed("close after 1,000 pages", &mut || store.sync().unwrap());
        store.close().unwrap();
    }
}
