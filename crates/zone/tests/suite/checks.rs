//! The checks. Each begins with empty zones.

use std::io::IoSlice;
use std::thread;

use frostline_zone::{AlignedBuf, Device, DeviceError, ZoneRead, ZoneState};

use super::Check;

pub(super) const ALL: &[Check] = &[
    ("geometry and report agree", geometry_and_report_agree),
    ("empty zones are empty", empty_zones_are_empty),
    ("appends move the write pointer and are read back", appends_are_read_back),
    ("memory may lie anywhere", memory_may_lie_anywhere),
    ("parts are written one behind the other", parts_are_written_in_order),
    ("appends elsewhere than at the write pointer are refused", appends_elsewhere_are_refused),
    ("what is not in blocks is refused", what_is_not_in_blocks_is_refused),
    ("reads beyond the write pointer are refused", reads_beyond_the_pointer_are_refused),
    ("several places are read at once", several_places_are_read_at_once),
    ("zones hold their capacity and no more", zones_hold_their_capacity),
    ("reset zones are written anew", reset_zones_are_written_anew),
    ("finished zones are full and keep their pages", finished_zones_are_full),
    ("zones that do not exist are refused", zones_that_do_not_exist_are_refused),
    ("conventional zones are left alone", conventional_zones_are_left_alone),
    ("more zones may be written than may be open", more_zones_than_may_be_open),
    ("no more zones may be active than the limit", no_more_active_than_the_limit),
    ("threads write their zones side by side", threads_write_side_by_side),
];

fn block(device: &dyn Device) -> usize {
    device.geometry().block_bytes as usize
}

/// Blocks filled with bytes that depend on zone and place.
fn pattern(device: &dyn Device, zone: u32, first: usize, blocks: usize) -> AlignedBuf {
    let block = block(device);
    let mut data = AlignedBuf::zeroed(blocks * block);
    for (n, block) in data.chunks_mut(block).enumerate() {
        block.fill((zone as usize * 31 + first + n) as u8);
    }
    data
}

fn read(device: &dyn Device, zone: u32, offset: usize, bytes: usize) -> AlignedBuf {
    let mut data = AlignedBuf::zeroed(bytes);
    device.read(zone, offset as u64, &mut data).unwrap();
    data
}

fn state(device: &dyn Device, zone: u32) -> (ZoneState, u64) {
    let info = device.zone(zone).unwrap();
    (info.state, info.write_pointer)
}

fn geometry_and_report_agree(device: &dyn Device, _: &[u32]) {
    let geometry = device.geometry();
    assert!(geometry.block_bytes.is_power_of_two());
    assert!(geometry.zone_capacity > 0 && geometry.zone_capacity <= geometry.zone_bytes);
    let zones = device.report(0, u32::MAX).unwrap();
    assert_eq!(zones.len(), geometry.zones as usize);
    for (zone, info) in (0..).zip(&zones) {
        let is_conventional = info.state == ZoneState::Conventional;
        assert_eq!(is_conventional, geometry.conventional.contains(&zone));
        assert!(is_conventional || info.capacity <= geometry.zone_capacity);
        assert!(info.write_pointer <= info.capacity);
    }
    assert_eq!(device.report(1, 2).unwrap(), zones[1..3]);
    assert_eq!(device.report(geometry.zones - 1, 5).unwrap().len(), 1);
}

fn empty_zones_are_empty(device: &dyn Device, zones: &[u32]) {
    assert!(zones.iter().all(|&zone| state(device, zone) == (ZoneState::Empty, 0)));
    device.reset(zones[0]).unwrap();
    device.append(zones[0], 0, &[]).unwrap();
    device.read(zones[0], 0, &mut []).unwrap();
    assert_eq!(state(device, zones[0]), (ZoneState::Empty, 0));
}

fn appends_are_read_back(device: &dyn Device, zones: &[u32]) {
    let block = block(device);
    for &zone in &zones[..2] {
        device.append(zone, 0, &pattern(device, zone, 0, 1)).unwrap();
        device.append(zone, block as u64, &pattern(device, zone, 1, 7)).unwrap();
        assert!(device.zone(zone).unwrap().state.is_active());
        assert_eq!(state(device, zone).1, 8 * block as u64);
        assert_eq!(read(device, zone, 0, 8 * block)[..], pattern(device, zone, 0, 8)[..]);
        assert_eq!(read(device, zone, 5 * block, block)[..], pattern(device, zone, 5, 1)[..]);
    }
    device.flush().unwrap();
    device.flush().unwrap();
}

fn memory_may_lie_anywhere(device: &dyn Device, zones: &[u32]) {
    let block = block(device);
    let mut memory = vec![0; 2 * block + 1];
    memory[1..].copy_from_slice(&pattern(device, zones[0], 0, 2));
    device.append(zones[0], 0, &memory[1..]).unwrap();
    let mut back = vec![0; 2 * block + 1];
    device.read(zones[0], 0, &mut back[1..]).unwrap();
    assert_eq!(back, memory);
}

fn parts_are_written_in_order(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[0]);
    let whole = pattern(device, zone, 0, 6);
    let (header, pages) = whole.split_at(block);
    let parts = [IoSlice::new(header), IoSlice::new(&[]), IoSlice::new(pages)];
    device.append_vectored(zone, 0, &parts).unwrap();
    let (uneven, rest) = whole.split_at(100);
    let parts = [IoSlice::new(uneven), IoSlice::new(rest)];
    device.append_vectored(zone, 6 * block as u64, &parts).unwrap();
    let many: Vec<_> = whole.chunks(block).cycle().take(1500).map(IoSlice::new).collect();
    let many = &many[..many.len().min(room(device, zone) / block)];
    device.append_vectored(zone, 12 * block as u64, many).unwrap();
    for first in [0, 6, 12, 18] {
        assert_eq!(read(device, zone, first * block, 6 * block)[..], whole[..]);
    }
}

fn room(device: &dyn Device, zone: u32) -> usize {
    let info = device.zone(zone).unwrap();
    (info.capacity - info.write_pointer) as usize
}

fn appends_elsewhere_are_refused(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device) as u64, zones[1]);
    let data = pattern(device, zone, 0, 2);
    device.append(zone, 0, &data).unwrap();
    for at in [0, block, 3 * block, 1 << 60] {
        let refused = device.append(zone, at, &data);
        let Err(DeviceError::NotAtWritePointer { pointer, .. }) = refused else {
            panic!("{at}: {refused:?}");
        };
        assert_eq!(pointer, 2 * block);
    }
    device.append(zone, 2 * block, &data).unwrap();
}

fn what_is_not_in_blocks_is_refused(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[0]);
    let refused = device.append(zone, 0, &vec![0; block - 1]);
    assert!(matches!(refused, Err(DeviceError::Unaligned { .. })), "{refused:?}");
    let refused = device.append(zone, 1, &vec![0; block]);
    assert!(matches!(refused, Err(DeviceError::Unaligned { .. })), "{refused:?}");
    device.append(zone, 0, &pattern(device, zone, 0, 2)).unwrap();
    for (offset, bytes) in [(1, block), (0, 100), (7, 2 * block - 7)] {
        let refused = device.read(zone, offset, &mut vec![0; bytes]);
        assert!(matches!(refused, Err(DeviceError::Unaligned { .. })), "{refused:?}");
    }
}

fn reads_beyond_the_pointer_are_refused(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[0]);
    device.append(zone, 0, &pattern(device, zone, 0, 2)).unwrap();
    let last = u64::MAX - u64::MAX % block as u64;
    for (offset, blocks) in [(0, 3), (block as u64, 2), (2 * block as u64, 1), (last, 1)] {
        let refused = device.read(zone, offset, &mut vec![0; blocks * block]);
        assert!(matches!(refused, Err(DeviceError::ReadBeyondPointer { .. })), "{refused:?}");
    }
}

fn several_places_are_read_at_once(device: &dyn Device, zones: &[u32]) {
    let block = block(device);
    let wanted: Vec<_> = zones[..2].iter().map(|&zone| pattern(device, zone, 0, 4)).collect();
    for (&zone, data) in zones.iter().zip(&wanted) {
        device.append(zone, 0, data).unwrap();
    }
    // Of one zone and of two, of one length and of two, and memory that lies anywhere.
    let places = [(0, 0, 1), (1, 2, 2), (0, 1, 2), (1, 0, 1), (0, 3, 1), (1, 3, 1)];
    for count in 1..=places.len() {
        let mut memory: Vec<_> =
            places.iter().map(|(_, _, blocks)| AlignedBuf::zeroed(blocks * block + 1)).collect();
        for shift in [0, 1] {
            let placed = places[..count].iter().zip(&mut memory);
            let mut reads: Vec<_> = placed
                .map(|(&(zone, at, blocks), memory)| ZoneRead {
                    zone: zones[zone],
                    offset: (at * block) as u64,
                    buffer: &mut memory[shift..][..blocks * block],
                })
                .collect();
            device.read_all(&mut reads).unwrap();
            for (read, (zone, at, blocks)) in reads.iter().zip(places) {
                assert_eq!(read.buffer, &wanted[zone][at * block..][..blocks * block]);
            }
            reads[count - 1].offset = 4 * block as u64;
            let beyond = device.read_all(&mut reads);
            assert!(matches!(beyond, Err(DeviceError::ReadBeyondPointer { .. })), "{beyond:?}");
        }
    }
}

fn zones_hold_their_capacity(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[2]);
    let capacity = device.zone(zone).unwrap().capacity;
    let step = (1 << 20).min(capacity as usize / 3) / block;
    let mut at = 0;
    while room(device, zone) > block {
        let blocks = step.min(room(device, zone) / block - 1);
        let first = (at / block as u64) as usize;
        device.append(zone, at, &pattern(device, zone, first, blocks)).unwrap();
        at += (blocks * block) as u64;
    }
    assert!(device.zone(zone).unwrap().state.is_active());
    let refused = device.append(zone, at, &vec![0; 2 * block]);
    assert!(matches!(refused, Err(DeviceError::BeyondCapacity { .. })), "{refused:?}");
    device.append(zone, at, &pattern(device, zone, (at / block as u64) as usize, 1)).unwrap();
    assert_eq!(state(device, zone), (ZoneState::Full, capacity));
    let refused = device.append(zone, capacity, &vec![0; block]);
    assert!(matches!(refused, Err(DeviceError::ZoneFull { .. })), "{refused:?}");
    for first in [0, step + 1, capacity as usize / block - 2] {
        let back = read(device, zone, first * block, 2 * block);
        assert_eq!(back[..], pattern(device, zone, first, 2)[..]);
    }
}

fn reset_zones_are_written_anew(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[0]);
    device.append(zone, 0, &pattern(device, zone, 0, 4)).unwrap();
    device.reset(zone).unwrap();
    assert_eq!(state(device, zone), (ZoneState::Empty, 0));
    let refused = device.read(zone, 0, &mut vec![0; block]);
    assert!(matches!(refused, Err(DeviceError::ReadBeyondPointer { .. })), "{refused:?}");
    device.append(zone, 0, &pattern(device, zone, 9, 2)).unwrap();
    assert_eq!(read(device, zone, 0, 2 * block)[..], pattern(device, zone, 9, 2)[..]);
    device.finish(zone).unwrap();
    device.reset(zone).unwrap();
    assert_eq!(state(device, zone), (ZoneState::Empty, 0));
}

fn finished_zones_are_full(device: &dyn Device, zones: &[u32]) {
    let (block, zone) = (block(device), zones[0]);
    let capacity = device.zone(zone).unwrap().capacity;
    device.append(zone, 0, &pattern(device, zone, 0, 3)).unwrap();
    for _ in 0..2 {
        device.finish(zone).unwrap();
        assert_eq!(state(device, zone), (ZoneState::Full, capacity));
    }
    let refused = device.append(zone, 3 * block as u64, &vec![0; block]);
    assert!(matches!(refused, Err(DeviceError::ZoneFull { .. })), "{refused:?}");
    assert_eq!(read(device, zone, 0, 3 * block)[..], pattern(device, zone, 0, 3)[..]);
    read(device, zone, 0, 4 * block);
    device.finish(zones[1]).unwrap();
    assert_eq!(state(device, zones[1]).0, ZoneState::Full);
}

fn zones_that_do_not_exist_are_refused(device: &dyn Device, _: &[u32]) {
    for zone in [device.geometry().zones, u32::MAX] {
        let results = [
            device.append(zone, 0, &[]),
            device.read(zone, 0, &mut []),
            device.reset(zone),
            device.finish(zone),
            device.report(zone, 1).map(drop),
        ];
        for refused in results {
            assert!(matches!(refused, Err(DeviceError::NoSuchZone { .. })), "{refused:?}");
        }
    }
}

fn conventional_zones_are_left_alone(device: &dyn Device, _: &[u32]) {
    for &zone in &device.geometry().conventional {
        let block = block(device);
        let results = [
            device.append(zone, 0, &vec![0; block]),
            device.read(zone, 0, &mut vec![0; block]),
            device.reset(zone),
            device.finish(zone),
        ];
        for refused in results {
            assert!(matches!(refused, Err(DeviceError::ConventionalZone { .. })), "{refused:?}");
        }
    }
}

fn more_zones_than_may_be_open(device: &dyn Device, zones: &[u32]) {
    let geometry = device.geometry();
    let most = geometry.max_active.map_or(zones.len(), |limit| zones.len().min(limit as usize));
    let block = block(device) as u64;
    for round in 0..3 {
        for &zone in &zones[..most] {
            device.append(zone, round * block, &pattern(device, zone, 0, 1)).unwrap();
            assert_eq!(device.zone(zone).unwrap().state, ZoneState::ImplicitOpen);
        }
    }
    let all = device.report(0, geometry.zones).unwrap();
    let open = all.iter().filter(|info| info.state == ZoneState::ImplicitOpen).count();
    assert_eq!(open, geometry.max_open.map_or(most, |limit| most.min(limit as usize)));
}

fn no_more_active_than_the_limit(device: &dyn Device, zones: &[u32]) {
    let Some(limit) = device.geometry().max_active.map(|limit| limit as usize) else {
        return;
    };
    if limit + 2 > zones.len() {
        return;
    }
    let begin = |zone| device.append(zone, 0, &pattern(device, zone, 0, 1));
    zones[..limit].iter().for_each(|&zone| begin(zone).unwrap());
    let refused = begin(zones[limit]);
    assert!(matches!(refused, Err(DeviceError::TooManyActive { .. })), "{refused:?}");
    device.finish(zones[0]).unwrap();
    begin(zones[limit]).unwrap();
    assert!(begin(zones[limit + 1]).is_err());
    device.reset(zones[1]).unwrap();
    begin(zones[limit + 1]).unwrap();
}

fn threads_write_side_by_side(device: &dyn Device, zones: &[u32]) {
    let block = block(device);
    thread::scope(|scope| {
        for &zone in &zones[..4] {
            scope.spawn(move || {
                for n in 0..16 {
                    device.append(zone, (n * block) as u64, &pattern(device, zone, n, 1)).unwrap();
                    let back = read(device, zone, n / 2 * block, block);
                    assert_eq!(back[..], pattern(device, zone, n / 2, 1)[..]);
                    if n % 5 == 0 {
                        device.flush().unwrap();
                    }
                }
            });
        }
    });
    for &zone in &zones[..4] {
        assert_eq!(read(device, zone, 0, 16 * block)[..], pattern(device, zone, 0, 16)[..]);
    }
}
