//! Cleaning takes newer versions of a victim's pages from an engine's buffer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use frostline_random::SplitMix;
use frostline_store::{Buffer, Cleaning, Format, Open, PageWrite, Store};
use frostline_zone::{Device, Shape, in_memory};

const PAGES: u32 = 400;
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// Pages of an engine that changed in memory, by LBA.
#[derive(Default)]
struct Changed {
    pages: Mutex<BTreeMap<u32, u8>>,
    /// Pages that the store took.
    taken: Mutex<u64>,
    /// The store is in units.
    in_units: bool,
}

/// A page of bytes that are its version; in units it ends earlier.
fn content(version: u8, in_units: bool) -> Vec<u8> {
    let mut page = vec![version; if in_units { 300 + 14 * usize::from(version) } else { 4096 }];
    page.resize(4096, 0);
    page
}

impl Buffer for Changed {
    fn write_newer(&self, lbas: &[u32], write: &mut dyn FnMut(PageWrite<'_>) -> bool) {
        let mut taken = self.taken.lock().unwrap();
        let mut pages = self.pages.lock().unwrap();
        for lba in lbas {
            let Some(&version) = pages.get(lba) else { continue };
            let page = content(version, self.in_units);
            let offer = PageWrite { lba: *lba, page: &page, hotness: None, changed: None };
            assert!(write(offer), "the page lies in the victim");
            assert!(!write(offer), "it lies there no more");
            pages.remove(lba);
            *taken += 1;
        }
    }
}

fn device(unit: Option<u32>) -> Arc<dyn Device> {
    let zone_bytes = 40 * 4096;
    let shape = Shape { bytes: 28 * zone_bytes, zone_bytes: Some(zone_bytes), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    let logical_pages = Some(u64::from(PAGES));
    let format = Format { logical_pages, unit, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    device
}

fn read(store: &Store, lba: u32) -> Option<u8> {
    let mut page = [0; 4096];
    store.read(lba, &mut page).unwrap().then(|| {
        assert_eq!(page[..], content(page[0], store.unit().is_some()));
        page[0]
    })
}

#[test]
fn cleaning_writes_the_newer_version_of_a_buffer_and_copies_the_others() {
    [None, Some(64), Some(512), Some(4096)].into_iter().for_each(rewrite);
}

fn rewrite(unit: Option<u32>) {
    let (device, in_units) = (device(unit), unit.is_some());
    let store = Store::open(device.clone(), OPEN).unwrap();
    let changed = Arc::new(Changed { in_units, ..Changed::default() });
    let buffer: Weak<dyn Buffer> = Arc::downgrade(&changed) as Weak<dyn Buffer>;
    store.add_buffer(buffer.clone()).unwrap();
    let mut on_device = BTreeMap::new();
    let mut chance = SplitMix::new(9);
    let mut live = |steps: u32| {
        for step in 0..steps {
            let (lba, version) = (chance.below(PAGES), step as u8);
            match chance.below(8) {
                // It changes in memory, and leaves it some other time.
                0 if on_device.contains_key(&lba) => {
                    changed.pages.lock().unwrap().insert(lba, version);
                }
                1 => {
                    changed.pages.lock().unwrap().remove(&lba);
                    store.trim(lba).unwrap();
                    on_device.remove(&lba);
                }
                _ => {
                    changed.pages.lock().unwrap().remove(&lba);
                    on_device.insert(lba, version);
                    let before = changed.pages.lock().unwrap().clone();
                    store.write(lba, &content(version, in_units)).unwrap();
                    let after = changed.pages.lock().unwrap();
                    on_device
                        .extend(before.into_iter().filter(|(lba, _)| !after.contains_key(lba)));
                }
            }
        }
        on_device.clone()
    };
    let expected = live(20_000);
    (0..PAGES).for_each(|lba| assert_eq!(read(&store, lba), expected.get(&lba).copied()));
    let taken = *changed.taken.lock().unwrap();
    let written = store.stats().unwrap().written;
    assert!(taken > 100 && written.relocations > 100, "{taken}, {written:?}");

    store.remove_buffer(&buffer).unwrap();
    let expected = live(5_000);
    assert_eq!(*changed.taken.lock().unwrap(), taken, "asked after it was removed");

    store.sync().unwrap();
    drop(store);
    let mut store = Store::open(device, OPEN).unwrap();
    assert_eq!(store.check().unwrap().findings, []);
    (0..PAGES).for_each(|lba| assert_eq!(read(&store, lba), expected.get(&lba).copied()));
}
