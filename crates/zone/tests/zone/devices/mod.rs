//! The suite of checks over devices that need no privileges and no hardware.

#[cfg(target_os = "linux")]
mod on_one_medium;
#[path = "../../suite/mod.rs"]
mod suite;

use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use frostline_zone::{
    Clock, Counted, Device, DeviceCounts, DeviceError, Drive, Faulty, Geometry, OpenOptions,
    Operation, Overlay, Shape, Span, Timed, ZoneInfo, ZoneRead, ZoneState, can_create, create,
    in_memory, open,
};

const CACHED: OpenOptions =
    OpenOptions { direct: false, read_only: false, overwrite: false, accept_loss: false };
const DIRECT: OpenOptions = OpenOptions { direct: true, ..CACHED };
const LOOK: OpenOptions = OpenOptions { read_only: true, ..CACHED };

/// 16 zones whose capacity is a quarter smaller than their size.
fn shape() -> Shape {
    Shape {
        bytes: 16 * (96 << 10),
        zone_bytes: Some(128 << 10),
        zone_capacity: Some(96 << 10),
        max_open: Some(5),
        max_active: Some(7),
        parity: None,
    }
}

fn check(device: &dyn Device) {
    let mut failed = Vec::new();
    suite::run(device, |name, passed| {
        if !passed {
            failed.push(name.to_owned());
        }
    });
    assert_eq!(failed, [""; 0]);
}

#[test]
fn memory() {
    check(&*in_memory(&shape()).unwrap());
    let unlimited = Shape { max_open: None, max_active: None, ..shape() };
    check(&*in_memory(&unlimited).unwrap());
}

#[test]
fn memory_with_parity() {
    for data in [1, 3, 4] {
        check(&*in_memory(&Shape { parity: Some(data), ..shape() }).unwrap());
    }
    let too_few = Shape { bytes: 3 * (96 << 10), parity: Some(4), ..shape() };
    assert!(in_memory(&too_few).is_ok());
    let too_few = Shape { bytes: 96 << 10, parity: Some(4), ..shape() };
    assert!(matches!(in_memory(&too_few), Err(DeviceError::Shape { .. })));
}

#[test]
fn parity_is_remembered() {
    let directory = tempfile::tempdir().unwrap();
    let with_parity = Shape { parity: Some(3), ..shape() };
    for kind in ["file", "block", "dir"] {
        let uri = format!("{kind}:{}", directory.path().join(kind).display());
        let device = create(&uri, &with_parity, &CACHED).unwrap();
        check(&*device);
        suite::leave(&*device);
        drop(device);
        let device = open(&uri, &LOOK).unwrap();
        assert_eq!(device.geometry(), &with_parity.geometry().unwrap());
        assert!(matches!(device.reset(3), Err(DeviceError::ReadOnlyDevice { .. })));
        drop(device);
        suite::check_left(&*open(&uri, &CACHED).unwrap());
    }
    std::fs::remove_file(directory.path().join("dir/seq/7")).unwrap();
    let uri = format!("dir:{}", directory.path().join("dir").display());
    let missing = open(&uri, &CACHED).err().unwrap();
    assert!(missing.to_string().contains("seq/7"), "{missing}");
}

#[test]
fn memory_under_a_view_that_keeps_changes() {
    check(&*Overlay::over(in_memory(&shape()).unwrap(), u64::MAX).unwrap());
}

#[test]
fn memory_through_a_wrapper_that_injects_no_fault() {
    check(&Faulty::new(in_memory(&shape()).unwrap(), 1));
}

#[test]
fn memory_with_the_time_of_a_drive_and_counted() {
    let timed = Arc::new(Timed::new(in_memory(&shape()).unwrap(), Drive::ZN540, Clock::Virtual));
    let counted = Counted::new(Arc::clone(&timed) as Arc<dyn Device>);
    check(&counted);
    assert!(timed.elapsed() > Duration::from_millis(1));
    assert!(counted.counts().appends > 100 && counted.counts().errors > 10);
}

#[test]
fn some_zones_of_memory_with_limits_of_their_own() {
    let memory = in_memory(&shape()).unwrap();
    let others = [0, 1, 15];
    others.iter().for_each(|&zone| memory.append(zone, 0, &[zone as u8; 4096]).unwrap());
    check(&Span::new(memory.clone(), 2, 12, Some(2), Some(4)).unwrap());
    for zone in others {
        let mut page = [99; 4096];
        memory.read(zone, 0, &mut page).unwrap();
        assert_eq!((page, memory.zone(zone).unwrap().write_pointer), ([zone as u8; 4096], 4096));
    }
    let unlimited = in_memory(&Shape { max_open: None, max_active: None, ..shape() }).unwrap();
    check(&Span::new(unlimited.clone(), 5, 11, None, None).unwrap());
    check(&Span::new(unlimited, 0, 16, Some(1), Some(4)).unwrap());
}

#[test]
fn spans_beyond_a_device_or_its_limits_are_refused() {
    let span = |first, count, max_open, max_active| {
        Span::new(in_memory(&shape()).unwrap(), first, count, max_open, max_active)
    };
    span(12, 4, Some(5), Some(7)).unwrap();
    for (first, count) in [(12, 5), (16, 1), (u32::MAX, 2)] {
        let refused = span(first, count, Some(1), Some(1)).map(drop);
        assert!(matches!(refused, Err(DeviceError::NoSuchZone { .. })), "{refused:?}");
    }
    for (count, max_open, max_active) in [
        (0, Some(1), Some(1)),
        (4, None, Some(1)),
        (4, Some(1), None),
        (4, Some(0), Some(1)),
        (4, Some(6), Some(1)),
        (4, Some(1), Some(8)),
    ] {
        let refused = span(0, count, max_open, max_active).map(drop);
        assert!(matches!(refused, Err(DeviceError::Shape { .. })), "{refused:?}");
    }
}

/// A device that has some zones without a write pointer.
struct Conventional(Arc<dyn Device>, Geometry);

impl Device for Conventional {
    fn geometry(&self) -> &Geometry {
        &self.1
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        let mut zones = self.0.report(first, count)?;
        for (zone, info) in (first..).zip(&mut zones) {
            if self.1.conventional.contains(&zone) {
                (info.state, info.write_pointer) = (ZoneState::Conventional, 0);
            }
        }
        Ok(zones)
    }

    fn append_vectored(&self, zone: u32, at: u64, parts: &[IoSlice]) -> Result<(), DeviceError> {
        self.refuse(Operation::Append, zone)?;
        self.0.append_vectored(zone, at, parts)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.refuse(Operation::Read, zone)?;
        self.0.read(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.refuse(Operation::Reset, zone)?;
        self.0.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.refuse(Operation::Finish, zone)?;
        self.0.finish(zone)
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.0.flush()
    }
}

impl Conventional {
    fn refuse(&self, operation: Operation, zone: u32) -> Result<(), DeviceError> {
        match self.1.conventional.contains(&zone) {
            true => Err(DeviceError::ConventionalZone { operation, zone }),
            false => Ok(()),
        }
    }
}

#[test]
fn a_span_knows_the_conventional_zones_below_it() {
    let memory = in_memory(&shape()).unwrap();
    let geometry = Geometry { conventional: vec![0, 1, 3, 15], ..memory.geometry().clone() };
    let below = Arc::new(Conventional(memory, geometry));
    let span = Span::new(below, 1, 12, Some(5), Some(7)).unwrap();
    assert_eq!(span.geometry().conventional, [0, 2]);
    check(&span);
}

#[test]
fn a_zone_that_is_open_when_a_span_begins_is_the_span_s_own() {
    let below = in_memory(&shape()).unwrap();
    below.append(3, 0, &[0; 4096]).unwrap();
    let span = Span::new(below, 2, 8, Some(2), Some(4)).unwrap();
    assert_eq!(span.zone(1).unwrap().state, ZoneState::ImplicitOpen);
    span.append(0, 0, &[0; 4096]).unwrap();
    span.append(1, 4096, &[0; 4096]).unwrap();
    let states = [0, 1].map(|zone| span.zone(zone).unwrap().state);
    assert_eq!(states, [ZoneState::ImplicitOpen; 2], "it is counted once");
}

#[test]
fn counts_are_exact() {
    let device = Counted::new(in_memory(&shape()).unwrap());
    device.append(0, 0, &[0; 8192]).unwrap();
    device.append(0, 8192, &[0; 4096]).unwrap();
    device.append(0, 0, &[0; 4096]).unwrap_err();
    device.read(0, 0, &mut [0; 4096]).unwrap();
    device.finish(0).unwrap();
    device.reset(0).unwrap();
    device.flush().unwrap();
    let counts = DeviceCounts {
        appends: 2,
        appended_bytes: 12288,
        reads: 1,
        read_bytes: 4096,
        resets: 1,
        finishes: 1,
        flushes: 1,
        errors: 1,
    };
    assert_eq!(device.counts(), counts);
}

#[test]
fn virtual_time_is_the_sum_of_what_a_drive_would_take() {
    let shape = Shape { bytes: 4 << 20, zone_bytes: Some(2 << 20), ..Shape::default() };
    let device = Timed::new(in_memory(&shape).unwrap(), Drive::ZN540, Clock::Virtual);
    device.append(0, 0, &[0; 1_000_000 / 4096 * 4096]).unwrap();
    let append = device.elapsed();
    assert_eq!(append.as_micros(), 10 + 499);
    device.read(0, 0, &mut [0; 4096]).unwrap();
    assert_eq!((device.elapsed() - append).as_micros(), 82);
    device.finish(0).unwrap();
    assert_eq!(device.elapsed().as_micros(), 509 + 82 + 549);
}

#[test]
fn reads_of_a_batch_share_the_latency_of_a_drive() {
    let device = Timed::new(in_memory(&shape()).unwrap(), Drive::ZN540, Clock::Virtual);
    device.append(0, 0, &[0; 8192]).unwrap();
    let before = device.elapsed();
    let [mut one, mut other] = [[0; 4096]; 2];
    let read = |offset, buffer| ZoneRead { zone: 0, offset, buffer };
    device.read_all(&mut [read(0, &mut one[..]), read(4096, &mut other[..])]).unwrap();
    assert_eq!((device.elapsed() - before).as_micros(), 80 + 4);
}

#[test]
fn an_exact_clock_is_never_early() {
    let device = Timed::new(in_memory(&shape()).unwrap(), Drive::ZN540, Clock::Exact);
    for page in 1..=10 {
        let began = device.elapsed();
        device.append(0, (page - 1) * 4096, &[0; 4096]).unwrap();
        assert!(device.elapsed() - began >= Duration::from_nanos(10_000 + 2_048), "append {page}");
    }
}

#[test]
fn real_time_keeps_the_bandwidth_on_many_threads() {
    let shape = Shape { bytes: 8 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    let slow = Drive { append_bytes_per_second: 100_000_000, ..Drive::ZN540 };
    let device = Timed::new(in_memory(&shape).unwrap(), slow, Clock::Real);
    thread::scope(|scope| {
        for zone in 0..8 {
            let device = &device;
            scope.spawn(move || device.append(zone, 0, &vec![0; 1 << 20]).unwrap());
        }
    });
    assert!(device.elapsed() >= Duration::from_micros(83_886), "{:?}", device.elapsed());
}

#[test]
fn directories_have_one_user_and_keep_what_they_hold() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    let device = create(&uri, &shape(), &CACHED).unwrap();
    assert!(matches!(open(&uri, &CACHED), Err(DeviceError::InUse { .. })));
    drop(device);
    let made_again = create(&uri, &shape(), &CACHED);
    assert!(matches!(made_again, Err(DeviceError::Exists { .. })));
    std::fs::write(directory.path().join("geometry"), "zones 3").unwrap();
    assert!(matches!(open(&uri, &CACHED), Err(DeviceError::NotADevice { .. })));
}

/// Makes an empty device of each kind that others may have open, and calls `check` with its name.
fn of_each_kind_with_locks(check: impl Fn(&str)) {
    let directory = tempfile::tempdir().unwrap();
    for kind in ["file", "block", "dir"] {
        let uri = format!("{kind}:{}", directory.path().join(kind).display());
        drop(create(&uri, &shape(), &CACHED).unwrap());
        check(&uri);
    }
}

#[test]
fn a_device_that_another_user_is_about_to_close_is_waited_for() {
    of_each_kind_with_locks(|uri| {
        for (other, options) in [(CACHED, CACHED), (CACHED, LOOK), (LOOK, CACHED)] {
            let device = open(uri, &other).unwrap();
            // As long as the system takes to end the requests of a process that was killed.
            let closing = thread::spawn(move || {
                thread::sleep(Duration::from_millis(350));
                drop(device);
            });
            open(uri, &options).unwrap();
            closing.join().unwrap();
        }
    });
}

/// The environment that asks for stacks larger than all addresses, so that no thread can be
/// started.
const NO_THREADS: (&str, &str) = ("RUST_MIN_STACK", "140737488355328");

#[test]
fn many_files_are_flushed_by_one_thread_if_the_system_gives_no_other() {
    if std::env::var(NO_THREADS.0).is_err() {
        // The limit is of a process, which runs this test alone.
        let mut alone = Command::new(std::env::current_exe().unwrap());
        let name = "devices::many_files_are_flushed_by_one_thread_if_the_system_gives_no_other";
        alone.args(["--exact", name, "--test-threads=1"]).env(NO_THREADS.0, NO_THREADS.1);
        let out = alone.output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success() && said.contains("1 passed"), "{out:?}");
        return;
    }
    assert!(thread::Builder::new().spawn(|| ()).is_err());
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    let shape = Shape { bytes: 64 << 16, zone_bytes: Some(1 << 16), ..Shape::default() };
    let device = create(&uri, &shape, &CACHED).unwrap();
    (0..64).for_each(|zone| device.append(zone, 0, &[1; 4096]).unwrap());
    device.flush().unwrap();
}

#[test]
fn a_device_whose_zones_may_not_be_written_is_refused_unless_it_is_only_read() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    drop(create(&uri, &shape(), &CACHED).unwrap());
    let permit = |mode| {
        for zone in 0..16 {
            let path = directory.path().join("seq").join(zone.to_string());
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o444);
    match open(&uri, &CACHED) {
        Err(DeviceError::Open { path, source }) => {
            assert!(path.starts_with(directory.path()), "{}", path.display());
            assert_eq!(source.kind(), std::io::ErrorKind::PermissionDenied);
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert!(open(&uri, &LOOK).is_ok());
    permit(0o644);
    assert!(open(&uri, &CACHED).is_ok());
}

#[test]
fn files_show_torn_ends_and_permissions_as_zones() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    drop(create(&uri, &shape(), &CACHED).unwrap());
    let zone = |zone: u32| directory.path().join("seq").join(zone.to_string());
    let forbid = |number, mode| {
        std::fs::set_permissions(zone(number), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::write(zone(0), [7; 5000]).unwrap();
    std::fs::write(zone(1), [7; 8192]).unwrap();
    forbid(1, 0o444);
    forbid(2, 0);

    let device = open(&uri, &CACHED).unwrap();
    let seen = [0, 1, 2].map(|zone| device.zone(zone).unwrap());
    let seen = seen.map(|info| (info.state, info.write_pointer));
    let read_only = (ZoneState::ReadOnly, 8192);
    assert_eq!(seen, [(ZoneState::Closed, 4096), read_only, (ZoneState::Offline, 0)]);
    device.append(0, 4096, &[8; 4096]).unwrap();
    device.read(1, 0, &mut [0; 8192]).unwrap();
    let refused = device.reset(1);
    assert!(matches!(refused, Err(DeviceError::ReadOnlyZone { .. })), "{refused:?}");
    let refused = device.read(2, 0, &mut []);
    assert!(matches!(refused, Err(DeviceError::OfflineZone { .. })), "{refused:?}");
}

/// Each file below a directory, with its length and the time of its last change.
fn files_in(directory: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        files.push((entry.path(), metadata.len(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            files.extend(files_in(&entry.path()));
        }
    }
    files.sort();
    files
}

/// The URI of a device in a fresh directory. Its first zone ends inside a block, as after a write
/// that was cut; its second zone is finished.
fn device_with_a_torn_end(directory: &Path) -> String {
    let uri = format!("dir:{}", directory.display());
    let device = create(&uri, &shape(), &CACHED).unwrap();
    device.append(0, 0, &[7; 8192]).unwrap();
    device.finish(1).unwrap();
    let file = File::options().write(true).open(directory.join("seq/0")).unwrap();
    file.set_len(5000).unwrap();
    uri
}

#[test]
fn opening_for_reading_changes_nothing_and_refuses_changes() {
    let directory = tempfile::tempdir().unwrap();
    let uri = device_with_a_torn_end(directory.path());
    let files = files_in(directory.path());
    let set_mode = |mode| {
        for path in [directory.path().to_owned(), directory.path().join("seq")] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set_mode(0o555);

    for look in [LOOK, OpenOptions { direct: true, ..LOOK }] {
        let device = open(&uri, &look).unwrap();
        let seen = device.zone(0).unwrap();
        assert_eq!((seen.state, seen.write_pointer), (ZoneState::Closed, 4096));
        let mut page = [0; 4096];
        device.read(0, 0, &mut page).unwrap();
        assert_eq!(page, [7; 4096]);
        let changes = [
            (Operation::Append, device.append(0, 4096, &page)),
            (Operation::Reset, device.reset(0)),
            (Operation::Reset, device.reset(3)),
            (Operation::Finish, device.finish(0)),
            (Operation::Flush, device.flush()),
        ];
        for (what, refused) in changes {
            let is_typed = matches!(
                refused,
                Err(DeviceError::ReadOnlyDevice { operation }) if operation == what
            );
            assert!(is_typed, "{what}: {refused:?}");
        }
    }
    assert_eq!(files_in(directory.path()), files);
    set_mode(0o755);
    let made = create("mem:", &shape(), &LOOK);
    assert!(matches!(made, Err(DeviceError::Uri { .. })));
}

#[test]
fn readers_share_a_device_that_nobody_writes() {
    let directory = tempfile::tempdir().unwrap();
    let uri = device_with_a_torn_end(directory.path());
    let readers = [open(&uri, &LOOK).unwrap(), open(&uri, &LOOK).unwrap()];
    assert!(matches!(open(&uri, &CACHED), Err(DeviceError::InUse { .. })));
    drop(readers);
    let _writer = open(&uri, &CACHED).unwrap();
    assert!(matches!(open(&uri, &LOOK), Err(DeviceError::InUse { .. })));
}

#[test]
fn a_torn_end_stays_until_it_is_written_over() {
    for options in [CACHED, DIRECT] {
        let directory = tempfile::tempdir().unwrap();
        let uri = device_with_a_torn_end(directory.path());
        let files = files_in(directory.path());
        let device = open(&uri, &options).unwrap();
        assert_eq!(files_in(directory.path()), files);
        device.append(0, 4096, &[8; 4096]).unwrap();
        let mut pages = [0; 8192];
        device.read(0, 0, &mut pages).unwrap();
        assert_eq!((pages[4095], pages[4096..].to_vec()), (7, vec![8; 4096]));
        device.flush().unwrap();
        drop(device);
        assert_eq!(open(&uri, &LOOK).unwrap().zone(0).unwrap().write_pointer, 8192);
    }
}

#[test]
fn a_zone_that_is_begun_has_its_blocks_until_it_is_reset() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().join("device").display());
    let device = create(&uri, &shape(), &CACHED).unwrap();
    let blocks = || directory.path().join("device/seq/3").metadata().unwrap().blocks();
    assert_eq!(blocks(), 0);
    device.append(3, 0, &[1; 4096]).unwrap();
    assert!(blocks() * 512 >= 96 << 10, "{} blocks of 512 bytes", blocks());
    assert_eq!(device.report(3, 1).unwrap()[0].write_pointer, 4096);
    device.reset(3).unwrap();
    assert_eq!(blocks(), 0);
}

#[test]
fn what_stands_in_the_place_of_a_file_is_refused_and_left_alone() {
    for name in ["geometry", "seq/3", "seq"] {
        for options in [CACHED, LOOK] {
            let home = tempfile::tempdir().unwrap();
            let (directory, target) = (home.path().join("device"), home.path().join("target"));
            let uri = format!("dir:{}", directory.display());
            drop(create(&uri, &shape(), &CACHED).unwrap());
            let path = directory.join(name);
            std::fs::rename(&path, &target).unwrap();
            std::os::unix::fs::symlink(&target, &path).unwrap();
            let before = files_in(home.path());
            let refused = open(&uri, &options).err();
            let names_it =
                matches!(&refused, Some(DeviceError::NotPlain { path: p }) if *p == path);
            assert!(names_it, "{name}: {refused:?}");
            assert_eq!(files_in(home.path()), before);
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir_all(&path).unwrap();
            assert!(open(&uri, &options).is_err(), "{name}");
        }
    }
}

#[test]
fn a_directory_with_anything_of_others_in_it_is_not_taken_for_an_unfinished_device() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().join("device").display());
    let file = |name: &str| directory.path().join("device").join(name);
    assert!(can_create(&uri));
    std::fs::create_dir(file("")).unwrap();
    assert!(can_create(&uri));
    std::fs::create_dir(file("seq")).unwrap();
    std::fs::write(file("seq/0"), "data").unwrap();
    assert!(!can_create(&uri));
    for geometry in ["", "frostline zo", "frostline zones 1\nzones 16\n", "\0\0\0"] {
        std::fs::write(file("geometry.new"), geometry).unwrap();
        assert!(!can_create(&uri), "zones of a device in the making are empty");
        assert!(matches!(create(&uri, &shape(), &CACHED), Err(DeviceError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(file("seq/0")).unwrap(), "data");
        std::fs::write(file("seq/0"), "").unwrap();
        assert!(can_create(&uri), "{geometry:?}");
        std::fs::write(file("seq/0"), "data").unwrap();
    }
    std::fs::write(file("seq/0"), "").unwrap();
    std::fs::write(file("geometry.new"), "my geometry").unwrap();
    assert!(!can_create(&uri));
    std::fs::write(file("geometry.new"), "").unwrap();
    std::os::unix::fs::symlink("/nowhere", file("seq/1")).unwrap();
    assert!(!can_create(&uri));
    std::fs::remove_file(file("seq/1")).unwrap();
    assert!(can_create(&uri));
    assert!(matches!(open(&uri, &CACHED), Err(DeviceError::NotADevice { .. })));
    std::fs::write(file("letter"), "").unwrap();
    assert!(!can_create(&uri));
    assert!(matches!(create(&uri, &shape(), &CACHED), Err(DeviceError::Exists { .. })));
    std::fs::remove_file(file("letter")).unwrap();
    let device = create(&uri, &shape(), &CACHED).unwrap();
    assert_eq!(device.zone(0).unwrap().state, ZoneState::Empty);
    assert!(!can_create(&uri));
}

#[test]
fn names_of_no_device_are_refused() {
    for uri in ["", "mem", "mem:x", "file:", "dir:", "nvme:/dev/nvme0n1", "zbd:", "block:"] {
        assert!(matches!(open(uri, &CACHED), Err(DeviceError::Uri { .. })), "{uri}");
    }
    assert!(matches!(open("mem:", &CACHED), Err(DeviceError::Uri { .. })));
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().display();
    let zonefs = open(&format!("zonefs:{here}"), &CACHED);
    assert!(matches!(zonefs, Err(DeviceError::NotADevice { .. })));
    std::fs::write(directory.path().join("plain"), "").unwrap();
    let plain = open(&format!("zbd:{here}/plain"), &CACHED);
    assert!(matches!(plain, Err(DeviceError::NotADevice { .. })));
    let missing = open(&format!("zbd:{here}/none"), &CACHED);
    assert!(matches!(missing, Err(DeviceError::Open { .. })));
}

#[test]
fn files_through_the_page_cache_and_past_it() {
    for options in [CACHED, DIRECT] {
        let directory = tempfile::tempdir().unwrap();
        let uri = format!("dir:{}", directory.path().display());
        let device = create(&uri, &shape(), &options).unwrap();
        check(&*device);
        suite::leave(&*device);
        drop(device);
        suite::check_left(&*open(&uri, &options).unwrap());
    }
}

#[test]
fn what_files_lost_in_a_crash_stays_lost() {
    let directory = tempfile::tempdir().unwrap();
    let uri = format!("dir:{}", directory.path().display());
    let device = Faulty::new(create(&uri, &shape(), &CACHED).unwrap(), 3);
    suite::leave(&device);
    device.append(3, 0, &[1; 65536]).unwrap();
    drop(device.restart().unwrap());
    drop(device);
    let device: Arc<dyn Device> = open(&uri, &CACHED).unwrap();
    assert!(device.zone(3).unwrap().write_pointer <= 65536);
    suite::check_left(&*device);
}
