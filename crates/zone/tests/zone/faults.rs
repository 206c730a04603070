//! Faults that are set by hand, and random faults that a seed repeats.

mod parity;

use std::time::Instant;

use frostline_zone::{
    Device, DeviceError, Fault, Faulty, Operation, Shape, Tail, ZoneState, in_memory,
};

fn small_shape() -> Shape {
    Shape { bytes: 4 << 20, zone_bytes: Some(64 << 10), ..Shape::default() }
}

fn small() -> Faulty {
    Faulty::new(in_memory(&small_shape()).unwrap(), 7)
}

fn contents(device: &dyn Device) -> Vec<Vec<u8>> {
    let zones = device.report(0, device.geometry().zones).unwrap();
    let read = |(zone, info): (u32, &frostline_zone::ZoneInfo)| {
        let mut bytes = vec![0; info.write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        bytes
    };
    (0..).zip(&zones).map(read).collect()
}

#[test]
fn flipped_bits_stay_until_their_zone_is_reset() {
    let device = small();
    device.append(1, 0, &[0; 8192]).unwrap();
    device.flip(1, 5000, 0x81);
    device.flush().unwrap();
    let device = device.restart().unwrap();
    let mut block = [0; 4096];
    device.read(1, 4096, &mut block).unwrap();
    assert_eq!(block[904], 0x81);
    device.read(1, 0, &mut block).unwrap();
    assert_eq!(block, [0; 4096]);
    device.reset(1).unwrap();
    device.append(1, 0, &[0; 8192]).unwrap();
    device.read(1, 4096, &mut block).unwrap();
    assert_eq!(block, [0; 4096]);
}

#[test]
fn unreadable_blocks_fail_reads_that_touch_them() {
    let device = small();
    device.append(2, 0, &[1; 8192]).unwrap();
    device.fail_reads(2, 4096);
    let failed = device.read(2, 0, &mut [0; 8192]).unwrap_err();
    let DeviceError::Io { operation: Operation::Read, zone: 2, offset: 4096, .. } = failed else {
        panic!("{failed}");
    };
    device.read(2, 0, &mut [0; 4096]).unwrap();
}

#[test]
fn worn_zones_refuse_and_show_it() {
    let device = small();
    device.append(3, 0, &[1; 4096]).unwrap();
    device.flush().unwrap();
    device.schedule(3, Fault::Wear { zone: 3, state: ZoneState::ReadOnly });
    let refused = device.append(3, 4096, &[1; 4096]);
    assert!(matches!(refused, Err(DeviceError::ReadOnlyZone { zone: 3, .. })));
    device.read(3, 0, &mut [0; 4096]).unwrap();

    let device = device.restart().unwrap();
    assert_eq!(device.zone(3).unwrap().state, ZoneState::ReadOnly);
    device.schedule(1, Fault::Wear { zone: 3, state: ZoneState::Offline });
    device.append(4, 0, &[1; 4096]).unwrap();
    assert_eq!(device.zone(3).unwrap().state, ZoneState::Offline);
    let refused = device.read(3, 0, &mut [0; 4096]);
    assert!(matches!(refused, Err(DeviceError::OfflineZone { zone: 3, .. })));
}

#[test]
fn scheduled_errors_leave_the_zone_as_it_was() {
    let device = small();
    device.schedule(1, Fault::Error);
    let failed = device.append(0, 0, &[1; 4096]);
    assert!(matches!(failed, Err(DeviceError::Io { operation: Operation::Append, .. })));
    device.append(0, 0, &[1; 4096]).unwrap();
    device.schedule(3, Fault::Error);
    assert!(matches!(device.flush(), Err(DeviceError::Flush { .. })));
}

/// Appends from a process that is then killed. Returns the number of blocks that are there
/// afterwards, and the number that is left after a power cut, with a flush before the cut or
/// without.
fn killed(seed: u64, flush: bool) -> (u64, u64) {
    let device = in_memory(&Shape { bytes: 1 << 20, ..Shape::default() }).unwrap();
    let device = Faulty::new(device, seed);
    device.schedule(1, Fault::Kill);
    let killed = device.append(0, 0, &[9; 65536]);
    assert!(matches!(killed, Err(DeviceError::Crashed)));
    let device = device.reopen().unwrap();
    let there = device.zone(0).unwrap().write_pointer;
    assert_eq!(contents(&device)[0], vec![9; there as usize]);
    if flush {
        device.flush().unwrap();
    }
    let left = device.restart().unwrap().zone(0).unwrap().write_pointer;
    (there / 4096, left / 4096)
}

#[test]
fn what_a_killed_process_did_is_there_and_survives_power_cuts_from_the_next_flush_on() {
    let all = |flush| (0..100).map(move |seed| killed(seed, flush)).collect::<Vec<_>>();
    assert!(all(true).iter().all(|(there, left)| there == left));
    let lost = all(false).iter().filter(|(there, left)| left < there).count();
    assert!((20..90).contains(&lost), "{lost}");
    let cut = all(false).iter().filter(|(there, _)| (1..16).contains(there)).count();
    assert!(cut > 50, "{cut}");
}

#[test]
fn appends_that_fail_half_way_leave_their_first_blocks() {
    let device = small();
    let mut lengths: Vec<_> = (0..16)
        .map(|zone| {
            device.schedule(device.operations() + 1, Fault::Partial);
            let failed = device.append(zone, 0, &[3; 16384]);
            assert!(matches!(failed, Err(DeviceError::Io { operation: Operation::Append, .. })));
            let at = device.zone(zone).unwrap().write_pointer;
            device.append(zone, at, &[4; 4096]).unwrap();
            at / 4096
        })
        .collect();
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 2 && lengths.iter().all(|&blocks| blocks <= 4), "{lengths:?}");
}

#[test]
fn after_a_flush_that_failed_none_succeeds_and_its_content_may_be_lost_to_the_next_process() {
    let mut lost = 0;
    for seed in 0..50 {
        let device = in_memory(&Shape { bytes: 1 << 20, ..Shape::default() }).unwrap();
        let device = Faulty::new(device, seed);
        device.append(0, 0, &[9; 8192]).unwrap();
        device.schedule(2, Fault::Error);
        assert!(matches!(device.flush(), Err(DeviceError::Flush { .. })));
        assert!(matches!(device.flush(), Err(DeviceError::FlushFailedBefore)));
        let device = device.reopen().unwrap();
        let there = device.zone(0).unwrap().write_pointer;
        device.flush().unwrap();
        assert_eq!(device.restart().unwrap().zone(0).unwrap().write_pointer, there);
        lost += u32::from(there < 8192);
    }
    assert!((10..45).contains(&lost), "{lost}");
}

#[test]
fn the_same_seed_loses_the_same() {
    let lost = |seed| {
        let shape = Shape { bytes: 1 << 20, zone_bytes: Some(64 << 10), ..Shape::default() };
        let device = Faulty::new(in_memory(&shape).unwrap(), seed).with_tail(Tail::Garbage);
        for zone in 0..16 {
            device.append(zone, 0, &[zone as u8; 40960]).unwrap();
        }
        contents(&device.restart().unwrap())
    };
    assert_eq!(lost(1), lost(1));
    assert_ne!(lost(1), lost(2));
}

#[test]
fn every_kind_of_end_happens() {
    let (mut whole, mut torn, mut garbage) = (0, 0, 0);
    for seed in 0..300 {
        let device = in_memory(&Shape { bytes: 1 << 20, ..Shape::default() }).unwrap();
        let device = Faulty::new(device, seed).with_tail(Tail::Garbage);
        device.append(0, 0, &[9; 65536]).unwrap();
        let bytes = contents(&device.restart().unwrap()).swap_remove(0);
        match bytes.iter().position(|&byte| byte != 9) {
            None => whole += 1,
            Some(end) if bytes.len() - end < 4096 => torn += 1,
            Some(_) => garbage += 1,
        }
    }
    assert!(whole > 50 && torn > 10 && garbage > 10, "{whole} {torn} {garbage}");
}

#[test]
fn unflushed_resets_and_finishes_happen_or_not() {
    let (mut reset, mut finished, mut flushed) = (0, 0, 0);
    for seed in 0..200 {
        let shape = Shape { bytes: 1 << 20, zone_bytes: Some(64 << 10), ..Shape::default() };
        let device = Faulty::new(in_memory(&shape).unwrap(), seed);
        for zone in 0..3 {
            device.append(zone, 0, &[9; 8192]).unwrap();
        }
        device.flush().unwrap();
        device.reset(0).unwrap();
        device.finish(1).unwrap();
        device.append(2, 8192, &[9; 4096]).unwrap();
        device.schedule(device.operations() + 1, Fault::PowerCut);
        assert!(matches!(device.flush(), Err(DeviceError::Crashed)));
        let device = device.restart().unwrap();
        let states = [0, 1, 2].map(|zone| device.zone(zone).unwrap());
        reset += u32::from(states[0].state == ZoneState::Empty);
        finished += u32::from(states[1].state == ZoneState::Full);
        flushed += u32::from(states[2].write_pointer > 8192);
    }
    for often in [reset, finished, flushed] {
        assert!((40..=180).contains(&often), "{reset} {finished} {flushed}");
    }
}

#[test]
fn a_thousand_crashes_take_little_time() {
    let begin = Instant::now();
    let mut device = small();
    for crash in 0..1000u64 {
        device.schedule(20, Fault::PowerCut);
        for zone in (0..64).cycle() {
            let info = device.zone(zone).unwrap();
            let done = if info.state == ZoneState::Full {
                device.reset(zone)
            } else {
                device.append(zone, info.write_pointer, &[crash as u8; 4096])
            };
            if matches!(done, Err(DeviceError::Crashed)) {
                break;
            }
            done.unwrap();
        }
        device = device.restart().unwrap();
    }
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
}

#[test]
fn the_nth_operation_of_a_kind_fails_and_nothing_is_done() {
    let device = small();
    device.fail(Operation::Append, 2..3, Fault::Refused);
    device.fail(Operation::Read, 1..3, Fault::Error);
    device.append(1, 0, &[1; 4096]).unwrap();
    let refused = device.append(1, 4096, &[2; 4096]).unwrap_err();
    assert!(!refused.is_of_zone(), "{refused}");
    device.append(1, 4096, &[3; 4096]).unwrap();
    let mut block = [0; 4096];
    for _ in 0..2 {
        let failed = device.read(1, 4096, &mut block).unwrap_err();
        assert!(failed.is_of_zone(), "{failed}");
    }
    device.read(1, 4096, &mut block).unwrap();
    assert_eq!((block, device.count(Operation::Append)), ([3; 4096], 3));
    device.fail(Operation::Report, 1..u64::MAX, Fault::Error);
    device.zone(1).unwrap_err();
    device.stop_failing();
    device.zone(1).unwrap();
}

#[test]
fn a_read_that_goes_astray_gives_another_zone_and_a_stale_one_what_was_there_before() {
    let device = small();
    for zone in [1, 2] {
        device.append(zone, 0, &[zone as u8; 4096]).unwrap();
    }
    device.fail(Operation::Read, 1..2, Fault::Misdirected);
    device.fail(Operation::Read, 2..3, Fault::Stale);
    let mut block = [0; 4096];
    device.read(1, 0, &mut block).unwrap();
    assert_eq!(block, [2; 4096]);
    device.reset(1).unwrap();
    device.append(1, 0, &[3; 4096]).unwrap();
    device.read(1, 0, &mut block).unwrap();
    assert_eq!(block, [1; 4096]);
    device.read(1, 0, &mut block).unwrap();
    assert_eq!(block, [3; 4096]);
}

#[test]
fn a_block_may_be_lost_before_others_that_are_there() {
    let mut holes = 0;
    for seed in 0..40 {
        let device = Faulty::new(in_memory(&small_shape()).unwrap(), seed).with_tail(Tail::Holes);
        device.append(1, 0, &[1; 5 * 4096]).unwrap();
        let contents = contents(&device.restart().unwrap()).swap_remove(1);
        let is_whole: Vec<_> = contents.chunks(4096).map(|block| block == [1; 4096]).collect();
        holes += u32::from(is_whole.windows(2).any(|two| two == [false, true]));
    }
    assert!(holes > 3, "{holes}");
}
