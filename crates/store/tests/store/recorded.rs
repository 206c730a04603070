//! A run of a store with deltas whose events were recorded is replayed with the decisions that it
//! had: deltas, merges, chunks, syncs and resets of zones, unit for unit.

use std::sync::{Arc, Mutex};

use frostline_log::Counts;
use frostline_placement::Hotness;
use frostline_random::SplitMix;
use frostline_sim::{
    Combination, ReplayProgress, Settings, Space, StoreShape, TraceVolume, replay,
};
use frostline_store::{
    ChangedWords, Cleaning, Format, Observer, Open, PageWrite, Store, StoreEvent, chunk_shape_of,
};
use frostline_trace::{MergeAt, RecordKind, Trim, Writes, prepare};
use frostline_zone::{Shape, in_memory};

const PAGES: u32 = 500;
const DEVICE_PAGES: u64 = 64;
const GP: f64 = 0.25;

/// Collects events as a trace.
#[derive(Default)]
struct Recording(Mutex<Writes>);

impl Observer for Recording {
    fn on(&self, event: StoreEvent) {
        let writes = &mut *self.0.lock().unwrap();
        let at = writes.lbas.len();
        match event {
            StoreEvent::Written { lba, hotness, bytes, kind, following } => {
                let kind = match kind {
                    frostline_store::RecordKind::Image => RecordKind::Image,
                    frostline_store::RecordKind::Delta => RecordKind::Delta,
                    frostline_store::RecordKind::Tail => RecordKind::Tail,
                };
                writes.lbas.push(lba);
                assert!(writes.following.get_or_insert_default().push(following));
                writes.hotness.get_or_insert_default().push(hotness);
                writes.bytes.get_or_insert_default().push(bytes);
                writes.kinds.get_or_insert_default().push(kind);
            }
            StoreEvent::Trimmed { lba } => writes.trims.push(Trim { at, first: lba, last: lba }),
            StoreEvent::Merged { lba, bytes } => writes.merges.push(MergeAt { at, lba, bytes }),
            StoreEvent::Synced => writes.syncs.push(at),
        }
    }
}

/// A page as its writer knows it.
struct Page {
    content: Vec<u8>,
    changed: ChangedWords,
}

/// A writer whose pages compress, or do not, and which changes few words of a page or writes it
/// anew.
struct Writer {
    chance: SplitMix,
    pages: Vec<Option<Page>>,
}

impl Writer {
    fn step(&mut self, store: &Store, hotness: bool) {
        let hot = self.chance.below(10) < 8;
        let lba = self.chance.below(if hot { PAGES / 8 } else { PAGES });
        if self.chance.below(200) == 0 {
            store.sync().unwrap();
        }
        if self.chance.below(60) == 0 {
            let had = self.pages[lba as usize].take().is_some();
            assert_eq!(store.trim(lba).unwrap(), had);
            return;
        }
        let anew = self.chance.below(40) == 0 || self.pages[lba as usize].is_none();
        let page = self.pages[lba as usize]
            .get_or_insert_with(|| Page { content: vec![0; 4096], changed: ChangedWords::NONE });
        if anew {
            let (used, noise) = (self.chance.below(4000) as usize, self.chance.below(2) == 0);
            page.content.fill(0);
            let chance = &mut self.chance;
            let byte = |_: &u8| if noise { chance.below(256) as u8 } else { 7 };
            let filled: Vec<u8> = page.content[..used].iter().map(byte).collect();
            page.content[..used].copy_from_slice(&filled);
            page.changed = ChangedWords::NONE;
        } else {
            for _ in 0..1 + self.chance.below(12) {
                let word = self.chance.below(512) as usize;
                page.content[8 * word..8 * word + 8].fill(self.chance.below(256) as u8);
                page.changed.add(word..word + 1);
            }
        }
        let modifications = (lba.wrapping_mul(2_654_435_761) >> 20) as u16;
        let current = frostline_placement::Activity { modifications, ..Default::default() };
        let known = Hotness { origin: lba % 3, current, ..Hotness::default() };
        let changed = (!anew).then_some(&page.changed);
        let hotness = hotness.then_some(known);
        store.write_batch(&[PageWrite { lba, page: &page.content, hotness, changed }]).unwrap();
        page.changed.note_written();
    }
}

/// A run: what was recorded of it, and what was counted.
fn run(format: &Format, zones: u64, steps: u32) -> (Writes, Counts, u32) {
    let shape = Shape::of_zones(zones, DEVICE_PAGES * 4096);
    let device = in_memory(&shape).unwrap();
    Store::format(device.clone(), format).unwrap();
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device, open).unwrap();
    let recording = Arc::new(Recording::default());
    store.observe(recording.clone()).unwrap();
    store.count_copies().unwrap();
    let pages = (0..PAGES).map(|_| None).collect();
    let mut writer = Writer { chance: SplitMix::new(format.seed), pages };
    (0..steps).for_each(|_| writer.step(&store, format.hotness));
    let mut read = vec![0; 4096];
    for (lba, page) in (0..).zip(&writer.pages) {
        assert_eq!(store.read(lba, &mut read).unwrap(), page.is_some());
        assert!(page.as_ref().is_none_or(|page| page.content == read), "page {lba}");
    }
    let stats = store.stats().unwrap();
    let (copied, victim_garbage) = (stats.copied.unwrap(), store.victim_garbage().unwrap());
    let counts = Counts { frozen_relocations: copied.frozen, victim_garbage, ..stats.counts };
    assert_eq!(counts.merges, stats.deltas.merged);
    assert_eq!(counts.delta_writes, stats.deltas.written);
    let zones = store.info().unwrap().data_zones;
    drop(store);
    (std::mem::take(&mut *recording.0.lock().unwrap()), counts, zones)
}

fn replayed(writes: Writes, format: &Format, scheme: &str, zones: u32) -> Counts {
    let volume = TraceVolume::new(prepare(None, writes, false).unwrap());
    let chunks = chunk_shape_of(DEVICE_PAGES as u32, format.unit, format.hotness).unwrap();
    let settings = Settings {
        unit: Some(format.unit),
        store: Some(StoreShape { pages: PAGES, whole: PAGES, spare: format.spare, chunks }),
        space: Space::Bounded { gp: GP, zones: zones - format.spare },
        reserve: format.reserve,
        seed: format.seed,
        ..Settings::default()
    };
    let combination = Combination::new(scheme, format.victim.as_deref(), &settings).unwrap();
    let progress = ReplayProgress::default();
    replay(&volume, &combination, &settings, chunks.zone_pages(), &progress).unwrap().counts
}

fn is_replayed(format: &Format, zones: u64) -> Counts {
    let (writes, counts, data_zones) = run(format, zones, 20_000);
    let tails = writes.kinds.as_ref().map_or(0, |kinds| kinds.tails().count_ones());
    let replayed = replayed(writes, format, &format.scheme, data_zones);
    let name = format!("{} in units of {}", format.scheme, format.unit);
    assert_eq!(counts, replayed, "{name}");
    assert!(counts.zones_reclaimed > 60, "{name}: too little");
    assert!(tails > 1000 || format.unit == 4096, "{name}: {tails} tails");
    counts
}

fn format(scheme: &str, unit: u32, spare: u32, seed: u64) -> Format {
    let scheme = scheme.to_string();
    let logical_pages = Some(u64::from(PAGES));
    // So that checkpoints end chunks as well.
    let checkpoint_writes = Some(3000);
    Format {
        scheme,
        unit,
        spare,
        seed,
        gp: GP,
        logical_pages,
        checkpoint_writes,
        ..Format::default()
    }
}

#[test]
fn a_recorded_run_of_a_store_with_deltas_is_replayed_with_the_decisions_that_it_had() {
    for (seed, scheme) in (1..).zip(["nosep", "sepbit", "dac", "frozen:sepbit"]) {
        for (unit, spare) in [(64, 2), (512, 5)] {
            let counts = is_replayed(&format(scheme, unit, spare, seed), 40);
            assert!(counts.merges > 100 && counts.delta_writes > 2000, "{scheme}");
            assert!(counts.frozen_relocations > 0, "{scheme}");
        }
    }
}

#[test]
fn what_an_engine_tells_of_its_pages_is_heard_in_the_replay() {
    for scheme in ["frostline", "frozen:dac"] {
        let format = Format { hotness: true, ..format(scheme, 64, 2, 7) };
        let counts = is_replayed(&format, 48);
        assert!(counts.merges > 100, "{scheme}");
    }
}

#[test]
fn zones_of_whole_pages_that_syncs_ended_early_are_replayed() {
    let counts = is_replayed(&Format { spare: 1, ..format("sepbit", 4096, 1, 3) }, 40);
    assert!(counts.skipped > 0, "no zone was ended early");
}
