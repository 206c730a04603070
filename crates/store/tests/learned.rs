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
    PageWrite { lba, page, hotness: Some(Hotness { current, ..Hotness::default() }) }
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
        scheme: "frozen:nosep:sure=0.5".to_string(),
        logical_pages: Some(u64::from(PAGES)),
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
