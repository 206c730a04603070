//! The store's threads under a scheduler that tries thousands of interleavings, each a function
//! of a seed.
//!
//! A failure prints its schedule; the same run fails again. `FROSTLINE_TIMES=n` tries n times
//! as many of each scenario, and `SHUTTLE_RANDOM_SEED=n` others.

#[path = "store/versioned.rs"]
mod versioned;

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_store::{Compression, Format, Open, Store, StoreError};
use frostline_testkit::seeds;
use frostline_zone::{Device, DeviceError, Faulty, Geometry, Shape, ZoneInfo, in_memory};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread::{JoinHandle, spawn};
use shuttle::{Config, Runner};
use versioned::{Contents, Version, Writer};

const PAGE: usize = 4096;

/// The least pages of a zone: two headers and 16 pages.
const ZONE: u64 = 18;

/// The least zones for [`PAGES`]: six of metadata, and of data two that are full, one that is
/// written, two that are free and one that waits to be reset.
const ZONES: u64 = 12;

/// Units of stores.
const UNITS: [u32; 2] = [4096, 64];

/// Pages of the store: two zones of them.
fn pages(unit: u32) -> u32 {
    if unit < 4096 { 20 } else { 32 }
}

/// Rounds of writes until zones are cleaned: with deltas they are shorter.
fn rounds(unit: u32, whole: u64) -> u64 {
    whole * if unit < 4096 { 3 } else { 1 }
}

/// Contents of versions that follow each other by one. With deltas each second one is a tail.
fn contents(unit: u32) -> Contents {
    Contents { has_deltas: unit < 4096, near: 2, far: 4 }
}

/// A device before each of whose operations any thread may run.
struct Scheduled<D: Device + ?Sized>(Arc<D>);

impl<D: Device + ?Sized> Scheduled<D> {
    fn inner(&self) -> &D {
        shuttle::thread::sleep(std::time::Duration::ZERO);
        &self.0
    }
}

impl<D: Device + ?Sized> Device for Scheduled<D> {
    fn geometry(&self) -> &Geometry {
        self.0.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        granted(self.inner().report(first, count))
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        granted(self.inner().append_vectored(zone, at, parts))
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        granted(self.inner().read(zone, offset, buffer))
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        granted(self.inner().reset(zone))
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        granted(self.inner().finish(zone))
    }

    fn flush(&self) -> Result<(), DeviceError> {
        granted(self.inner().flush())
    }
}

/// The device is sound: what it refuses, the store should not have asked for, even where it would
/// make up for it.
fn granted<T>(result: Result<T, DeviceError>) -> Result<T, DeviceError> {
    let refused = result.as_ref().err().filter(|error| !matches!(error, DeviceError::Crashed));
    assert!(refused.is_none(), "{refused:?}");
    result
}

/// The outcomes of all interleavings of a scenario.
#[derive(Default)]
struct Tally {
    tried: AtomicU64,
    cleaned: AtomicU64,
    checkpointed: AtomicU64,
}

impl Tally {
    fn note(&self, store: &Store) {
        let stats = store.stats().unwrap();
        self.tried.fetch_add(1, Relaxed);
        self.cleaned.fetch_add(u64::from(stats.counts.zones_reclaimed > 0), Relaxed);
        let checkpoints = stats.written.checkpoints - stats.opened.checkpoints;
        // The rest of the metadata log is notes, a page of them for each chunk at most.
        let notes = stats.written.since(&stats.opened).headers;
        self.checkpointed.fetch_add(u64::from(checkpoints > notes), Relaxed);
    }

    fn share(&self, of: &AtomicU64) -> f64 {
        of.load(Relaxed) as f64 / self.tried.load(Relaxed).max(1) as f64
    }
}

/// Tries interleavings: half of them at random, half of those with few switches of threads at
/// moments that matter, at which random ones rarely stay away from a thread for long.
fn explore(name: &str, count: usize, scenario: impl Fn(&Tally) + Send + Sync + 'static) -> Tally {
    let count = seeds::times(count as u64) as usize;
    let tally = Arc::new(Tally::default());
    let scenario = Arc::new(scenario);
    let begun = std::time::Instant::now();
    let once = || {
        let (tally, scenario) = (tally.clone(), scenario.clone());
        move || scenario(&tally)
    };
    let mut config = Config::new();
    // The threads of the store are not written for small stacks.
    config.stack_size = 1 << 18;
    // All atomics count as sequentially consistent; the store asks no more of its one flag.
    config.silence_warnings = true;
    Runner::new(RandomScheduler::new_from_seed(1, count / 2), config.clone()).run(once());
    for depth in [2, 4] {
        let scheduler = PctScheduler::new_from_seed(depth as u64, depth, count / 4);
        Runner::new(scheduler, config.clone()).run(once());
    }
    println!(
        "{name}: {} interleavings in {:.1} s; {:.0} % cleaned, {:.0} % certainly wrote checkpoints",
        tally.tried.load(Relaxed),
        begun.elapsed().as_secs_f64(),
        100.0 * tally.share(&tally.cleaned),
        100.0 * tally.share(&tally.checkpointed),
    );
    drop(scenario);
    Arc::into_inner(tally).unwrap()
}

/// The version of a page; checks that it is one, whole.
fn read(store: &Store, lba: u32) -> Option<u64> {
    Writer::new(contents(store.unit())).read(store, lba).unwrap()
}

fn memory() -> Arc<dyn Device> {
    let zone_bytes = ZONE * PAGE as u64;
    let shape = Shape::of_zones(ZONES, zone_bytes);
    in_memory(&shape).unwrap()
}

fn format(device: Arc<dyn Device>, unit: u32, checkpoint_writes: u64) -> Arc<dyn Device> {
    let format = Format {
        scheme: "nosep".to_string(),
        unit,
        logical_pages: Some(pages(unit).into()),
        checkpoint_writes: Some(checkpoint_writes),
        reserve: 2,
        spare: 1,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    device
}

fn open(device: &Arc<dyn Device>) -> Arc<Store> {
    // Compressed contents would be shorter than any delta.
    let open = Open { compression: Compression::None, ..Open::DEFAULT };
    Arc::new(Store::open(device.clone(), open).unwrap())
}

/// A thread that does something with a store.
fn start<T: Send + 'static>(
    store: &Arc<Store>,
    act: impl FnOnce(&Store) -> T + Send + 'static,
) -> JoinHandle<T> {
    let store = store.clone();
    spawn(move || act(&store))
}

fn close(store: Arc<Store>) {
    Arc::into_inner(store).unwrap().close().unwrap();
}

fn check(store: &Store, version: impl Fn(u32) -> u64) {
    for lba in 0..store.pages() as u32 {
        assert_eq!(read(store, lba), Some(version(lba)), "LBA {lba}");
    }
}

fn two_writers(unit: u32, checkpoint_writes: u64) -> Tally {
    // One may stay behind while the other goes through all zones of the device.
    let versions = [2, 8].map(|whole| rounds(unit, whole));
    let name = format!("two writers, unit {unit}, a checkpoint after {checkpoint_writes} writes");
    explore(&name, 3000 / UNITS.len(), move |tally| {
        let device = format(Arc::new(Scheduled(memory())), unit, checkpoint_writes);
        let store = open(&device);
        let writers = [0, 1].map(|own| {
            start(&store, move |store| {
                let mut writer = Writer::new(contents(unit));
                for version in 1..=versions[own] {
                    for lba in (own as u32..pages(unit)).step_by(2) {
                        writer.write(store, lba, version).unwrap();
                    }
                }
            })
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        tally.note(&store);
        check(&store, |lba| versions[lba as usize % 2]);
        close(store);
        check(&open(&device), |lba| versions[lba as usize % 2]);
    })
}

#[test]
fn two_writers_a_cleaner_and_a_busy_checkpointer_lose_nothing() {
    for unit in UNITS {
        let tally = two_writers(unit, 20);
        assert!(tally.share(&tally.cleaned) > 0.5);
        assert!(tally.share(&tally.checkpointed) > 0.5);
    }
}

/// A writer that filled a zone used to tell the device to finish it when others could already have
/// cleaned it and begun it anew.
#[test]
fn two_writers_and_a_cleaner_never_finish_a_zone_that_another_has_begun_anew() {
    for unit in UNITS {
        let tally = two_writers(unit, 100);
        assert!(tally.share(&tally.cleaned) > 0.5);
    }
}

#[test]
fn two_threads_whose_notes_fill_the_metadata_log_leave_room_for_checkpoints() {
    for unit in UNITS {
        let name = format!("two threads that trim, unit {unit}");
        let tally = explore(&name, 1000 / UNITS.len(), move |tally| {
            let device = format(Arc::new(Scheduled(memory())), unit, 1000);
            let store = open(&device);
            let threads = [0, 1].map(|lba| {
                start(&store, move |store| {
                    for version in 0..40 {
                        store.write(lba, &contents(unit).of(lba, version)).unwrap();
                        assert!(store.trim(lba).unwrap());
                        store.sync().unwrap();
                    }
                })
            });
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            tally.note(&store);
            close(store);
        });
        assert!(tally.share(&tally.checkpointed) > 0.5);
    }
}

#[test]
fn a_reader_sees_what_was_current_during_its_call_while_the_zone_is_cleaned() {
    UNITS.into_iter().for_each(read_while_cleaned);
}

fn read_while_cleaned(unit: u32) {
    let tally = explore(&format!("a reader, unit {unit}"), 2000 / UNITS.len(), move |tally| {
        let device = format(Arc::new(Scheduled(memory())), unit, 1000);
        let store = open(&device);
        let (begun, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (from, to) = (done.clone(), begun.clone());
        let writer = start(&store, move |store| {
            let mut writer = Writer::new(contents(unit));
            for version in 1..=rounds(unit, 4) {
                begun.store(version, Relaxed);
                writer.write(store, 0, version).unwrap();
                done.store(version, Relaxed);
                for lba in 1..pages(unit) * 3 / 4 {
                    writer.write(store, lba, version).unwrap();
                }
            }
        });
        let reader = start(&store, move |store| {
            for _ in 0..20 {
                let oldest = from.load(Relaxed);
                let version = read(store, 0).unwrap_or_default();
                let newest = to.load(Relaxed);
                assert!((oldest..=newest).contains(&version), "{oldest}..={newest}: {version}");
            }
        });
        writer.join().unwrap();
        reader.join().unwrap();
        tally.note(&store);
        close(store);
    });
    assert!(tally.share(&tally.cleaned) > 0.5);
}

fn is_crash(error: &StoreError) -> bool {
    match error {
        StoreError::Device(error) => matches!(**error, DeviceError::Crashed),
        StoreError::Failed(error) => is_crash(error),
        _ => false,
    }
}

/// A thread that came to wait after another had met the error used to wait for ever.
#[test]
fn what_was_written_before_a_sync_by_another_thread_survives_a_crash() {
    UNITS.into_iter().for_each(sync_and_crash);
}

fn sync_and_crash(unit: u32) {
    let name = format!("a sync and a crash, unit {unit}");
    let tally = explore(&name, 2000 / UNITS.len(), move |tally| {
        let faulty = Arc::new(Faulty::new(memory(), 1));
        let device = format(Arc::new(Scheduled(faulty.clone())), unit, 20);
        let store = open(&device);
        let pages = u64::from(pages(unit));
        let lba_of = move |write: u64| (write * 7 % pages) as u32;
        let before = rounds(unit, 2 * pages);
        // A page is written once in as many writes.
        let contents = Contents { near: 2 * pages, far: 4 * pages, ..contents(unit) };
        let mut writer = Writer::new(contents);
        for write in 1..=before {
            writer.write(&store, lba_of(write), write).unwrap();
        }
        let [begun, done] = [(); 2].map(|()| Arc::new(AtomicU64::new(before)));
        let (from, to) = (done.clone(), begun.clone());
        let writer = start(&store, move |store| {
            for write in before + 1..=before + rounds(unit, 2 * pages) {
                begun.store(write, Relaxed);
                if let Err(error) = writer.write(store, lba_of(write), write) {
                    assert!(is_crash(&error), "{error}");
                    return;
                }
                done.store(write, Relaxed);
            }
        });
        let cut = faulty.clone();
        let syncer = start(&store, move |store| {
            let mut synced = 0;
            for _ in 0..3 {
                synced = from.load(Relaxed);
                store.sync().unwrap();
            }
            cut.crash();
            synced
        });
        let synced = syncer.join().unwrap();
        writer.join().unwrap();
        tally.note(&store);
        drop(store);
        let device: Arc<dyn Device> = Arc::new(Scheduled(Arc::new(faulty.restart().unwrap())));
        let store = open(&device);
        let newest = to.load(Relaxed);
        for lba in 0..pages as u32 {
            let last = (1..=synced).rev().find(|&write| lba_of(write) == lba);
            let found = Writer::new(contents).read(&store, lba).unwrap();
            assert!(found >= last && found <= Some(newest), "LBA {lba}: {found:?}, not {last:?}");
        }
    });
    assert!(tally.share(&tally.cleaned) > 0.5);
}

/// The pages of a group may be cleaned before it is durable, and others sync and write meanwhile.
#[test]
fn a_group_is_whole_or_absent_after_a_crash_whatever_others_do() {
    UNITS.into_iter().for_each(group_and_crash);
}

fn group_and_crash(unit: u32) {
    const GROUP: u32 = 6;
    let name = format!("groups and a crash, unit {unit}");
    let tally = explore(&name, 2000 / UNITS.len(), move |tally| {
        let faulty = Arc::new(Faulty::new(memory(), 1));
        let device = format(Arc::new(Scheduled(faulty.clone())), unit, 20);
        let store = open(&device);
        let rest = GROUP..pages(unit);
        let mut writer = Writer::new(contents(unit));
        let before = rounds(unit, 1);
        for version in 1..=before {
            (0..pages(unit)).for_each(|lba| writer.write(&store, lba, version).unwrap());
        }
        store.sync().unwrap();
        let durable = Arc::new(AtomicU64::new(before));
        let noted = durable.clone();
        let mut others = writer.clone();
        let grouper = start(&store, move |store| {
            for version in before + 1..=before + rounds(unit, 4) {
                let pages: Vec<_> = (0..GROUP).map(|lba| writer.next(lba, version)).collect();
                let group: Vec<_> = pages.iter().map(Version::write).collect();
                match store.write_group(&group) {
                    Ok(()) => noted.store(version, Relaxed),
                    Err(error) => return assert!(is_crash(&error), "{error}"),
                }
            }
        });
        let writer = start(&store, move |store| {
            for version in before + 1..=before + rounds(unit, 2) {
                for lba in rest.clone() {
                    if let Err(error) = others.write(store, lba, version) {
                        return assert!(is_crash(&error), "{error}");
                    }
                }
            }
        });
        let cut = faulty.clone();
        let syncer = start(&store, move |store| {
            (0..3).for_each(|_| store.sync().unwrap());
            cut.crash();
        });
        syncer.join().unwrap();
        grouper.join().unwrap();
        writer.join().unwrap();
        tally.note(&store);
        drop(store);
        let device: Arc<dyn Device> = Arc::new(Scheduled(Arc::new(faulty.restart().unwrap())));
        let store = open(&device);
        let first = read(&store, 0);
        assert!(first >= Some(durable.load(Relaxed)), "{first:?}, not {durable:?}");
        for lba in 1..GROUP {
            assert_eq!(read(&store, lba), first, "LBA {lba} of the group");
        }
    });
    assert!(tally.share(&tally.cleaned) > 0.5);
}

#[test]
fn a_store_is_closed_or_dropped_at_any_moment_of_its_cleaner_and_checkpointer() {
    UNITS.into_iter().for_each(end);
}

fn end(unit: u32) {
    let tally = explore(&format!("an end, unit {unit}"), 600 / UNITS.len(), move |tally| {
        let device = format(Arc::new(Scheduled(memory())), unit, 20);
        let mut writer = Writer::new(contents(unit));
        let mut versions = 0;
        for closes in [true, false, true] {
            let store = open(&device);
            for _ in 0..rounds(unit, 2) {
                versions += 1;
                for lba in 0..pages(unit) {
                    writer.write(&store, lba, versions).unwrap();
                }
            }
            tally.note(&store);
            match closes {
                true => close(store),
                false => {
                    store.sync().unwrap();
                    drop(store);
                }
            }
        }
        check(&open(&device), |_| versions);
    });
    assert!(tally.share(&tally.cleaned) > 0.5);
}
