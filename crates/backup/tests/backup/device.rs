//! Backups of a device: wherever they are cut short the last one is whole, and what happens to the
//! device meanwhile does not show in them.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use frostline_backup::{BackupError, Followed, Follower, Source, Target, restore, shape};
use frostline_random::SplitMix;
use frostline_zone::{Device, DeviceError, Geometry, Shape, ZoneInfo, ZoneState, in_memory};
use tempfile::TempDir;

const ZONE: u64 = 1 << 18;
const ZONES: u64 = 8;

fn small() -> Shape {
    Shape::of_zones(ZONES, ZONE)
}

type Hook = Box<dyn Fn(u32) -> Result<(), DeviceError> + Send + Sync>;

/// A device that calls a function before each read.
struct Hooked {
    below: Arc<dyn Device>,
    before_read: Mutex<Option<Hook>>,
    /// The first byte of this zone is read as another.
    rotten: Mutex<Option<u32>>,
}

impl Device for Hooked {
    fn geometry(&self) -> &Geometry {
        self.below.geometry()
    }
    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.below.report(first, count)
    }
    fn append_vectored(&self, zone: u32, at: u64, p: &[IoSlice<'_>]) -> Result<(), DeviceError> {
        self.below.append_vectored(zone, at, p)
    }
    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        // Taken out while it runs, as it may read itself.
        let hook = self.before_read.lock().unwrap().take();
        if let Some(hook) = hook {
            let result = hook(zone);
            self.before_read.lock().unwrap().get_or_insert(hook);
            result?;
        }
        self.below.read(zone, offset, buffer)?;
        if offset == 0 && *self.rotten.lock().unwrap() == Some(zone) {
            buffer[0] ^= 1;
        }
        Ok(())
    }
    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.below.reset(zone)
    }
    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.below.finish(zone)
    }
    fn flush(&self) -> Result<(), DeviceError> {
        self.below.flush()
    }
}

fn hooked() -> (Arc<Hooked>, Arc<Source>) {
    let below = in_memory(&small()).unwrap();
    let device =
        Arc::new(Hooked { below, before_read: Mutex::default(), rotten: Mutex::default() });
    (device.clone(), Source::new(device))
}

/// The zones: what they hold, and whether they are full.
type Content = Vec<(Vec<u8>, bool)>;

fn content(device: &dyn Device) -> Content {
    let zone = |zone| {
        let info = device.zone(zone).unwrap();
        let mut bytes = vec![0; info.write_pointer as usize];
        device.read(zone, 0, &mut bytes).unwrap();
        (bytes, info.state == ZoneState::Full)
    };
    (0..device.geometry().zones).map(zone).collect()
}

/// The target, as another process knows it that has made no backup.
fn at(directory: &TempDir) -> Target {
    Target::new(directory.path()).unwrap()
}

fn restored(directory: &Path) -> Content {
    let target = Target::new(directory).unwrap();
    let device = in_memory(&shape(&target).unwrap()).unwrap();
    restore(&target, &*device).unwrap();
    content(&*device)
}

/// Appends blocks of a number to a zone.
fn append(device: &dyn Device, zone: u32, blocks: usize, number: u8) {
    let at = device.zone(zone).unwrap().write_pointer;
    device.append(zone, at, &vec![number; blocks * 4096]).unwrap();
}

fn fill(device: &dyn Device) {
    (0..6).for_each(|zone| append(device, zone, 3, zone as u8 + 1));
    device.finish(2).unwrap();
    append(device, 3, 61, 99);
}

fn parts(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory.join("parts")).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_backup_is_the_device_and_the_next_copies_only_what_is_new() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    let first = source.back_up(&at(&directory)).unwrap();
    assert_eq!((first.zones, first.copied_bytes), (6, first.bytes));
    assert!(restored(directory.path()) == content(&*source));
    let again = source.back_up(&at(&directory)).unwrap();
    assert_eq!((again.bytes, again.copied_bytes), (first.bytes, 0));

    append(&*source, 0, 5, 7);
    source.reset(1).unwrap();
    append(&*source, 1, 2, 77);
    source.reset(5).unwrap();
    let next = source.back_up(&at(&directory)).unwrap();
    assert_eq!((next.zones, next.copied_bytes), (5, 7 * 4096));
    assert!(restored(directory.path()) == content(&*source));
    // One part a zone, and one that was appended; nothing is left of the zones that were reset.
    assert_eq!(parts(directory.path()).len(), 6);
}

#[test]
fn what_happens_after_the_moment_of_a_backup_does_not_show_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    let before = content(&*source);
    let (user, once) = (source.clone(), OnceLock::new());
    let change: Hook = Box::new(move |_| {
        once.get_or_init(|| {
            // Zones that are copied later: one is written anew, one goes on, one ends, one begins.
            user.reset(4).unwrap();
            append(&*user, 4, 20, 44);
            append(&*user, 5, 20, 55);
            user.finish(1).unwrap();
            append(&*user, 7, 1, 70);
        });
        Ok(())
    });
    *device.before_read.lock().unwrap() = Some(change);
    source.back_up(&at(&directory)).unwrap();
    *device.before_read.lock().unwrap() = None;
    assert!(restored(directory.path()) == before);
    source.back_up(&at(&directory)).unwrap();
    assert!(restored(directory.path()) == content(&*source));
}

#[test]
fn wherever_a_backup_is_cut_short_the_one_before_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    source.back_up(&at(&directory)).unwrap();
    let before = content(&*source);
    (0..6).filter(|zone| ![2, 3].contains(zone)).for_each(|zone| append(&*source, zone, 4, 200));
    source.reset(2).unwrap();
    append(&*source, 2, 60, 201);
    let mut failures = 0;
    loop {
        *device.before_read.lock().unwrap() = Some(failing_after(failures));
        // As in a new process, which knows nothing of zones that were copied.
        let result = Source::new(device.clone()).back_up(&at(&directory));
        *device.before_read.lock().unwrap() = None;
        if result.is_ok() {
            break;
        }
        assert!(restored(directory.path()) == before, "after {failures} reads");
        failures += 1;
    }
    // Each first block; the end of each zone that was copied; of each new part, which the failure before
    // left, the zone as it is there, its sum, its end.
    assert_eq!(failures, 6 + 5 + 5 * 3);
    assert!(restored(directory.path()) == content(&*source));
}

/// Fails all reads after so many.
fn failing_after(reads: usize) -> Hook {
    let left = Mutex::new(reads);
    Box::new(move |zone| {
        let mut left = left.lock().unwrap();
        let operation = frostline_zone::Operation::Read;
        let after = left.checked_sub(1).ok_or(DeviceError::OfflineZone { operation, zone })?;
        *left = after;
        Ok(())
    })
}

#[test]
fn files_of_a_backup_that_was_killed_are_in_nobodys_way() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    source.back_up(&at(&directory)).unwrap();
    let whole = parts(directory.path());
    let before = restored(directory.path());
    // Parts of an opening that ended before it was in a backup, and files that were not finished.
    append(&*source, 6, 5, 60);
    append(&*source, 7, 5, 70);
    *device.before_read.lock().unwrap() = Some(failing_after(2 * 6 + 3 + 1));
    assert!(Source::new(device.clone()).back_up(&at(&directory)).is_err());
    *device.before_read.lock().unwrap() = None;
    [6, 7].iter().for_each(|&zone| source.reset(zone).unwrap());
    let left: Vec<_> =
        parts(directory.path()).into_iter().filter(|part| !whole.contains(part)).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    let content = std::fs::read(directory.path().join("parts").join(&left[0])).unwrap();
    let other = left[0].replace("000006", "000007");
    let unfinished = [content[..content.len() / 2].to_vec(), content[..9].to_vec(), Vec::new()];
    for (name, content) in [&left[0], &whole[0], &other].into_iter().zip(unfinished) {
        std::fs::write(directory.path().join(format!("parts/{name}.new")), content).unwrap();
    }
    let list = std::fs::read(directory.path().join("backup.json")).unwrap();
    std::fs::write(directory.path().join("backup.json.new"), &list[..list.len() / 2]).unwrap();
    assert!(restored(directory.path()) == before);
    source.back_up(&at(&directory)).unwrap();
    assert_eq!(parts(directory.path()), whole);
    assert!(!directory.path().join("backup.json.new").exists());
}

/// All that is in a directory: the content of files, `None` for all else.
fn tree(directory: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let content = kind.is_file().then(|| std::fs::read(entry.path()).unwrap());
            all.insert(entry.path(), content);
            if kind.is_dir() {
                left.push(entry.path());
            }
        }
    }
    all
}

/// Puts something into the directory that no backup wrote, one of many kinds.
fn put_foreign(directory: &Path, kind: u32) -> PathBuf {
    let of_backup = parts(directory).first().cloned();
    let name = of_backup.unwrap_or_else(|| format!("000003-{}-0-4096", "0a".repeat(16)));
    let like = name.replacen('0', "1", 1);
    let text = |name: String| {
        std::fs::write(directory.join(&name), "mine").unwrap();
        name
    };
    let sub_directory = |name: String| {
        std::fs::create_dir(directory.join(&name)).unwrap();
        name
    };
    let link = |name: String| {
        std::os::unix::fs::symlink("/nowhere", directory.join(&name)).unwrap();
        name
    };
    let name = match kind {
        0 => text("notes.txt".to_string()),
        1 => text("parts/notes.txt".to_string()),
        2 => sub_directory("photos".to_string()),
        3 => sub_directory("parts/photos".to_string()),
        4 => link("link".to_string()),
        5 => link("parts/link".to_string()),
        // Names like those of backups.
        6 => text(format!("parts/{like}")),
        7 => text(format!("parts/{like}.new")),
        8 => text("backup.json.new".to_string()),
        9 => sub_directory(format!("parts/{like}")),
        10 => link(format!("parts/{like}.new")),
        _ => {
            // A part under another's name.
            let of_backup = std::fs::read(directory.join("parts").join(&name));
            let name = format!("parts/{like}");
            std::fs::write(directory.join(&name), of_backup.unwrap_or_default()).unwrap();
            name
        }
    };
    directory.join(name)
}

#[test]
fn a_directory_that_holds_anything_else_is_left_as_it_is() {
    let (mut refused, mut made) = (0, 0);
    for seed in 0..8 {
        let mut random = SplitMix::new(seed);
        // In memory if possible, where a sync takes no time.
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        std::fs::create_dir(directory.path().join("parts")).unwrap();
        let (device, source) = hooked();
        for step in 0..20 {
            let zone = random.below(ZONES as u32);
            match random.below(4) {
                0 => source.reset(zone).unwrap(),
                _ if device.zone(zone).unwrap().write_pointer > ZONE / 2 => {
                    source.finish(zone).unwrap();
                }
                _ => append(&*source, zone, 1 + random.below(9) as usize, step),
            }
            if random.below(4) == 0 {
                // It may be cut short, so that parts are there which no list names.
                let reads = random.below(9) as usize;
                *device.before_read.lock().unwrap() = Some(failing_after(reads));
                let _cut_short = Source::new(device.clone()).back_up(&at(&directory));
                *device.before_read.lock().unwrap() = None;
            }
            let foreign =
                (random.below(3) == 0).then(|| put_foreign(directory.path(), random.below(12)));
            let before = tree(directory.path());
            let result = match random.below(3) {
                0 => source
                    .follow(at(&directory), Duration::ZERO)
                    .and_then(Follower::finish)
                    .map(drop),
                1 => source.back_up(&at(&directory)).map(drop),
                _ => Source::new(device.clone()).back_up(&at(&directory)).map(drop),
            };
            match foreign {
                Some(path) => {
                    let error = result.unwrap_err();
                    assert!(matches!(error, BackupError::Foreign { .. }), "{error}");
                    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
                    assert!(tree(directory.path()) == before, "seed {seed}: {path:?}");
                    match path.symlink_metadata().unwrap().is_dir() {
                        true => std::fs::remove_dir(path).unwrap(),
                        false => std::fs::remove_file(path).unwrap(),
                    }
                    refused += 1;
                }
                None => {
                    result.unwrap();
                    assert!(restored(directory.path()) == content(&*source), "seed {seed}");
                    made += 1;
                }
            }
        }
    }
    println!("{refused} backups refused, {made} made");
    assert!(refused > 30 && made > 60, "{refused} {made}");
}

#[test]
fn parts_that_cannot_be_removed_are_counted_and_keep_no_other_from_being_removed() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    let target = at(&directory);
    source.back_up(&target).unwrap();
    [0, 1, 4].iter().for_each(|&zone| source.reset(zone).unwrap());
    // A directory in a part's place is not removed as a file is.
    let part = directory.path().join("parts").join(&parts(directory.path())[0]);
    std::fs::remove_file(&part).unwrap();
    std::fs::create_dir(&part).unwrap();
    assert_eq!(source.back_up(&target).unwrap().left_parts, 1);
    assert_eq!(parts(directory.path()).len(), 3 + 1);
    std::fs::remove_dir(&part).unwrap();
    assert_eq!(source.back_up(&target).unwrap().left_parts, 0);
    assert!(restored(directory.path()) == content(&*source));
}

#[test]
fn a_damaged_backup_is_named_and_never_restored_as_if_it_were_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    source.back_up(&at(&directory)).unwrap();
    let empty = || in_memory(&small()).unwrap();
    for name in parts(directory.path()) {
        let path = directory.path().join("parts").join(&name);
        let whole = std::fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 4;
        for bytes in [&flipped[..], &whole[..whole.len() - 1]] {
            std::fs::write(&path, bytes).unwrap();
            let error = restore(&at(&directory), &*empty()).unwrap_err().to_string();
            assert!(error.contains(&name), "{error}");
        }
        std::fs::write(&path, whole).unwrap();
    }
    restore(&at(&directory), &*empty()).unwrap();
    let path = directory.path().join("backup.json");
    for text in ["", "{}", "[", "{\"frostline_backup\":1}"] {
        std::fs::write(&path, text).unwrap();
        let refused = restore(&at(&directory), &*empty());
        assert!(matches!(refused, Err(BackupError::Damaged { .. })), "{text}");
        assert!(matches!(source.back_up(&at(&directory)), Err(BackupError::Damaged { .. })));
    }
}

#[test]
fn a_backup_goes_only_to_an_empty_device_of_its_shape() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    assert!(matches!(shape(&at(&directory)), Err(BackupError::NoBackup { .. })));
    source.back_up(&at(&directory)).unwrap();
    let other = in_memory(&Shape { bytes: 2 * ZONES * ZONE, ..small() }).unwrap();
    for device in [&*other, &*source as &dyn Device] {
        let refused = restore(&at(&directory), device);
        assert!(matches!(refused, Err(BackupError::Unsuitable { .. })));
    }
}

#[test]
fn parts_of_many_backups_are_few_and_no_byte_is_copied_more_than_four_times() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    let (mut copied, mut again) = (0, 0);
    let target = at(&directory);
    for number in 0..64 {
        append(&*source, 0, 1, number);
        let made = source.back_up(&target).unwrap();
        (copied, again) = (copied + made.copied_bytes, again + made.again_bytes);
        assert!(parts(directory.path()).len() <= 15 + 4, "{:?}", parts(directory.path()));
    }
    // A zone of 64 blocks: each 16th backup joins as many parts of a block.
    assert_eq!((copied - again, again), (ZONE, 4 * 15 * 4096));
    assert_eq!(parts(directory.path()).len(), 4);
    assert!(restored(directory.path()) == content(&*source));
}

#[test]
fn what_became_another_on_the_device_does_not_replace_its_copy() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    let target = at(&directory);
    for number in 0..16 {
        *device.rotten.lock().unwrap() = (number == 15).then_some(0);
        append(&*source, 0, 1, number);
        source.back_up(&target).unwrap();
    }
    assert_eq!(parts(directory.path()).len(), 16, "not joined");
    *device.rotten.lock().unwrap() = None;
    assert!(restored(directory.path()) == content(&*source));
}

#[test]
fn a_follower_has_all_that_was_written_and_goes_on_after_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    let follower = source.follow(at(&directory), Duration::from_millis(2)).unwrap();
    let until = |is_so: fn(&Followed) -> bool| {
        while !is_so(&follower.followed()) {
            std::thread::yield_now();
        }
    };
    until(|followed| followed.backups == 1);
    let operation = frostline_zone::Operation::Read;
    let fail: Hook = Box::new(move |zone| Err(DeviceError::OfflineZone { operation, zone }));
    *device.before_read.lock().unwrap() = Some(fail);
    append(&*source, 0, 3, 100);
    until(|followed| followed.failures > 1 && followed.error.is_some());
    *device.before_read.lock().unwrap() = None;
    until(|followed| followed.backups == 2 && followed.error.is_none());
    append(&*source, 0, 3, 101);
    source.reset(3).unwrap();
    let followed = follower.finish().unwrap();
    assert_eq!(followed.backups, 3, "none while nothing changed: {followed:?}");
    assert!(restored(directory.path()) == content(&*source));
    let nowhere = directory.path().join("backup.json/below a file");
    assert!(source.follow(Target::new(nowhere).unwrap(), Duration::ZERO).is_err());
}

#[test]
fn a_follower_that_backs_up_rarely_goes_on_after_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    let operation = frostline_zone::Operation::Read;
    let fail: Hook = Box::new(move |zone| Err(DeviceError::OfflineZone { operation, zone }));
    *device.before_read.lock().unwrap() = Some(fail);
    let follower = source.follow(at(&directory), Duration::from_secs(3600)).unwrap();
    while follower.followed().failures == 0 {
        std::thread::yield_now();
    }
    *device.before_read.lock().unwrap() = None;
    assert_eq!(follower.finish().unwrap().backups, 1);
    assert!(restored(directory.path()) == content(&*source));
}

/// A device that was restored from the last backup.
fn a_restored_device(directory: &TempDir) -> Arc<dyn Device> {
    let device = in_memory(&shape(&at(directory)).unwrap()).unwrap();
    restore(&at(directory), &*device).unwrap();
    device
}

#[test]
fn parts_that_were_cut_short_are_not_taken_for_what_a_restored_device_wrote_there() {
    let directory = tempfile::tempdir().unwrap();
    let (device, source) = hooked();
    fill(&*source);
    source.back_up(&at(&directory)).unwrap();
    // The machine is lost while it is backed up.
    append(&*source, 0, 5, 60);
    append(&*source, 1, 5, 61);
    *device.before_read.lock().unwrap() = Some(failing_after(4));
    assert!(source.back_up(&at(&directory)).is_err());
    assert!(parts(directory.path()).len() > 6, "a part is left: {:?}", parts(directory.path()));

    let again = Source::new(a_restored_device(&directory));
    append(&*again, 0, 5, 70);
    append(&*again, 1, 5, 61);
    let made = again.back_up(&at(&directory)).unwrap();
    assert_eq!(made.copied_bytes, 10 * 4096);
    assert!(restored(directory.path()) == content(&*again));
}

#[test]
fn a_copy_that_went_on_otherwise_is_not_mixed_with_the_backup() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    source.back_up(&at(&directory)).unwrap();
    let copies = [1, 4, 9].map(|blocks| (blocks, Source::new(a_restored_device(&directory))));
    append(&*source, 4, 4, 60);
    source.back_up(&at(&directory)).unwrap();
    let last = content(&*source);
    for (blocks, copy) in copies {
        append(&*copy, 4, blocks, 70);
        let refused = copy.back_up(&at(&directory));
        assert!(matches!(refused, Err(BackupError::WentApart { zone: 4, .. })), "{refused:?}");
        assert!(restored(directory.path()) == last);
    }
    // One that only went on takes the place of the device.
    let copy = Source::new(a_restored_device(&directory));
    append(&*copy, 4, 4, 80);
    copy.back_up(&at(&directory)).unwrap();
    assert!(restored(directory.path()) == content(&*copy));
}

#[test]
fn the_backup_of_another_store_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let (_, source) = hooked();
    fill(&*source);
    let of = |store| at(&directory).of_store(store);
    source.back_up(&of(1)).unwrap();
    let before = (content(&*source), tree(directory.path()));
    let (_, other) = hooked();
    append(&*other, 0, 2, 9);
    for target in [|directory| at(directory).of_store(2), at] {
        let refused = other.back_up(&target(&directory)).unwrap_err();
        assert!(matches!(refused, BackupError::OtherStore { .. }), "{refused}");
        let refused = other.follow(target(&directory), Duration::ZERO).map(drop).unwrap_err();
        assert!(matches!(refused, BackupError::OtherStore { .. }), "{refused}");
    }
    assert!((restored(directory.path()), tree(directory.path())) == before);
    append(&*source, 0, 2, 9);
    source.back_up(&of(1)).unwrap();
    assert!(restored(directory.path()) == content(&*source));
}
