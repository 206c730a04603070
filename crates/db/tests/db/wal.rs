//! The write-ahead log on devices that keep what they are given: what is appended is replayed, in
//! any size and for ever in bounded space, and threads that wait share flushes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use frostline_db::wal::{Flusher, FoundLog, Lsn, Wal, WalError, WalOptions};
use frostline_store::Compression;
use frostline_zone::{
    Clock, Counted, Device, DeviceError, Drive, Fault, Faulty, Shape, Timed, ZoneState, in_memory,
};
use proptest::prelude::*;

const INLINE: WalOptions = WalOptions {
    flusher: Flusher::Inline,
    delay: Duration::ZERO,
    buffer_bytes: 64 << 10,
    durable: 0,
    compression: Compression::None,
};

const ZONE: u64 = 56 << 10;

/// Zones of 64 KiB that are an eighth smaller, one of which may be active.
fn shape(zones: u64) -> Shape {
    let (zone_bytes, zone_capacity) = (Some(64 << 10), Some(ZONE));
    let (max_open, max_active) = (Some(1), Some(1));
    let bytes = zones * ZONE;
    Shape { bytes, zone_bytes, zone_capacity, max_open, max_active, ..Shape::default() }
}

fn formatted(zones: u64) -> Arc<dyn Device> {
    let device = in_memory(&shape(zones)).unwrap();
    Wal::format(device.clone(), 7).unwrap();
    device
}

fn open(device: &Arc<dyn Device>, options: &WalOptions) -> Wal {
    Wal::open(device.clone(), 7, options).unwrap()
}

/// A payload that identifies its record.
fn payload(number: u64, bytes: usize) -> Vec<u8> {
    let first = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words = (0..).map(|n| first.wrapping_add(n));
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

fn append(wal: &Wal, number: u64, bytes: usize) -> Lsn {
    wal.append(number as u8, &[&payload(number, bytes)], |_| ()).unwrap().0
}

fn replayed(wal: &Wal) -> Vec<(Lsn, u8, Vec<u8>)> {
    let mut records = Vec::new();
    let mut visit = |lsn, kind, payload: &[u8]| {
        records.push((lsn, kind, payload.to_vec()));
        Ok::<(), WalError>(())
    };
    wal.replay(&mut visit, &mut |done, all| assert!(done <= all)).unwrap();
    records
}

#[test]
fn records_of_any_size_are_replayed_in_order_across_zones() {
    let device = formatted(12);
    let wal = open(&device, &INLINE);
    let largest = wal.largest_record();
    assert!(largest as u64 > 2 * ZONE, "{largest}: a record crosses whole zones");
    let sizes = [0, 1, 3, 3992 - 5, 3992 - 4, 0, largest, 9, 50_000, largest, 100, 0];
    let mut expected = Vec::new();
    for (number, bytes) in (0..).zip(sizes) {
        let parts = payload(number, bytes);
        let (one, two) = parts.split_at(bytes / 3);
        let (lsn, seen) = wal.append(number as u8, &[one, &[], two], |lsn| lsn).unwrap();
        assert_eq!((lsn, seen), (wal.end(), lsn));
        expected.push((lsn, number as u8, parts));
        if number % 3 == 0 {
            wal.wait(lsn).unwrap();
            assert_eq!(wal.durable(), lsn);
        }
    }
    wal.close().unwrap();
    assert!(matches!(wal.append(1, &[], |_| ()), Err(WalError::Closed)));
    drop(wal);
    let wal = open(&device, &INLINE);
    assert!(replayed(&wal) == expected && replayed(&wal) == expected);
    assert_eq!((wal.keep_from(), wal.end()), (0, wal.durable()));
}

#[test]
fn records_that_no_log_holds_are_refused() {
    let device = formatted(3);
    let wal = open(&device, &INLINE);
    let most = wal.largest_record();
    let refused = wal.append(1, &[&vec![0; most + 1]], |_| ()).map(drop);
    assert!(matches!(refused, Err(WalError::TooLarge { .. })), "{refused:?}");
    let end = append(&wal, 1, most);
    assert!(matches!(wal.wait(end + 1), Err(WalError::BeyondEnd { .. })));
}

#[test]
fn a_short_end_that_nobody_waits_for_is_written_with_what_follows() {
    let device = formatted(6);
    let wal = open(&device, &INLINE);
    let commits: Vec<_> = (0..64).map(|number| append(&wal, number, 139)).collect();
    let before = wal.stats().pages;
    // Two blocks hold 56 of these records, and a part of another.
    wal.wait(commits[0]).unwrap();
    assert_eq!((wal.durable(), wal.stats().pages - before), (commits[55], 2));
    // The end is needed now.
    wal.wait(commits[56]).unwrap();
    assert_eq!((wal.durable(), wal.stats().pages - before), (commits[63], 3));
    // Behind one block lies more than half of another.
    let commits: Vec<_> = (0..48).map(|number| append(&wal, number, 139)).collect();
    wal.wait(commits[0]).unwrap();
    assert_eq!((wal.durable(), wal.stats().pages - before), (commits[47], 5));
    drop(wal);
    assert_eq!(replayed(&open(&device, &INLINE)).len(), 112);
}

const METHODS: [Compression; 2] = [Compression::Lz4, Compression::Zstd];

/// A payload that repeats each word so many times.
fn text(number: u64, bytes: usize, times: u64) -> Vec<u8> {
    let words =
        (0..).map(|n: u64| ((number << 20) | (n / times)).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_le_bytes).take(bytes).collect()
}

#[test]
fn batches_are_compressed_where_that_takes_fewer_pages_and_read_by_any_opening() {
    for compression in METHODS {
        let device = formatted(9);
        let wal = open(&device, &WalOptions { compression, ..INLINE });
        let mut expected = Vec::new();
        let mut commit = |wal: &Wal, payloads: Vec<Vec<u8>>| {
            let before = wal.stats();
            for payload in payloads {
                let lsn = wal.append(1, &[&payload], |_| ()).unwrap().0;
                expected.push((lsn, 1, payload));
            }
            wal.wait(wal.end()).unwrap();
            let after = wal.stats();
            (after.pages - before.pages, after.pages_saved - before.pages_saved)
        };
        // In one page anyway.
        assert_eq!(commit(&wal, vec![text(1, 3000, 4)]), (1, 0));
        let (pages, saved) = commit(&wal, (0..20).map(|n| text(n, 1500, 4)).collect());
        assert!(pages <= 5 && pages + saved == 8, "{pages} and {saved}");
        // Behind the end of a zone the rest has a batch of its own.
        let (pages, saved) = commit(&wal, vec![text(2, 40_000, 4)]);
        assert!(pages <= 7 && saved >= 4, "{pages} and {saved}");
        assert_eq!(commit(&wal, vec![text(3, 20_000, 1)]), (5, 0), "it does not compress");
        drop(wal);
        // Not compressed from now on.
        let wal = open(&device, &INLINE);
        assert_eq!(commit(&wal, vec![text(4, 10_000, 4)]), (3, 0));
        drop(wal);
        assert!(replayed(&open(&device, &INLINE)) == expected);
    }
}

#[test]
fn of_a_compressed_flush_a_short_end_that_nobody_waits_for_is_written_with_what_follows() {
    for compression in METHODS {
        let device = formatted(6);
        let wal = open(&device, &WalOptions { compression, ..INLINE });
        let mut waited = 0;
        for records in 40..140 {
            let before = wal.stats().pages;
            let first = wal.append(1, &[&text(records, 400, 4)], |_| ()).unwrap().0;
            let all = (1..records).map(|n| wal.append(1, &[&text(n, 400, 4)], |_| ()).unwrap().0);
            let last = all.last().unwrap();
            wal.wait(first).unwrap();
            assert!(wal.durable() >= first);
            if wal.durable() < last {
                waited += 1;
                let left = last - wal.durable();
                assert!(left < 4 * 4096, "{left} bytes wait");
            }
            wal.wait(last).unwrap();
            assert_eq!(wal.durable(), last);
            assert!(wal.stats().pages - before <= (records * 405).div_ceil(3992));
            wal.release(last).unwrap();
        }
        assert!((20..80).contains(&waited), "{waited} of 100");
    }
}

#[test]
fn openings_go_on_where_the_log_ended() {
    let device = formatted(6);
    let mut expected = Vec::new();
    for number in 0..30 {
        let wal = open(&device, &INLINE);
        assert!(replayed(&wal) == expected);
        let bytes = payload(number, 777);
        let lsn = append(&wal, number, 777);
        wal.wait(lsn).unwrap();
        expected.push((lsn, number as u8, bytes));
        append(&wal, 99, 100);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_released_is_not_replayed_and_the_rest_is(
        sizes in prop::collection::vec(0..20_000usize, 1..60), picks in any::<[u16; 4]>()
    ) {
        let device = formatted(9);
        let mut records = Vec::<(Lsn, u8, Vec<u8>)>::new();
        let mut kept = 0;
        for (part, pick) in sizes.chunks(sizes.len().div_ceil(4)).zip(picks) {
            let wal = open(&device, &INLINE);
            prop_assert_eq!(wal.keep_from(), kept);
            let needed: Vec<_> = records.iter().filter(|(lsn, ..)| *lsn > kept).cloned().collect();
            prop_assert!(replayed(&wal) == needed);
            for &bytes in part {
                // So that there is always room.
                if wal.used_bytes() > wal.capacity_bytes() / 2 {
                    wal.wait(wal.end()).unwrap();
                    wal.release(wal.end()).unwrap();
                    kept = wal.end();
                }
                let number = records.len() as u64;
                let lsn = append(&wal, number, bytes);
                records.push((lsn, number as u8, payload(number, bytes)));
            }
            wal.wait(wal.end()).unwrap();
            // Anywhere, even in the middle of a record.
            let upto = kept + (wal.end() - kept) * u64::from(pick) / 65535;
            wal.release(upto).unwrap();
            kept = kept.max(upto);
            // The release is durable with the batch that comes next.
            let number = records.len() as u64;
            let lsn = append(&wal, number, 1);
            records.push((lsn, number as u8, payload(number, 1)));
            wal.close().unwrap();
        }
    }
}

#[test]
fn a_log_is_written_for_ever_in_the_zones_it_has() {
    let device = formatted(4);
    let wal = open(&device, &INLINE);
    let capacity = wal.capacity_bytes();
    let mut number = 0;
    while wal.stats().pages * 4096 < 40 * capacity {
        number += 1;
        let lsn = append(&wal, number, (number * 37 % 5000) as usize);
        if number % 5 == 0 {
            wal.wait(lsn).unwrap();
        }
        if wal.used_bytes() > capacity / 2 {
            wal.wait(lsn).unwrap();
            wal.release(lsn).unwrap();
            assert!(wal.used_bytes() <= ZONE);
        }
    }
    drop(wal);
    let wal = open(&device, &INLINE);
    assert!(wal.used_bytes() <= capacity / 2 + ZONE);
    assert_eq!(wal.capacity_bytes(), capacity);
}

#[test]
fn replay_of_a_kind_reads_no_part_of_the_log_without_it() {
    let device = formatted(24);
    let wal = open(&device, &INLINE);
    let mut expected = Vec::new();
    for number in 0..300 {
        // One in the middle of a batch, and one that fills more than a zone.
        let (kind, bytes) = [(1, 3000), (9, 100), (9, 100_000)][match number {
            50 => 1,
            200 => 2,
            _ => 0,
        }];
        let (lsn, ()) = wal.append(kind, &[&payload(number, bytes)], |_| ()).unwrap();
        if number % 10 == 9 {
            wal.wait(lsn).unwrap();
        }
        if kind == 9 {
            expected.push((lsn, payload(number, bytes)));
        }
    }
    wal.close().unwrap();
    drop(wal);
    let counted = Arc::new(Counted::new(device));
    let device: Arc<dyn Device> = counted.clone();
    let wal = open(&device, &INLINE);
    let mut found = Vec::new();
    let before = counted.counts().read_bytes;
    let mut visit = |lsn, kind, record: &[u8]| {
        if kind == 9 {
            found.push((lsn, record.to_vec()));
        }
        Ok::<(), WalError>(())
    };
    wal.replay_kinds(&[9], &mut visit).unwrap();
    assert!(found == expected);
    let read = counted.counts().read_bytes - before;
    assert!(read < 6 * ZONE, "{read} bytes");
    wal.replay_kinds(&[8], &mut |_, _, _| Err(WalError::NoReplay)).unwrap();
    assert_eq!(counted.counts().read_bytes - before, read);
}

#[test]
fn the_last_record_of_a_kind_is_found_wherever_it_is() {
    for (count, at) in [(1, 0), (40, 0), (40, 1), (40, 20), (40, 35), (40, 39), (40, 40)] {
        let device = formatted(24);
        let wal = open(&device, &INLINE);
        for number in 0..count {
            // Some fill zones.
            let bytes = if number % 7 == 3 { 100_000 } else { 2000 };
            let kind = if number <= at && number + 3 > at { 9 } else { 1 };
            let record = payload(number, bytes);
            wal.wait(wal.append(kind, &[&record], |_| ()).unwrap().0).unwrap();
        }
        drop(wal);
        let of_kind =
            |_, kind, record: &[u8]| Ok::<_, WalError>((kind == 9).then_some(record.len()));
        // The last of three, or of those of them that there are.
        let last = at.min(count - 1);
        let expected = Some(if last % 7 == 3 { 100_000 } else { 2000 });
        let found = FoundLog::find(device.clone(), 7).unwrap().last(9, of_kind).unwrap();
        assert_eq!(found, expected, "{at} of {count}");
        let of_none = |_, kind, _: &[u8]| Ok::<_, WalError>((kind == 8).then_some(()));
        assert_eq!(FoundLog::find(device, 7).unwrap().last(8, of_none).unwrap(), None);
    }
}

#[test]
fn what_is_kept_of_a_log_is_its_records_or_the_blocks_that_these_take() {
    let device = formatted(24);
    let wal = open(&device, &INLINE);
    let mut ends = Vec::new();
    for number in 0..60 {
        ends.push(append(&wal, number, 100));
        wal.wait(ends[number as usize]).unwrap();
    }
    assert_eq!(wal.in_use().kept, 60 * 4096 + 4096, "a block each, and the log's first");
    let half = wal.kept_bytes_from(ends[29]);
    assert!((28 * 4096..=32 * 4096).contains(&half), "{half}");
    assert_eq!(wal.kept_bytes_from(ends[59]), 0);
    // A record over zones goes as a whole.
    let end = append(&wal, 60, 200_000);
    wal.wait(end).unwrap();
    assert!(wal.kept_bytes_from(end - 1) >= 200_000);
    assert_eq!(wal.kept_bytes_from(end), 0);
}

#[test]
fn a_log_takes_no_more_zones_than_it_needed_at_a_time_and_one() {
    let device = formatted(32);
    let mut taken = BTreeSet::new();
    // The number of zones that were ever written.
    let mut look = || {
        let zones = device.report(0, 32).unwrap();
        taken.extend((0..32).filter(|&zone| zones[zone as usize].write_pointer > 0));
        taken.len()
    };
    let mut number = 0;
    let mut fill = |wal: &Wal, bytes: u64| {
        let from = wal.used_bytes();
        while wal.used_bytes() < from + bytes {
            number += 1;
            wal.wait(append(wal, number, 3000)).unwrap();
        }
    };
    for opening in 0..10 {
        let wal = open(&device, &INLINE);
        for _ in 0..20 {
            fill(&wal, 2 * ZONE);
            // Two, the rest of one before them, and that which the release is written to.
            assert!(look() <= 4 + 1, "{opening}");
            wal.release(wal.end()).unwrap();
        }
        if opening % 2 == 0 {
            wal.close().unwrap();
        }
    }
    // A larger need takes more of them, once.
    let wal = open(&device, &INLINE);
    for _ in 0..10 {
        fill(&wal, 10 * ZONE);
        assert!(look() <= 12 + 1);
        wal.release(wal.end()).unwrap();
    }
}

#[test]
fn a_full_log_refuses_records_and_is_freed_by_a_release() {
    let device = formatted(4);
    let wal = open(&device, &INLINE);
    for round in 0..5 {
        let full = loop {
            match wal.append(round, &[&[round; 3000]], |_| ()) {
                Ok((lsn, ())) if lsn % 4 == 0 => wal.wait(lsn).unwrap(),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(full, WalError::Full { .. }), "{full}");
        // All that was appended can be made durable, however little room is left.
        wal.wait(wal.end()).unwrap();
        wal.release(wal.end()).unwrap();
        assert!(wal.used_bytes() <= ZONE);
    }
    drop(wal);
    assert_eq!(replayed(&open(&device, &INLINE)), []);
}

/// Regression: if a zone held nothing but the end of a large record, the zones before it stayed.
#[test]
fn a_released_record_that_ends_in_the_last_zone_keeps_none_before_it() {
    let device = formatted(9);
    let wal = open(&device, &INLINE);
    for number in 0..20 {
        let lsn = append(&wal, number, wal.largest_record());
        wal.wait(lsn).unwrap();
        wal.release(lsn).unwrap();
        assert!(wal.used_bytes() <= ZONE, "{number}");
    }
}

#[test]
fn a_full_log_is_opened_and_freed() {
    let device = formatted(3);
    let wal = open(&device, &INLINE);
    while wal.append(1, &[&[1; 900]], |_| ()).is_ok() {}
    wal.wait(wal.end()).unwrap();
    let end = wal.end();
    drop(wal);
    for _ in 0..3 {
        let wal = open(&device, &INLINE);
        assert_eq!(replayed(&wal).last().unwrap().0, end);
        assert!(matches!(wal.append(1, &[&[1; 4000]], |_| ()), Err(WalError::Full { .. })));
    }
    let wal = open(&device, &INLINE);
    wal.release(end).unwrap();
    assert!(matches!(
        wal.replay(&mut |_, _, _| Ok::<(), WalError>(()), &mut |_, _| ()),
        Err(WalError::NoReplay)
    ));
    while wal.append(1, &[&[1; 900]], |_| ()).is_ok() {}
    wal.close().unwrap();
    drop(wal);
    let wal = open(&device, &INLINE);
    assert_eq!(wal.keep_from(), end);
    assert!(replayed(&wal).iter().all(|(lsn, ..)| *lsn > end));
}

#[test]
fn appends_to_a_full_log_wait_for_a_release() {
    let device = formatted(4);
    let wal = open(&device, &WalOptions { flusher: Flusher::Background, ..INLINE });
    let stop = AtomicBool::new(false);
    let running = AtomicU64::new(3);
    thread::scope(|scope| {
        for kind in 0..3 {
            let (wal, stop, running) = (&wal, &stop, &running);
            scope.spawn(move || {
                while !stop.load(Relaxed) {
                    let (lsn, ()) = wal.append(kind, &[&[kind; 2000]], |_| ()).unwrap();
                    if lsn % 3 == 0 {
                        wal.wait(lsn).unwrap();
                    }
                }
                running.fetch_sub(1, Relaxed);
            });
        }
        let begun = Instant::now();
        let is_slow = || begun.elapsed() > Duration::from_secs(30);
        // Until they are released, records fill the log, and no more.
        while wal.used_bytes() + 2 * 4096 < wal.capacity_bytes() && !is_slow() {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(10));
        let full = wal.end();
        thread::sleep(Duration::from_millis(10));
        assert_eq!(wal.end(), full);
        while running.load(Relaxed) > 0 && !is_slow() {
            stop.store(wal.stats().pages >= 1000, Relaxed);
            wal.release(wal.durable()).unwrap();
            thread::sleep(Duration::from_micros(100));
        }
        assert!(!is_slow());
    });
    wal.close().unwrap();
}

#[test]
fn those_who_wait_at_the_same_time_share_flushes() {
    for flusher in [Flusher::Background, Flusher::Inline] {
        let shape = Shape { bytes: 64 << 20, ..Shape::default() };
        let drive = Drive { flush_latency: Duration::from_millis(2), ..Drive::ZN540 };
        let device: Arc<dyn Device> =
            Arc::new(Timed::new(in_memory(&shape).unwrap(), drive, Clock::Real));
        Wal::format(device.clone(), 7).unwrap();
        let wal = open(&device, &WalOptions { flusher, ..WalOptions::default() });
        let order = AtomicU64::new(0);
        thread::scope(|scope| {
            for kind in 0..16 {
                let (wal, order) = (&wal, &order);
                scope.spawn(move || {
                    for _ in 0..20 {
                        let swap = |lsn| assert!(order.swap(lsn, Relaxed) < lsn);
                        let (lsn, ()) = wal.append(kind, &[&[kind; 100]], swap).unwrap();
                        wal.wait(lsn).unwrap();
                        assert!(wal.durable() >= lsn);
                    }
                });
            }
        });
        let stats = wal.stats();
        assert_eq!((stats.records, stats.bytes), (320, 320 * 102));
        assert!(stats.flushes <= 100, "{} flushes for 320 waits", stats.flushes);
        drop(wal);
        assert_eq!(replayed(&open(&device, &INLINE)).len(), 320);
    }
}

#[test]
fn what_nobody_waits_for_is_durable_after_the_delay() {
    let device = formatted(4);
    let options = WalOptions { delay: Duration::from_millis(5), ..WalOptions::default() };
    let wal = open(&device, &options);
    for number in 0..3 {
        let lsn = append(&wal, number, 10);
        let begun = Instant::now();
        while wal.durable() < lsn {
            assert!(begun.elapsed() < Duration::from_secs(10));
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(number * 10));
    }
    assert_eq!(wal.stats().flushes, 3);
}

#[test]
fn an_error_of_the_device_ends_writing_and_is_told_to_all() {
    for flusher in [Flusher::Background, Flusher::Inline] {
        let device = Arc::new(Faulty::new(formatted(4), 1));
        let options = WalOptions { flusher, ..INLINE };
        let wal = Wal::open(device.clone(), 7, &options).unwrap();
        wal.wait(append(&wal, 1, 10)).unwrap();
        device.schedule(device.operations() + 1, Fault::Error);
        let lsn = append(&wal, 2, 10);
        let failed = |result: Result<(), WalError>| {
            let Err(WalError::Device(error)) = result else { panic!("{result:?}") };
            assert!(matches!(*error, DeviceError::Io { .. }), "{error}");
        };
        failed(wal.wait(lsn));
        failed(wal.wait(lsn));
        failed(wal.append(3, &[], |_| ()).map(drop));
        failed(wal.release(lsn));
        failed(wal.close());
    }
}

#[test]
fn a_device_without_a_log_or_too_small_for_one_is_refused() {
    let device = in_memory(&shape(4)).unwrap();
    let opened = |id| Wal::open(device.clone(), id, &INLINE).map(drop);
    assert!(matches!(opened(7), Err(WalError::NotALog { id: 7 })));
    Wal::format(device.clone(), 7).unwrap();
    assert!(matches!(opened(8), Err(WalError::NotALog { id: 8 })));
    opened(7).unwrap();
    Wal::format(device.clone(), 8).unwrap();
    assert!(matches!(opened(7), Err(WalError::NotALog { .. })));
    let small = Wal::format(in_memory(&shape(2)).unwrap(), 7);
    assert!(matches!(small, Err(WalError::Unsuitable { .. })));
    let page = Shape { bytes: 1 << 16, zone_bytes: Some(4096), ..Shape::default() };
    let small = Wal::format(in_memory(&page).unwrap(), 7);
    assert!(matches!(small, Err(WalError::Unsuitable { .. })));
}

#[test]
fn zones_that_can_no_longer_be_written_are_left_out() {
    // A drive counts such a zone no longer as active; memory below the fault does.
    let shape = Shape { max_open: None, max_active: None, ..shape(6) };
    let device = in_memory(&shape).unwrap();
    Wal::format(device.clone(), 7).unwrap();
    let device = Arc::new(Faulty::new(device, 1));
    let wear = |zone, state| device.schedule(device.operations() + 1, Fault::Wear { zone, state });
    let wal = Wal::open(device.clone(), 7, &INLINE).unwrap();
    let capacity = wal.capacity_bytes();
    wear(1, ZoneState::ReadOnly);
    append(&wal, 1, 55_000);
    append(&wal, 2, 55_000);
    wal.close().unwrap();
    drop(wal);
    // The zone that was written can only be read: the log goes on in another.
    wear(3, ZoneState::ReadOnly);
    device.flush().unwrap();
    let wal = Wal::open(device.clone(), 7, &INLINE).unwrap();
    assert_eq!(replayed(&wal).len(), 2);
    wal.wait(append(&wal, 3, 10)).unwrap();
    drop(wal);
    let wal = Wal::open(device.clone(), 7, &INLINE).unwrap();
    assert_eq!(replayed(&wal).len(), 3);
    assert!(wal.capacity_bytes() <= capacity - 2 * ZONE);
}

#[test]
fn a_zone_that_can_not_be_reset_is_counted_and_the_log_goes_on() {
    let device = in_memory(&shape(6)).unwrap();
    Wal::format(device.clone(), 7).unwrap();
    let device = Arc::new(Faulty::new(device, 1));
    let wal = Wal::open(device.clone(), 7, &INLINE).unwrap();
    let capacity = wal.capacity_bytes();
    let last = (1..=3).map(|number| append(&wal, number, 55_000)).last().unwrap();
    wal.wait(last).unwrap();
    assert_eq!(wal.stats().zones_lost, 0);
    let wear = Fault::Wear { zone: 0, state: ZoneState::ReadOnly };
    device.schedule(device.operations() + 1, wear);
    wal.release(last).unwrap();
    assert_eq!((wal.stats().zones_lost, wal.capacity_bytes()), (1, capacity - ZONE));
    wal.wait(append(&wal, 4, 10)).unwrap();
}

#[test]
fn a_log_is_formatted_over_one_whose_zones_are_full() {
    let device = formatted(4);
    let wal = open(&device, &INLINE);
    while wal.append(1, &[&[1; 1000]], |_| ()).and_then(|(lsn, ())| wal.wait(lsn)).is_ok() {}
    drop(wal);
    let zones = device.report(0, 4).unwrap();
    assert!(zones.iter().filter(|zone| zone.state == ZoneState::Full).count() >= 3);
    Wal::format(device.clone(), 8).unwrap();
    let wal = Wal::open(device, 8, &INLINE).unwrap();
    assert_eq!((wal.end(), replayed(&wal)), (0, vec![]));
}
