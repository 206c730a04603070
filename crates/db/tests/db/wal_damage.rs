//! The write-ahead log on damaged devices: what was durable and is needed is named, the tail that
//! may have been torn is cut, and nothing makes it panic.

use std::sync::Arc;
use std::time::Duration;

use frostline_db::wal::{Flusher, Lsn, Wal, WalError, WalOptions};
use frostline_store::Compression;
use frostline_zone::{Device, DeviceError, Fault, Faulty, Shape, ZoneState, in_memory};
use proptest::prelude::*;

const INLINE: WalOptions = WalOptions {
    flusher: Flusher::Inline,
    delay: Duration::ZERO,
    buffer_bytes: 256 << 10,
    durable: 0,
    compression: Compression::None,
};

/// Pages of a zone.
const ZONE: u64 = 10;

/// Bytes of a head, and of a record's own head.
const HEADS: u64 = 104 + 3;

/// A log whose batches are one page each, the first that of its format: where their records end.
fn written(records: u64, bytes: usize) -> (Arc<Faulty>, Vec<Lsn>) {
    let shape = Shape::of_zones(8, ZONE * 4096);
    let device = in_memory(&shape).unwrap();
    Wal::format(device.clone(), 7).unwrap();
    let device = Arc::new(Faulty::new(device, 1));
    let wal = open(&device).unwrap();
    let mut ends = vec![0];
    for number in 0..records {
        let (lsn, ()) = wal.append(number as u8, &[&vec![number as u8; bytes]], |_| ()).unwrap();
        wal.wait(lsn).unwrap();
        ends.push(lsn);
    }
    (device, ends)
}

fn open(device: &Arc<Faulty>) -> Result<Wal, WalError> {
    open_with(device, Compression::None)
}

fn open_with(device: &Arc<Faulty>, compression: Compression) -> Result<Wal, WalError> {
    let options = WalOptions { compression, ..INLINE };
    Wal::open(device.clone() as Arc<dyn Device>, 7, &options)
}

/// The ends of the records that are replayed.
fn replayed(wal: &Wal) -> Result<Vec<Lsn>, WalError> {
    let mut ends = Vec::new();
    let mut visit = |lsn, _, _: &[u8]| {
        ends.push(lsn);
        Ok::<(), WalError>(())
    };
    wal.replay(&mut visit, &mut |_, _| ())?;
    Ok(ends)
}

fn place(batch: u64) -> (u32, u64) {
    ((batch / ZONE) as u32, batch % ZONE)
}

/// The error of opening or replaying it, as zone, page and lsn.
fn damage(device: &Arc<Faulty>) -> (u32, u64, Lsn) {
    match open(device).and_then(|wal| replayed(&wal)) {
        Err(WalError::Damaged { zone, page, lsn, .. }) => (zone, page, lsn),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flipped_bit_of_what_was_durable_is_named() {
    for batch in 1..35 {
        let (device, ends) = written(35, 700);
        let (zone, page) = place(batch);
        device.flip(zone, page * 4096 + batch * 19 % (HEADS + 700), 1 << (batch % 8));
        assert_eq!(damage(&device), (zone, page, ends[batch as usize - 1]));
        // Looking changed nothing.
        assert_eq!(damage(&device), (zone, page, ends[batch as usize - 1]));
    }
}

#[test]
fn a_flipped_bit_of_a_compressed_batch_is_named() {
    for compression in [Compression::Lz4, Compression::Zstd] {
        let bytes: Vec<u8> = (0..250).cycle().take(10_000).collect();
        for bit in 0..40 {
            let (device, ends) = written(3, 700);
            let wal = open_with(&device, compression).unwrap();
            for number in 0..2 {
                let (lsn, ()) = wal.append(number, &[&bytes], |_| ()).unwrap();
                wal.wait(lsn).unwrap();
            }
            assert_eq!(wal.stats().pages_saved, 4);
            drop(wal);
            // A batch of one page in place of three; behind it is another.
            let (zone, page) = place(4);
            device.flip(zone, page * 4096 + bit * 8, 1 << (bit % 8));
            assert_eq!(damage(&device), (zone, page, ends[3]));
        }
    }
}

#[test]
fn a_flipped_bit_that_may_be_torn_cuts_the_tail_and_the_log_goes_on() {
    for (records, place_in_batch) in [(5, 0), (5, 50), (5, 99), (5, 600), (9, 4), (10, 4)] {
        let (device, mut ends) = written(records, 700);
        let (zone, page) = place(records);
        device.flip(zone, page * 4096 + place_in_batch, 4);
        let wal = open(&device).unwrap();
        ends.pop();
        assert_eq!(replayed(&wal).unwrap(), ends[1..]);
        for _ in 0..12 {
            let (lsn, ()) = wal.append(1, &[&[1; 3000]], |_| ()).unwrap();
            wal.wait(lsn).unwrap();
            ends.push(lsn);
        }
        drop(wal);
        assert_eq!(replayed(&open(&device).unwrap()).unwrap(), ends[1..]);
    }
}

#[test]
fn of_one_flush_over_several_zones_the_tail_from_the_torn_batch_is_cut() {
    let (device, mut ends) = written(4, 700);
    let wal = open(&device).unwrap();
    // A batch that fills the zone, one that fills the next, and a part of the one after that.
    for number in 0..30 {
        ends.push(wal.append(number, &[&[number; 3000]], |_| ()).unwrap().0);
    }
    wal.close().unwrap();
    drop(wal);
    assert_eq!(replayed(&open(&device).unwrap()).unwrap(), ends[1..]);
    device.flip(1, 20_000, 1);
    let wal = open(&device).unwrap();
    let found = replayed(&wal).unwrap();
    assert_eq!(found, ends[1..11], "the records that end in the first zone");
    // The zones behind the cut are free again.
    assert!(wal.used_bytes() <= ZONE * 4096);
    let (lsn, ()) = wal.append(1, &[&[1; 30_000]], |_| ()).unwrap();
    wal.wait(lsn).unwrap();
    drop(wal);
    assert_eq!(replayed(&open(&device).unwrap()).unwrap().last(), Some(&lsn));
}

#[test]
fn damage_of_what_is_not_needed_is_no_error() {
    let (device, ends) = written(35, 700);
    let wal = open(&device).unwrap();
    wal.release(ends[27]).unwrap();
    wal.close().unwrap();
    drop(wal);
    for batch in 20..28 {
        let (zone, page) = place(batch);
        device.flip(zone, page * 4096 + 50, 1);
    }
    let wal = open(&device).unwrap();
    assert_eq!((wal.keep_from(), replayed(&wal).unwrap()), (ends[27], ends[28..].to_vec()));
    drop(wal);
    let (zone, page) = place(28);
    device.flip(zone, page * 4096 + 50, 1);
    assert_eq!(damage(&device), (zone, page, ends[27]));
}

#[test]
fn lost_zones_are_an_error_only_if_they_may_hold_what_is_needed() {
    for (lost, expected) in [
        (0, Some((0, 9, 0))),
        (1, Some((1, 0, 9))),
        (2, Some((2, 0, 19))),
        (3, Some((3, 0, 29))),
        (4, None),
        (7, None),
    ] {
        let (device, ends) = written(35, 700);
        device.schedule(
            device.operations() + 1,
            Fault::Wear { zone: lost, state: ZoneState::Offline },
        );
        device.flush().unwrap();
        match expected {
            None => assert_eq!(replayed(&open(&device).unwrap()).unwrap(), ends[1..]),
            Some((zone, page, behind)) if zone > 0 => {
                assert_eq!(damage(&device), (zone, page, ends[behind]));
            }
            Some(_) => assert_eq!(damage(&device).0, 1, "seen by what lies behind it"),
        }
    }
    // The end of the log may have been in the zone that comes next.
    let (device, ends) = written(9, 700);
    device.schedule(device.operations() + 1, Fault::Wear { zone: 1, state: ZoneState::Offline });
    device.flush().unwrap();
    assert_eq!(damage(&device), (1, 0, ends[9]));
}

#[test]
fn a_page_that_can_not_be_read_is_the_devices_error() {
    let (device, _) = written(35, 700);
    device.fail_reads(1, 5 * 4096 + 3);
    let failed = open(&device).map(drop);
    let Err(WalError::Device(error)) = failed else { panic!("{failed:?}") };
    assert!(matches!(*error, DeviceError::Io { zone: 1, .. }), "{error}");
}

/// Uses a log that may have been opened from anything.
fn use_it(wal: &Wal) {
    let _ = replayed(wal);
    for number in 0..30 {
        let appended = wal.append(number, &[&[number; 2000]], |_| ());
        let _ = appended.and_then(|(lsn, ())| wal.wait(lsn));
    }
    let _ = wal.release(wal.end());
    let _ = wal.close();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn logs_with_pages_of_others_and_of_anything_never_panic(
        changes in prop::collection::vec((0..80u64, 0..90u64, any::<u64>()), 1..8)
    ) {
        let (device, _) = written(45, 2000);
        let mut pages = Vec::new();
        for zone in 0..8 {
            let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
            device.read(zone, 0, &mut bytes).unwrap();
            bytes.resize((ZONE * 4096) as usize, 0);
            pages.extend(bytes.chunks(4096).map(<[u8]>::to_vec));
        }
        for (to, from, noise) in changes {
            let page = match pages.get(from as usize) {
                Some(page) => page.clone(),
                None => (0..512).flat_map(|n| (noise ^ n).wrapping_mul(noise).to_le_bytes()).collect(),
            };
            pages[to as usize] = page;
            pages[to as usize][(noise % 4096) as usize] ^= (noise >> 60) as u8;
        }
        for (zone, bytes) in (0..).zip(pages.chunks(ZONE as usize)) {
            device.reset(zone).unwrap();
            device.append(zone, 0, &bytes.concat()).unwrap();
        }
        if let Ok(wal) = open(&device) {
            use_it(&wal);
        }
    }
}
