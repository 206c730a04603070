//! Cleaning takes newer versions of a victim's pages from an engine's buffer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use crate::versioned::{Contents, Writer};
use frostline_random::SplitMix;
use frostline_store::{Buffer, Cleaning, Compression, Format, Open, PageWrite, Store};
use frostline_zone::{Device, Shape, in_memory};

const PAGES: u32 = 400;
/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

/// An engine.
struct Engine {
    memory: Mutex<Memory>,
}

struct Memory {
    /// Versions of pages that changed in memory, by LBA.
    changed: BTreeMap<u32, u64>,
    writer: Writer,
    /// Pages that the store took.
    taken: u64,
}

impl Buffer for Engine {
    fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        let mut memory = self.memory.lock().unwrap();
        for lba in lbas {
            let Some(version) = memory.changed.remove(lba) else { continue };
            let offer = memory.writer.next(*lba, version);
            assert!(write(offer.write()), "the page lies in the victim");
            assert!(!write(offer.write()), "it lies there no more");
            memory.taken += 1;
        }
    }
}

fn device(unit: u32) -> Arc<dyn Device> {
    let zone_bytes = 40 * 4096;
    let shape = Shape::of_zones(28, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let logical_pages = Some(u64::from(PAGES));
    let format = Format { logical_pages, unit, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    device
}

#[test]
fn cleaning_writes_the_newer_version_of_a_buffer_and_copies_the_others() {
    [64, 512, 4096].into_iter().for_each(rewrite);
}

fn rewrite(unit: u32) {
    let device = device(unit);
    let store = Store::open(device.clone(), OPEN).unwrap();
    // A page is written once in about as many writes as there are pages.
    let near = 2 * u64::from(PAGES);
    let writer = Writer::new(Contents { has_deltas: unit < 4096, near, far: 4 * near });
    let read_all = |store: &Store| -> BTreeMap<u32, u64> {
        let mut reader = writer.clone();
        let mut read = |lba| Some((lba, reader.read(store, lba).unwrap()?));
        (0..PAGES).filter_map(&mut read).collect()
    };
    let memory = Memory { changed: BTreeMap::new(), writer: writer.clone(), taken: 0 };
    let engine = Arc::new(Engine { memory: Mutex::new(memory) });
    let buffer: Weak<dyn Buffer> = Arc::downgrade(&engine) as Weak<dyn Buffer>;
    store.add_buffer(buffer.clone()).unwrap();
    let (mut on_device, mut version) = (BTreeMap::new(), 0);
    let mut chance = SplitMix::new(9);
    let mut live = |steps: u32| {
        for _ in 0..steps {
            let lba = chance.below(PAGES);
            version += 1;
            let mut memory = engine.memory.lock().unwrap();
            match chance.below(8) {
                // It changes in memory, and leaves it some other time.
                0 if on_device.contains_key(&lba) => drop(memory.changed.insert(lba, version)),
                1 => {
                    memory.changed.remove(&lba);
                    memory.writer.forget(lba);
                    drop(memory);
                    store.trim(lba).unwrap();
                    on_device.remove(&lba);
                }
                _ => {
                    memory.changed.remove(&lba);
                    on_device.insert(lba, version);
                    let before = memory.changed.clone();
                    let next = memory.writer.next(lba, version);
                    drop(memory);
                    store.write_batch(&[next.write()]).unwrap();
                    let after = &engine.memory.lock().unwrap().changed;
                    on_device
                        .extend(before.into_iter().filter(|(lba, _)| !after.contains_key(lba)));
                }
            }
        }
        on_device.clone()
    };
    let taken = || engine.memory.lock().unwrap().taken;
    assert_eq!(live(20_000), read_all(&store));
    let (before, stats) = (taken(), store.stats().unwrap());
    assert!(before > 100 && stats.written.relocations > 100, "{before}, {:?}", stats.written);
    let has_changes = unit < 4096;
    assert_eq!(
        stats.deltas.tails > 1000 && stats.deltas.merged > 100,
        has_changes,
        "{:?}",
        stats.deltas
    );

    store.remove_buffer(&buffer).unwrap();
    let expected = live(5_000);
    assert_eq!(taken(), before, "asked after it was removed");

    store.sync().unwrap();
    drop(store);
    let mut store = Store::open(device, OPEN).unwrap();
    assert_eq!(store.check().unwrap().findings, []);
    assert_eq!(expected, read_all(&store));
}
