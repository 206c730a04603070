//! Devices in one file or on one drive.

use frostline_zone::{can_overwrite, filling};

use super::*;

const OVER: OpenOptions = OpenOptions { overwrite: true, ..CACHED };

fn uri(path: &Path) -> String {
    format!("block:{}", path.display())
}

fn keeps_the_contract(uri: &str, options: &OpenOptions) {
    assert!(can_create(uri));
    let device = create(uri, &shape(), options).unwrap();
    check(&*device);
    suite::leave(&*device);
    assert!(matches!(open(uri, &CACHED), Err(DeviceError::InUse { .. })));
    drop(device);
    assert!(!can_create(uri) && !can_overwrite(uri));
    let made_again = create(uri, &shape(), &OVER);
    assert!(matches!(made_again, Err(DeviceError::Exists { .. })));
    let readers = [open(uri, &LOOK).unwrap(), open(uri, &LOOK).unwrap()];
    assert!(matches!(open(uri, &CACHED), Err(DeviceError::InUse { .. })));
    assert!(matches!(readers[0].flush(), Err(DeviceError::ReadOnlyDevice { .. })));
    drop(readers);
    suite::check_left(&*open(uri, options).unwrap());
}

#[test]
fn in_a_file_keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    keeps_the_contract(&uri(&directory.path().join("below/device")), &CACHED);
}

#[test]
fn a_file_that_grows_keeps_the_contract_through_the_page_cache_and_past_it() {
    let directory = tempfile::tempdir().unwrap();
    for (name, options) in [("cached", CACHED), ("direct", DIRECT)] {
        let path = directory.path().join("below").join(name);
        keeps_the_contract(&format!("file:{}", path.display()), &options);
    }
}

#[test]
fn opening_for_reading_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for uri in ["block", "file"] {
        let uri = format!("{uri}:{}", directory.path().join(uri).display());
        reading_changes_nothing(&uri);
    }
}

fn reading_changes_nothing(uri: &str) {
    let path = uri.split_once(':').unwrap().1;
    suite::leave(&*create(uri, &shape(), &CACHED).unwrap());
    let bytes = || std::fs::read(path).unwrap();
    let before = bytes();
    let device = open(uri, &LOOK).unwrap();
    device.read(0, 0, &mut [0; 4096]).unwrap();
    assert!(device.reset(0).is_err() && device.append(3, 0, &[0; 4096]).is_err());
    drop(device);
    assert!(bytes() == before);
}

#[test]
fn a_reset_gives_the_room_back_at_once() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(4 << 20), ..Shape::default() };
    let device = create(&uri(&path), &shape, &CACHED).unwrap();
    let taken = || std::fs::metadata(&path).unwrap().blocks() * 512;
    let empty = taken();
    device.append(1, 0, &vec![7; 4 << 20]).unwrap();
    device.flush().unwrap();
    assert!(taken() >= empty + (4 << 20));
    device.reset(1).unwrap();
    assert!(taken() < empty + (1 << 20), "{} and {empty}", taken());
}

#[test]
fn a_file_grows_with_its_zones_and_shrinks_with_the_flush_behind_a_reset() {
    use std::os::unix::fs::MetadataExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let uri = format!("file:{}", path.display());
    let shape = Shape { bytes: 1 << 30, zone_bytes: Some(4 << 20), ..Shape::default() };
    let device = create(&uri, &shape, &CACHED).unwrap();
    let taken = || {
        let metadata = std::fs::metadata(&path).unwrap();
        (metadata.blocks() * 512).max(metadata.len())
    };
    let empty = taken();
    assert!(empty < 512 << 10, "{empty}");
    // The last zone is as near as the first.
    device.append(255, 0, &[7; 4096]).unwrap();
    assert!(taken() < empty + (64 << 10));
    device.append(255, 4096, &vec![7; (4 << 20) - 4096]).unwrap();
    device.flush().unwrap();
    assert!(taken() >= empty + (4 << 20) && taken() < empty + (5 << 20), "{}", taken());
    device.reset(255).unwrap();
    device.flush().unwrap();
    assert!(taken() <= empty + (256 << 10), "{} and {empty}", taken());
    drop(device);
    assert!(taken() <= empty, "{} and {empty}", taken());
}

#[test]
fn a_file_that_was_cut_short_is_opened_only_if_that_is_accepted_with_its_zones_up_to_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let uri = format!("file:{}", path.display());
    let device = create(&uri, &shape(), &CACHED).unwrap();
    device.append(0, 0, &[1; 16 << 10]).unwrap();
    device.append(1, 0, &[2; 16 << 10]).unwrap();
    device.flush().unwrap();
    drop(device);
    // What the last flush wrote counts as a whole until the next opening has seen it.
    drop(open(&uri, &CACHED).unwrap());
    let length = std::fs::metadata(&path).unwrap().len();
    File::options().write(true).open(&path).unwrap().set_len(length - 5000).unwrap();
    for options in [CACHED, LOOK] {
        let refused = open(&uri, &options).err().unwrap();
        assert!(matches!(refused, DeviceError::Cut { zone: 1, .. }), "{refused}");
    }
    let device = open(&uri, &OpenOptions { accept_loss: true, ..CACHED }).unwrap();
    let pointers = [0, 1].map(|zone| device.zone(zone).unwrap().write_pointer);
    assert_eq!(pointers, [16 << 10, 8 << 10]);
    let mut bytes = vec![0; 8 << 10];
    device.read(1, 0, &mut bytes).unwrap();
    assert_eq!(bytes, [2; 8 << 10]);
}

#[test]
fn what_an_ordinary_file_holds_is_not_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letter");
    let uri = format!("file:{}", path.display());
    std::fs::write(&path, "a letter").unwrap();
    assert!(!can_create(&uri) && !can_overwrite(&uri));
    for options in [CACHED, OVER] {
        let refused = create(&uri, &shape(), &options).err().unwrap();
        assert_eq!(refused.to_string(), format!("{}: holds data", path.display()));
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"a letter");
    std::fs::write(&path, "").unwrap();
    assert!(can_create(&uri) && create(&uri, &shape(), &CACHED).is_ok());
    let directory = format!("file:{}", directory.path().display());
    let refused = open(&directory, &CACHED).err().unwrap().to_string();
    assert!(refused.contains("is not a zoned device: it is a directory"), "{refused}");
}

#[test]
fn a_device_that_is_not_filled_leaves_no_file() {
    use frostline_zone::create_whole;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let uri = format!("file:{}", path.display());
    let failed = create_whole(&path, &shape(), |device| device.append(99, 0, &[0; 4096]));
    assert!(matches!(failed, Err(DeviceError::NoSuchZone { zone: 99, .. })), "{failed:?}");
    assert!(!path.exists());
    let first = create_whole(&path, &shape(), |device| {
        // Until it is whole, nobody finds it.
        assert!(matches!(open(&uri, &CACHED), Err(DeviceError::InUse { .. })));
        device.append(3, 0, &[3; 4096])?;
        device.flush()
    });
    let second = create_whole(&path, &shape(), |_| Ok::<(), DeviceError>(()));
    assert!(first.unwrap() && !second.unwrap());
    assert_eq!(open(&uri, &CACHED).unwrap().zone(3).unwrap().write_pointer, 4096);
}

#[test]
fn drives_that_hold_something_else_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("drive");
    let uri = uri(&path);
    let marks: [(usize, &[u8], &str); 6] = [
        (510, b"\x55\xaa", "a partition table or a FAT file system"),
        (512, b"EFI PART", "a partition table (GPT)"),
        (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
        (0, b"XFSB", "an XFS file system"),
        (700_000, b"a letter", "data"),
        ((8 << 20) - 9, b"a letter", "data"),
    ];
    for (at, mark, name) in marks {
        let mut bytes = vec![0; 8 << 20];
        bytes[at..at + mark.len()].copy_from_slice(mark);
        std::fs::write(&path, &bytes).unwrap();
        assert!(!can_create(&uri) && can_overwrite(&uri));
        for refused in [create(&uri, &shape(), &CACHED), open(&uri, &CACHED)] {
            let refused = refused.err().unwrap();
            let expected = format!("{}: holds {name}", path.display());
            assert_eq!(refused.to_string(), expected);
        }
        assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
        let device = create(&uri, &shape(), &OVER).unwrap();
        assert_eq!(device.zone(15).unwrap().state, ZoneState::Empty);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 8 << 20);
    }
}

#[test]
fn a_drive_is_filled_with_zones_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("drive");
    let uri = uri(&path);
    assert_eq!(filling(&uri, &shape()), None);
    File::create(&path).unwrap().set_len(8 << 20).unwrap();
    let filling = filling(&uri, &shape()).unwrap();
    // The first 256 KiB are not zones.
    assert_eq!(filling, Shape { bytes: 62 * (96 << 10), ..shape() });
    let larger = Shape { bytes: 63 * (96 << 10), ..shape() };
    let refused = create(&uri, &larger, &CACHED).err().unwrap();
    assert!(matches!(refused, DeviceError::TooSmall { room, .. } if room == filling.bytes));
    assert_eq!(create(&uri, &filling, &CACHED).unwrap().geometry().zones, 62);
    File::options().write(true).open(&path).unwrap().set_len(7 << 20).unwrap();
    assert!(matches!(open(&uri, &CACHED), Err(DeviceError::NotADevice { .. })));
}

#[test]
fn write_streams_that_are_asked_for_and_not_there_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("device");
    let plain = uri(&path);
    drop(create(&plain, &shape(), &CACHED).unwrap());
    let uri = plain.replace("block:", "fdp:");
    let refused = open(&uri, &CACHED).err().unwrap();
    let expected = format!("{}: no write streams: a file has none", path.display());
    assert_eq!(refused.to_string(), expected);
    // It is the same device, and who only reads needs no streams.
    assert!(!can_create(&uri));
    assert_eq!(open(&uri, &LOOK).unwrap().geometry().zones, 16);
}

#[test]
fn drives_that_are_not_there_are_not_made() {
    let uri = "block:/dev/no-such-drive";
    assert!(!can_create(uri));
    assert!(matches!(create(uri, &shape(), &CACHED), Err(DeviceError::Open { .. })));
    let directory = tempfile::tempdir().unwrap();
    let refused = open(&format!("block:{}", directory.path().display()), &CACHED).err();
    assert!(refused.unwrap().to_string().contains("neither a block device nor a file"));
}
