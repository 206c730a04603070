//! Power cuts and kills of files' syncs, from a seed: a file is as of its last sync, or as of the
//! one that was interrupted.

use std::sync::Arc;

use frostline_store::{Cleaning, Format, Open, Store};
use frostline_testkit::seeds;
use frostline_zone::{Device, Fault, Faulty, Shape as DeviceShape, Tail, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::{StoreFiles, StoredFile, Use};
use crate::directory::PAGE;

const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// Pages of the file, at most.
const PAGES: usize = 120;

fn memory(unit: u32) -> Arc<dyn Device> {
    let zone_bytes = 40 * PAGE as u64;
    let shape = DeviceShape {
        bytes: 48 * zone_bytes,
        zone_bytes: Some(zone_bytes),
        ..DeviceShape::default()
    };
    let device = in_memory(&shape).unwrap();
    // A group has a few zones.
    let format = Format { unit, reserve: 8, checkpoint_writes: Some(300), ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    device
}

fn files(device: &Arc<Faulty>) -> StoreFiles {
    StoreFiles::over(Store::open(device.clone(), OPEN).unwrap()).unwrap()
}

/// The content that a file must have.
struct Model {
    rng: SmallRng,
    /// As of the last sync that returned.
    synced: Vec<u8>,
    /// With what was written since.
    content: Vec<u8>,
    /// Bytes that SQLite writes at once.
    page_size: usize,
    version: u64,
}

impl Model {
    /// Writes as a transaction does: some pages, each with a few words that changed, or new.
    fn write(&mut self, files: &StoreFiles, file: &StoredFile) {
        let size = self.page_size;
        for _ in 0..self.rng.random_range(1..8) {
            self.version += 1;
            let pages = self.content.len() / size;
            let most = (PAGES * PAGE / size).min(pages + 1);
            // Some pages more often than others.
            let most = if self.rng.random_bool(0.6) { most.div_ceil(5) } else { most };
            let page = self.rng.random_range(0..most);
            let end = (page + 1) * size;
            let is_new = end > self.content.len() || self.rng.random_bool(0.1);
            self.content.resize(self.content.len().max(end), 0);
            let bytes = &mut self.content[page * size..end];
            if is_new {
                let words = (self.version << 20..).take(size / 8);
                bytes.copy_from_slice(&words.flat_map(u64::to_le_bytes).collect::<Vec<_>>());
            } else if self.rng.random_bool(0.9) {
                let len = self.rng.random_range(1..120);
                let at = self.rng.random_range(0..size - len);
                bytes[at..at + len].fill(self.version as u8);
            }
            files.write_at(file, (page * size) as u64, bytes).unwrap();
        }
        if self.rng.random_bool(0.05) {
            let kept = self.rng.random_range(0..=self.content.len() / size) * size;
            self.content.truncate(kept);
            files.truncate(file, kept as u64).unwrap();
        }
    }

    /// The file is that of the last sync, or that of the one that was interrupted.
    fn check(&mut self, files: &StoreFiles, file: &StoredFile, case: &str) {
        let mut found = vec![0; files.size(file).unwrap() as usize];
        assert_eq!(files.read(file, 0, &mut found).unwrap(), found.len());
        assert!(found == self.synced || found == self.content, "{case}: neither old nor new");
        self.content.clone_from(&found);
        self.synced = found;
    }
}

/// Returns the deltas that were written.
fn live(seed: u64, unit: u32) -> u64 {
    let tail = [Tail::Whole, Tail::Torn, Tail::Garbage, Tail::Holes][seed as usize % 4];
    let mut device = Arc::new(Faulty::new(memory(unit), seed).with_tail(tail));
    let page_size = [PAGE, 1024, 16384][seed as usize % 3];
    let rng = SmallRng::seed_from_u64(seed);
    let mut model = Model { rng, synced: Vec::new(), content: Vec::new(), page_size, version: 0 };
    let mut deltas = 0;
    for crash in 0..12 {
        let case = format!("seed {seed}, crash {crash}");
        let store = files(&device);
        let file = store.file("my.db", Use::Database, true).unwrap();
        model.check(&store, &file, &case);
        let fault = if model.rng.random_bool(0.3) { Fault::Kill } else { Fault::PowerCut };
        device.schedule(device.operations() + model.rng.random_range(1..120), fault);
        loop {
            model.write(&store, &file);
            if model.rng.random_bool(0.2) {
                continue;
            }
            match store.sync(&file) {
                Ok(()) => model.synced.clone_from(&model.content),
                Err(_) if device.has_crashed() => break,
                Err(error) => panic!("{case}: {error}"),
            }
        }
        deltas += store.store.stats().unwrap().deltas.written;
        drop((store, file));
        let next = if fault == Fault::Kill { device.reopen() } else { device.restart() };
        device = Arc::new(next.unwrap());
        if fault == Fault::PowerCut {
            continue;
        }
        // A power cut right after a kill may take the writes of the killed process, and the file is
        // older then. The next process makes all that it finds durable as it opens the store.
        let store = files(&device);
        let file = store.file("my.db", Use::Database, true).unwrap();
        model.check(&store, &file, &case);
        drop((store, file));
        device = Arc::new(device.restart().unwrap());
    }
    let store = files(&device);
    let file = store.file("my.db", Use::Database, true).unwrap();
    model.check(&store, &file, "at last");
    drop((store, file));
    let mut store = Store::open(device, OPEN).unwrap();
    assert_eq!(store.check().unwrap().findings, []);
    deltas
}

#[test]
fn a_file_of_a_store_with_deltas_is_as_of_a_sync_after_a_crash() {
    let lived = seeds::each(0..80, |seed| live(seed, [64, 512][seed as usize % 2]));
    let deltas: u64 = lived.iter().sum();
    assert!(deltas > 5_000, "only {deltas} deltas");
}

#[test]
fn a_file_of_a_store_of_whole_pages_is_as_of_a_sync_after_a_crash() {
    assert_eq!(seeds::each(0..20, |seed| live(seed, 4096)), [0; 20]);
}
