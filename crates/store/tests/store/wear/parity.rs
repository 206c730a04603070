//! Over a device with parity a lost zone, a block that can't be read and rot cost no page, and
//! after a repair the store is as it would be without them.

use std::sync::Arc;

use frostline_store::{Cleaning, Compression, Format, Open, ScrubReport, Store};
use frostline_zone::{Device, Fault, Faulty, Overlay, Shape, ZoneState, in_memory, with_parity};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::content;

const PAGE: usize = 4096;
const PAGES: u32 = 500;
/// Data zones of a set, and pages of a zone below. Two more zones are for the log of last rows.
const DATA: u32 = 3;
const ROWS: u64 = 16;
const SETS: u32 = 34;

/// Contents are so regular that compressed images would leave hardly anything to clean.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

type Versions = Vec<Option<u32>>;

fn below() -> Arc<dyn Device> {
    let zone_bytes = ROWS * PAGE as u64;
    let bytes = u64::from(SETS * (DATA + 1) + 2) * zone_bytes;
    in_memory(&Shape { bytes, zone_bytes: Some(zone_bytes), ..Shape::default() }).unwrap()
}

/// Writes and trims at random.
fn use_it(store: &Store, versions: &mut Versions, rng: &mut SmallRng, times: u32) {
    for _ in 0..times {
        let (lba, version) = (rng.random_range(0..PAGES), rng.random());
        if rng.random_bool(0.1) {
            store.trim(lba).unwrap();
            versions[lba as usize] = None;
        } else {
            store.write(lba, &content(lba, version)).unwrap();
            versions[lba as usize] = Some(version);
        }
    }
}

/// A store after a while, of whole pages or with deltas, closed; and the versions of its pages.
fn sample(unit: u32) -> (Arc<dyn Device>, Versions) {
    let memory = below();
    let device = with_parity(memory.clone(), DATA).unwrap();
    let format = Format {
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(600),
        unit,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device, OPEN).unwrap();
    let (mut versions, mut rng) = (vec![None; PAGES as usize], SmallRng::seed_from_u64(4));
    use_it(&store, &mut versions, &mut rng, 3000);
    assert!(store.stats().unwrap().counts.zones_reclaimed > 20);
    store.close().unwrap();
    (memory, versions)
}

/// A device that may fail, over one that stays as it is.
fn faulty_over(device: &Arc<dyn Device>) -> Arc<Faulty> {
    Arc::new(Faulty::new(Overlay::over(device.clone(), u64::MAX).unwrap(), 1))
}

/// The pages that are not what they should be.
fn wrong(store: &Store, versions: &Versions) -> usize {
    let mut page = vec![0; PAGE];
    let mut is_right = |(lba, version): (u32, &Option<u32>)| match store.read(lba, &mut page) {
        Ok(found) => found == version.is_some() && version.is_none_or(|v| page == content(lba, v)),
        Err(_) => false,
    };
    (0..).zip(versions).filter(|page| !is_right(*page)).count()
}

fn repair(store: &Store) -> ScrubReport {
    let report = store.repair(None, &mut |_| {}).unwrap();
    assert_eq!(report.findings, [], "not repaired");
    let again = store.repair(None, &mut |_| {}).unwrap();
    assert_eq!((again.findings, again.repaired), (vec![], vec![]), "not repaired at once");
    report
}

#[test]
fn every_zone_is_lost_in_turn_under_a_store_in_use_and_no_page_with_it() {
    let zones = SETS * (DATA + 1) + 2;
    each_zone_is_lost(4096, 0..zones);
    each_zone_is_lost(64, (0..zones).step_by(3));
}

fn each_zone_is_lost(unit: u32, zones: impl Iterator<Item = u32>) {
    let (memory, written) = sample(unit);
    let mut given_up = 0;
    for lost in zones {
        let faulty = faulty_over(&memory);
        let device = with_parity(faulty.clone(), DATA).unwrap();
        let store = Store::open(device.clone(), OPEN).unwrap();
        let (mut versions, mut rng) = (written.clone(), SmallRng::seed_from_u64(lost.into()));
        use_it(&store, &mut versions, &mut rng, 50);
        let wear = Fault::Wear { zone: lost, state: ZoneState::Offline };
        faulty.schedule(faulty.operations() + rng.random_range(1..20), wear);
        while faulty.zone(lost).unwrap().state != ZoneState::Offline {
            use_it(&store, &mut versions, &mut rng, 25);
        }
        assert_eq!(wrong(&store, &versions), 0, "zone {lost} lost");
        let report = repair(&store);
        given_up += report.repaired.iter().filter(|f| f.what.contains("lost a part")).count();
        use_it(&store, &mut versions, &mut rng, 100);
        assert_eq!(wrong(&store, &versions), 0, "zone {lost} lost and given up");
        // What an append failed with was written elsewhere, and is not looked for.
        assert_eq!(store.stats().unwrap().failures.unreadable, 0, "zone {lost}");
        store.close().unwrap();
        let store = Store::open(device, OPEN).unwrap();
        assert_eq!((wrong(&store, &versions), store.missing()), (0, &[][..]), "zone {lost}");
    }
    assert!(given_up > if unit == 4096 { SETS as usize } else { 0 }, "{given_up}");
}

#[test]
fn rot_in_any_block_is_read_right_and_repaired() {
    for unit in [4096, 64] {
        let (memory, versions) = sample(unit);
        let mut rng = SmallRng::seed_from_u64(5);
        let mut repaired = 0;
        for _ in 0..8 {
            let faulty = faulty_over(&memory);
            // One block in each of a few sets.
            for set in (0..SETS).filter(|set| set % 5 == 0) {
                let zone = set * (DATA + 1) + rng.random_range(0..=DATA);
                let rows = memory.zone(zone).unwrap().write_pointer / PAGE as u64;
                let parity = memory.zone(set * (DATA + 1) + DATA).unwrap().write_pointer;
                let rows = rows.min(parity / PAGE as u64);
                if rows > 0 {
                    faulty.flip(zone, rng.random_range(0..rows) * PAGE as u64 + 9, 1);
                }
            }
            let device = with_parity(faulty, DATA).unwrap();
            let store = Store::open(device.clone(), OPEN).unwrap();
            assert_eq!(wrong(&store, &versions), 0);
            repaired += repair(&store).repaired.len();
            assert_eq!(store.scrub(None, &mut |_| {}).unwrap().findings, []);
            store.close().unwrap();
            let store = Store::open(device, OPEN).unwrap();
            assert_eq!(wrong(&store, &versions), 0);
            assert_eq!(store.stats().unwrap().repaired_records, 0, "read from parity after repair");
        }
        assert!(repaired > 10, "{repaired}");
    }
}

#[test]
fn every_zone_is_lost_in_turn_before_the_store_is_opened_and_no_page_with_it() {
    let (memory, versions) = sample(4096);
    for lost in 0..SETS * (DATA + 1) + 2 {
        let faulty = faulty_over(&memory);
        faulty.schedule(1, Fault::Wear { zone: lost, state: ZoneState::Offline });
        faulty.flush().unwrap();
        let store = Store::open(with_parity(faulty, DATA).unwrap(), OPEN).unwrap();
        assert_eq!(wrong(&store, &versions), 0, "zone {lost}");
        repair(&store);
        assert_eq!(wrong(&store, &versions), 0, "zone {lost} given up");
    }
}
