//! A view that keeps changes of a device in memory.

use std::sync::Arc;

use frostline_zone::{
    Device, DeviceError, Faulty, OpenOptions, Overlay, Shape, ZoneRead, ZoneState, create,
    in_memory, open,
};

const ALL: u64 = u64::MAX;
const ZONE: u64 = 64 << 10;

fn shape() -> Shape {
    Shape::of_zones(8, ZONE)
}

/// The states and the content of all zones.
fn content(device: &dyn Device) -> Vec<(ZoneState, Vec<u8>)> {
    let zones = device.report(0, device.geometry().zones).unwrap();
    let read = |(zone, info): (u32, &frostline_zone::ZoneInfo)| {
        let mut bytes = vec![0; info.write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        (info.state, bytes)
    };
    (0..).zip(&zones).map(read).collect()
}

/// A device with a begun zone, a full zone, and a zone that was finished early.
fn used() -> Arc<dyn Device> {
    let device = in_memory(&shape()).unwrap();
    device.append(0, 0, &[1; 8192]).unwrap();
    device.append(1, 0, &[2; ZONE as usize]).unwrap();
    device.append(2, 0, &[3; 4096]).unwrap();
    device.finish(2).unwrap();
    device
}

#[test]
fn a_view_begins_as_the_device_below_and_changes_alone() {
    let below = used();
    let before = content(&*below);
    let view = Overlay::over(below.clone(), ALL).unwrap();
    assert_eq!(
        content(&*view).iter().map(|z| &z.1).collect::<Vec<_>>(),
        before.iter().map(|z| &z.1).collect::<Vec<_>>()
    );
    // Appends behind content from below, over such content after a reset, and to an empty zone.
    view.append(0, 8192, &[4; 4096]).unwrap();
    view.finish(0).unwrap();
    view.reset(1).unwrap();
    view.append(1, 0, &[5; 4096]).unwrap();
    view.append(3, 0, &[6; 4096]).unwrap();
    view.flush().unwrap();
    assert_eq!(content(&*below), before);
    let mut bytes = vec![9; 16384];
    view.read(0, 0, &mut bytes).unwrap();
    assert!(bytes[..8192] == [1; 8192] && bytes[8192..12288] == [4; 4096]);
    let seen = content(&*view);
    assert_eq!((seen[0].0, seen[1].1.as_slice()), (ZoneState::Full, &[5; 4096][..]));
    assert_eq!(seen[3].1, [6; 4096]);
    // Side by side as one by one, from below alone and with what was appended here.
    for places in [&[(0, 0), (2, 0), (0, 4096)][..], &[(0, 4096), (0, 8192), (1, 0), (3, 0)]] {
        let mut alone = vec![[0; 4096]; places.len()];
        let mut together = alone.clone();
        for (&(zone, offset), buffer) in places.iter().zip(&mut alone) {
            view.read(zone, offset, buffer).unwrap();
        }
        let of = |(&(zone, offset), buffer)| ZoneRead { zone, offset, buffer };
        let mut reads: Vec<_> =
            places.iter().zip(together.iter_mut().map(|buffer| &mut buffer[..])).map(of).collect();
        view.read_all(&mut reads).unwrap();
        assert!(alone == together);
    }
    assert!(matches!(view.append(0, 0, &[0; 4096]), Err(DeviceError::ZoneFull { zone: 0 })));
}

#[test]
fn no_more_memory_is_taken_than_allowed_and_resets_give_it_back() {
    let view = Overlay::over(used(), 8192).unwrap();
    view.append(3, 0, &[1; 8192]).unwrap();
    let refused = view.append(4, 0, &[1; 4096]).unwrap_err();
    assert!(!refused.is_of_zone() && refused.to_string().contains("8192 bytes"), "{refused}");
    assert_eq!(view.zone(4).unwrap().state, ZoneState::Empty);
    view.reset(3).unwrap();
    view.append(4, 0, &[1; 4096]).unwrap();
}

#[test]
fn zones_that_are_read_only_below_can_be_written_and_offline_ones_are_lost() {
    let below = Arc::new(Faulty::new(used(), 1));
    for (zone, state) in
        [(0, ZoneState::ReadOnly), (1, ZoneState::Offline), (3, ZoneState::ReadOnly)]
    {
        below.schedule(below.operations() + 1, frostline_zone::Fault::Wear { zone, state });
        let _ = below.reset(zone);
    }
    let view = Overlay::over(below, ALL).unwrap();
    view.append(0, 8192, &[4; 4096]).unwrap();
    view.append(3, 0, &[4; 4096]).unwrap();
    assert!(matches!(view.reset(1), Err(DeviceError::OfflineZone { zone: 1, .. })));
}

#[test]
fn a_device_that_is_open_for_reading_only_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("file:{}", directory.path().join("d").display());
    create(&uri, &shape(), &OpenOptions::default()).unwrap().append(5, 0, &[7; 4096]).unwrap();
    let below = open(&uri, &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    let view = Overlay::over(below.clone(), ALL).unwrap();
    view.append(5, 4096, &[8; 4096]).unwrap();
    assert_eq!(view.zone(5).unwrap().write_pointer, 8192);
    assert_eq!(below.zone(5).unwrap().write_pointer, 4096);
}
