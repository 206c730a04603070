//! Numbers of a store that contradict each other, under sums that are right.

use std::sync::Arc;

use frostline_store::{Open, Store};
use frostline_testkit::seeds;
use frostline_zone::{Device, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::forged::{Forged, word};
use super::{OPEN, PAGE, PAGES, content, sample, shape, zone_bytes};

/// Numbers at which sums overflow, tables end and loops are long.
fn odd_number(rng: &mut SmallRng, before: u64) -> u64 {
    let odd = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 512, 1 << 32, 1 << 31, 1 << 59];
    match rng.random_range(0..5) {
        0 => before.wrapping_add(1),
        1 => before.wrapping_sub(1),
        2 => rng.random::<u64>() >> rng.random_range(0..64),
        _ => odd[rng.random_range(0..odd.len())],
    }
}

/// Opens a store whose content contradicts itself, and does with it all that can be done.
fn use_up(device: Arc<dyn Device>) {
    let _ = Store::inspect(device.clone()).and_then(|mut store| {
        store.info()?;
        store.zones()?;
        store.check()
    });
    let Ok(mut store) = Store::open(device, Open { accept_loss: true, ..OPEN }) else { return };
    let mut page = vec![0; PAGE];
    let _ = store.check();
    let _ = store.scrub(None, &mut |_| {});
    for lba in 0..PAGES {
        let _ = store.read(lba, &mut page);
        let _ = match lba % 7 {
            0 => store.trim(lba).map(drop),
            _ => store.write(lba, &content(lba, 1)),
        };
    }
    let _ = store.sync();
    let _ = store.check();
    let _ = store.close();
}

/// Seeds beyond the usual ones that found a mistake: openings counted from 0, a zone's chunks whose
/// numbers do not rise, a record where its zone was not yet written.
const KEPT: [u64; 3] = [748, 1923, 3438];

#[test]
fn numbers_that_contradict_each_other_under_right_sums_never_panic_or_hang() {
    let all = seeds::times(80);
    let forged = [false, true].map(|closed| {
        [4096, 64].map(|unit| {
            let device = sample(closed, unit).device;
            let zones = 0..device.geometry().zones;
            Forged::of(zones.map(|zone| zone_bytes(&*device, zone)).collect())
        })
    });
    let mut failed = Vec::new();
    for seed in (0..all).chain(KEPT) {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let (closed, unit) = (rng.random_range(0..2), rng.random_range(0..2));
        let mut forged = forged[closed][unit].clone();
        for _ in 0..rng.random_range(1..4) {
            let kind = [1, 2, 3, 3, 4, 4, 5][rng.random_range(0..7)];
            match kind {
                3 | 4 => {
                    // The last one counts, and is changed most often.
                    let records = forged.records(kind);
                    let back =
                        if rng.random_bool(0.7) { 1 } else { rng.random_range(1..=records.len()) };
                    let record = records[records.len() - back];
                    let payload = forged.payload(record);
                    let most =
                        if rng.random_bool(0.5) { 512.min(payload.len()) } else { payload.len() };
                    let at = rng.random_range(0..most / 8) * 8
                        + if rng.random_bool(0.2) { 4 } else { 0 };
                    let at = at.min(payload.len() - 8);
                    let before = u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
                    let wide = if kind == 3 { 4 } else { rng.random_range(1..=2) * 4 };
                    let odd = odd_number(rng, before).to_le_bytes();
                    payload[at..at + wide].copy_from_slice(&odd[..wide]);
                }
                kind => {
                    let is_it = |page: &[u8]| page.starts_with(b"FRST") && word(page, 8) == kind;
                    let pages = forged.zones.iter().enumerate().flat_map(|(zone, bytes)| {
                        let pages = bytes.chunks_exact(PAGE).enumerate();
                        pages.filter(|(_, page)| is_it(page)).map(move |(at, _)| (zone, at))
                    });
                    let pages: Vec<_> = pages.collect();
                    let (zone, at) = pages[rng.random_range(0..pages.len())];
                    // Not the kind of page, of which each is tried by itself, nor the number of the
                    // store.
                    let fields = if rng.random_bool(0.5) { 24 } else { 100 };
                    let field = 24 + 4 * rng.random_range(0..fields);
                    let page = &mut forged.zones[zone][at * PAGE..(at + 1) * PAGE];
                    let before = u64::from_le_bytes(page[field..field + 8].try_into().unwrap());
                    let wide = rng.random_range(1..=2) * 4;
                    let odd = odd_number(rng, before).to_le_bytes();
                    page[field..field + wide].copy_from_slice(&odd[..wide]);
                    forged.seal(zone, at);
                }
            }
        }
        forged.seal_metadata();
        let (done, ends) = std::sync::mpsc::channel();
        let trial = std::thread::spawn(move || {
            let device = in_memory(&shape()).unwrap();
            for (zone, bytes) in (0..).zip(&forged.zones) {
                device.append(zone, 0, bytes).unwrap();
            }
            use_up(device);
            let _ = done.send(());
        });
        // A panic drops the sender.
        let ended = ends.recv_timeout(std::time::Duration::from_secs(120));
        match ended {
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => failed.push((seed, "hangs")),
            _ => failed.extend(trial.join().is_err().then_some((seed, "panics"))),
        }
    }
    assert_eq!(failed, []);
}
