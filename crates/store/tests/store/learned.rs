//! The learned state of a scheme survives a restart.

use std::sync::Arc;

use frostline_placement::{Activity, Hotness};
use frostline_random::SplitMix;
use frostline_store::{Cleaning, Format, Open, PageWrite, Store};
use frostline_zone::{Shape, in_memory};

const PAGES: u32 = 2048;

/// Writes one page in four all the time, and tells that much is changed in them.
fn live(store: &Store, writes: u32) {
    let page = vec![7; 4096];
    let mut chance = SplitMix::new(4);
    for _ in 0..writes {
        let lba = chance.below(PAGES / 4) * 4;
        store.write_batch(&[write(lba, &page)]).unwrap();
    }
}

fn write(lba: u32, page: &[u8]) -> PageWrite<'_> {
    let modifications = if lba.is_multiple_of(4) { 9 } else { 2 };
    let current = Activity { modifications, ..Activity::default() };
    PageWrite { lba, page, hotness: Some(Hotness { current, ..Hotness::default() }), changed: None }
}

fn gauge(store: &Store, name: &str) -> f64 {
    let gauges = store.stats().unwrap().gauges;
    gauges.iter().find(|(known, _)| *known == name).unwrap().1
}

#[test]
fn what_was_learned_of_frozen_pages_is_there_when_the_store_is_opened_again() {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(256 << 10), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let format = Format {
        scheme: "frozen:nosep:confidence=0.5".to_string(),
        logical_pages: Some(u64::from(PAGES)),
        unit: 4096,
        hotness: true,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device.clone(), open).unwrap();
    let page = vec![1; 4096];
    (0..PAGES).for_each(|lba| store.write_batch(&[write(lba, &page)]).unwrap());
    live(&store, 12 * PAGES);
    let learned = (gauge(&store, "precision"), gauge(&store, "recall"));
    assert!(learned.0 > 0.9 && learned.1 > 0.3, "{learned:?}");
    store.close().unwrap();
    let store = Store::open(Arc::clone(&device), open).unwrap();
    assert_eq!((gauge(&store, "precision"), gauge(&store, "recall")), learned);
    assert_eq!(gauge(&store, "trainings"), 1.0);
}

/// Pages that are written again after 336 user writes, of four writes three are to them.
const HOT: u32 = 252;
const TURN: u32 = HOT / 3 * 4;

/// Writes hot pages in turn, and between them the others in turn.
fn turns(store: &Store, turns: u32) {
    let page = vec![3; 4096];
    for i in 0..turns * TURN {
        let lba = match i % 4 {
            0 => HOT + i / 4 % (PAGES - HOT),
            k => (i / 4 * 3 + k - 1) % HOT,
        };
        store.write_batch(&[PageWrite { lba, page: &page, hotness: None, changed: None }]).unwrap();
    }
}

#[test]
fn a_network_predicts_from_the_first_write_after_the_store_is_opened_again() {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(256 << 10), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let format = Format {
        scheme: "phftl:window=50".to_string(),
        logical_pages: Some(u64::from(PAGES)),
        unit: 4096,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device.clone(), open).unwrap();
    turns(&store, 120);
    let threshold = gauge(&store, "threshold");
    assert!(threshold > 0.0);
    store.close().unwrap();
    let store = Store::open(Arc::clone(&device), open).unwrap();
    assert_eq!(gauge(&store, "threshold"), threshold);
    // Two windows of half the pages end: the first was predicted with what was known before.
    turns(&store, 7);
    let (precision, recall) = (gauge(&store, "precision"), gauge(&store, "recall"));
    assert!(precision > 0.8 && recall > 0.8, "{precision} {recall}");
}
