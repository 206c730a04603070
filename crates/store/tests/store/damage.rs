//! Whatever is damaged, what the store returns is what was written, or an error that names what
//! is lost.
//!
//! One thing no store can tell apart: in one that crashed, damage to the last chunk, or to those
//! before it in its zone, looks as if the power had been cut before they were durable. What they
//! held is then as it was before. docs/recovery.md says what that can be.

mod contradictions;
mod forged;

use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, RecordKind, Store, StoreError,
};
use frostline_zone::{AlignedBuf, Device, Fault, Faulty, Shape, ZoneState, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use forged::word;

const PAGE: usize = 4096;
const PAGES: u32 = 600;
const ZONE_PAGES: u64 = 40;
/// The version that is written last to a store that crashes.
const UNSURE: u32 = u32::MAX;

/// Kinds of pages: a superblock, notes, a table, a chunk's header.
const SUPER: u32 = 1;
const NOTES: u32 = 2;
const TABLE: u32 = 4;
const CHUNK: u32 = 5;

/// Contents are so regular that compressed images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

fn content(lba: u32, version: u32) -> Vec<u8> {
    let word = u64::from(lba) << 32 | u64::from(version);
    word.to_le_bytes().repeat(PAGE / 8)
}

fn shape() -> Shape {
    let zone_bytes = ZONE_PAGES * PAGE as u64;
    Shape::of_zones(44, zone_bytes)
}

/// A store after a while, and what its pages are.
struct Sample {
    device: Arc<dyn Device>,
    /// The device at several moments before, the oldest first.
    earlier: Vec<Arc<dyn Device>>,
    /// All that each page ever was; the last is what it is.
    pages: Vec<Vec<Option<Vec<u8>>>>,
    /// The zone of the last chunk, if the store crashed: nothing tells of what is missing there.
    unsure: Option<u32>,
}

impl Sample {
    /// True if damage in one of these zones may look as if the power had been cut.
    fn is_unsure(&self, zones: &[u32]) -> bool {
        self.unsure.is_some_and(|unsure| zones.contains(&unsure))
    }
}

/// Closed, or dropped after a sync and then one more write of page 0, whose chunk tells that all
/// before were durable. Of a store with deltas most pages have a delta, and many of these a tail.
fn sample(closed: bool, unit: u32) -> Sample {
    let device = in_memory(&shape()).unwrap();
    let format = Format {
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(400),
        unit,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let mut pages: Vec<Vec<Option<Vec<u8>>>> = vec![vec![None]; PAGES as usize];
    let mut changes = vec![ChangedWords::NONE; PAGES as usize];
    let mut rng = SmallRng::seed_from_u64(9);
    let mut earlier = Vec::new();
    let writes = if unit < 4096 { 8000 } else { 3000 };
    let mut tails = 0;
    for version in 0..writes {
        if version % (writes / 5) == writes / 5 - 1 {
            earlier.push(copy(&*device, |_, _| {}));
        }
        let lba = rng.random_range(0..PAGES);
        let (versions, changed) = (&mut pages[lba as usize], &mut changes[lba as usize]);
        if rng.random_bool(0.05) {
            store.trim(lba).unwrap();
            versions.push(None);
        } else {
            let last = versions.last().cloned().flatten();
            let mut page = content(lba, version);
            match last.filter(|_| unit < 4096 && rng.random_bool(0.8)) {
                Some(last) => {
                    let begin = rng.random_range(0..PAGE / 8);
                    let end = (begin + rng.random_range(5..40)).min(PAGE / 8);
                    page[..8 * begin].copy_from_slice(&last[..8 * begin]);
                    page[8 * end..].copy_from_slice(&last[8 * end..]);
                    changed.add(begin..end);
                    tails += u32::from(changed.kind() == RecordKind::Tail);
                    let changed = Some(&*changed);
                    let write = PageWrite { lba, page: &page, hotness: None, changed };
                    store.write_batch(&[write]).unwrap();
                    changes[lba as usize].note_written();
                }
                None => {
                    store.write(lba, &page).unwrap();
                    *changed = ChangedWords::NONE;
                }
            }
            versions.push(Some(page));
        }
        if rng.random_bool(0.01) {
            store.sync().unwrap();
        }
    }
    let stats = store.stats().unwrap();
    assert!(stats.counts.zones_reclaimed > 20);
    assert!(unit == 4096 || tails > 1000 && stats.deltas.merged > 100, "{tails}, {stats:?}");
    match closed {
        true => store.close().unwrap(),
        false => {
            store.sync().unwrap();
            store.write(0, &content(0, UNSURE)).unwrap();
            pages[0].push(Some(content(0, UNSURE)));
            store.sync().unwrap();
        }
    }
    let unsure = (!closed).then(|| last_chunk(&*device).1);
    Sample { device, earlier, pages, unsure }
}

/// Samples of whole pages, and with deltas.
fn samples(closed: bool) -> impl Iterator<Item = Sample> {
    [4096, 64].into_iter().map(move |unit| sample(closed, unit))
}

/// A copy of a device, but for what `change` makes of a zone's bytes.
fn copy(from: &dyn Device, change: impl Fn(u32, &mut Vec<u8>)) -> Arc<dyn Device> {
    let to = in_memory(&shape()).unwrap();
    let zones = from.geometry().zones;
    for (zone, info) in (0u32..).zip(from.report(0, zones).unwrap()) {
        let mut bytes = vec![0; info.write_pointer as usize];
        from.read(zone, 0, &mut bytes).unwrap();
        let full = info.state == ZoneState::Full;
        let whole = bytes.len();
        change(zone, &mut bytes);
        to.append(zone, 0, &bytes).unwrap();
        if full && bytes.len() == whole {
            to.finish(zone).unwrap();
        }
    }
    to
}

/// Opens a damaged store and reads everything. True if the damage was noticed. Pages may be what
/// they were before if `older`.
fn inspect(device: Arc<dyn Device>, sample: &Sample, older: bool, what: &str) -> bool {
    let mut noticed = false;
    let mut opened = Store::open(device.clone(), OPEN);
    let mut older = older;
    if let Err(StoreError::Missing(losses)) = &opened {
        noticed = true;
        older |= losses.iter().any(|loss| loss.pages == 0);
        opened = Store::open(device, Open { accept_loss: true, ..OPEN });
    }
    let store = match opened {
        Ok(store) => store,
        Err(StoreError::Damaged { .. } | StoreError::NoSuperblock { .. }) => return true,
        Err(error) => panic!("{what}: {error}"),
    };
    for (lba, versions) in (0..PAGES).zip(&sample.pages) {
        let mut page = vec![0; PAGE];
        match store.read(lba, &mut page) {
            Ok(found) => {
                let is = |v: &Option<Vec<u8>>| found.then_some(&page) == v.as_ref();
                let older = older || sample.unsure.is_some() && lba == 0;
                let right = versions.last().is_some_and(is) || older && versions.iter().any(is);
                assert!(right, "{what}: LBA {lba} is wrong");
            }
            Err(StoreError::Checksum { lba: named, .. } | StoreError::Lost { lba: named }) => {
                assert_eq!(named, lba, "{what}");
                noticed = true;
            }
            // A leaf of the map, which names the pages that it was for.
            Err(StoreError::Damaged { why, .. }) => {
                let first = lba / 1024 * 1024;
                assert!(why.contains(&format!("tells where LBA {first} and")), "{what}: {why}");
                noticed = true;
            }
            Err(error) => panic!("{what}: LBA {lba}: {error}"),
        }
    }
    noticed
}

/// The kind of a page: of one that describes others, or that of data.
fn kind(device: &dyn Device, zone: u32, page: u64) -> u32 {
    let mut bytes = AlignedBuf::zeroed(PAGE);
    device.read(zone, page * PAGE as u64, &mut bytes).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    if word(0) == u32::from_le_bytes(*b"FRST") { word(8) } else { 0 }
}

fn has_superblock(device: &dyn Device, zone: u32) -> bool {
    let pages = device.zone(zone).unwrap().write_pointer / PAGE as u64;
    (0..pages).any(|page| kind(device, zone, page) == SUPER)
}

/// Flips bytes of pages of every kind, as many of each.
fn flip_everywhere(sample: &Sample, of_each: usize) {
    let mut rng = SmallRng::seed_from_u64(3);
    let mut by_kind: [Vec<(u32, u64)>; 6] = Default::default();
    let zones = sample.device.geometry().zones;
    for (zone, info) in (0u32..).zip(sample.device.report(0, zones).unwrap()) {
        for page in 0..info.write_pointer / PAGE as u64 {
            by_kind[kind(&*sample.device, zone, page) as usize].push((zone, page));
        }
    }
    for (kind, pages) in by_kind.iter().enumerate() {
        assert!(!pages.is_empty(), "no page of kind {kind}");
        let mut noticed = 0;
        for _ in 0..of_each {
            let (zone, page) = pages[rng.random_range(0..pages.len())];
            // Most of what matters stands at the beginning.
            let most = if rng.random_bool(0.5) { 72 } else { PAGE as u64 };
            let byte = page * PAGE as u64 + rng.random_range(0..most);
            let device = Faulty::new(copy(&*sample.device, |_, _| {}), 1);
            device.flip(zone, byte, 1 << rng.random_range(0..8));
            let what = format!("kind {kind}, zone {zone}, byte {byte} flipped");
            let older = sample.is_unsure(&[zone]);
            noticed += u32::from(inspect(Arc::new(device), sample, older, &what));
        }
        println!("kind {kind}: {noticed} of {of_each} flips were noticed");
    }
}

#[test]
fn a_flipped_byte_of_a_closed_store_is_named_or_harmless() {
    samples(true).for_each(|sample| flip_everywhere(&sample, 150));
}

#[test]
fn a_flipped_byte_of_a_store_that_crashed_is_named_or_harmless_or_as_if_never_written() {
    samples(false).for_each(|sample| flip_everywhere(&sample, 150));
}

fn cut_every_zone(sample: &Sample) {
    let mut rng = SmallRng::seed_from_u64(4);
    for zone in 0..sample.device.geometry().zones {
        for cut in 0..8 {
            let len = if cut == 0 { 0 } else { rng.random_range(0..ZONE_PAGES) } as usize * PAGE;
            let device = copy(&*sample.device, |z, bytes| {
                if z == zone {
                    bytes.truncate(len);
                }
            });
            let what = format!("zone {zone} cut to {len} bytes");
            inspect(device, sample, sample.is_unsure(&[zone]), &what);
        }
    }
}

#[test]
fn a_zone_of_a_closed_store_that_is_cut_or_emptied_is_named_or_harmless() {
    samples(true).for_each(|sample| cut_every_zone(&sample));
}

#[test]
fn a_zone_of_a_store_that_crashed_that_is_cut_is_named_or_harmless_or_as_if_never_written() {
    samples(false).for_each(|sample| cut_every_zone(&sample));
}

/// The bytes of a zone up to its write pointer.
fn zone_bytes(device: &dyn Device, zone: u32) -> Vec<u8> {
    let mut bytes = vec![0; device.zone(zone).unwrap().write_pointer as usize];
    device.read(zone, 0, &mut bytes).unwrap();
    bytes
}

/// A write that went astray: two places hold each other's pages.
fn swap_pages(sample: &Sample, times: usize) -> usize {
    let mut rng = SmallRng::seed_from_u64(5);
    let zones = sample.device.geometry().zones;
    let written: Vec<(u32, usize)> = (0..zones)
        .flat_map(|zone| {
            let pages = sample.device.zone(zone).unwrap().write_pointer as usize / PAGE;
            (0..pages).map(move |page| (zone, page))
        })
        .collect();
    let page = |(zone, page): (u32, usize)| {
        zone_bytes(&*sample.device, zone)[page * PAGE..][..PAGE].to_vec()
    };
    let mut noticed = 0;
    for _ in 0..times {
        let mut draw = || written[rng.random_range(0..written.len())];
        let (one, other) = (draw(), draw());
        let moved = [(one, page(other)), (other, page(one))];
        let device = copy(&*sample.device, |zone, bytes| {
            for ((_, at), page) in moved.iter().filter(|((to, _), _)| *to == zone) {
                bytes[at * PAGE..][..PAGE].copy_from_slice(page);
            }
        });
        let what = format!("pages {one:?} and {other:?} swapped");
        let older = sample.is_unsure(&[one.0, other.0]);
        noticed += usize::from(inspect(device, sample, older, &what));
    }
    noticed
}

#[test]
fn pages_in_each_others_places_are_named_or_harmless() {
    for sample in samples(true) {
        let noticed = swap_pages(&sample, 200);
        assert!(noticed > 100, "only {noticed} of 200 were noticed");
    }
    for sample in samples(false) {
        swap_pages(&sample, 200);
    }
}

/// A write that went astray: another place holds what should be here, and here is nothing.
#[test]
fn a_page_written_to_anothers_place_is_named_or_harmless() {
    for sample in samples(true).chain(samples(false)) {
        let mut rng = SmallRng::seed_from_u64(6);
        let zones = sample.device.geometry().zones;
        let mut noticed = 0;
        for _ in 0..200 {
            let mut draw = || loop {
                let zone = rng.random_range(0..zones);
                let pages = sample.device.zone(zone).unwrap().write_pointer / PAGE as u64;
                if pages > 0 {
                    return (zone, rng.random_range(0..pages) as usize);
                }
            };
            let (meant, hit) = (draw(), draw());
            let page = zone_bytes(&*sample.device, meant.0)[meant.1 * PAGE..][..PAGE].to_vec();
            let device = copy(&*sample.device, |zone, bytes| {
                if zone == meant.0 {
                    bytes[meant.1 * PAGE..][..PAGE].fill(0);
                }
                if zone == hit.0 {
                    bytes[hit.1 * PAGE..][..PAGE].copy_from_slice(&page);
                }
            });
            let older = sample.is_unsure(&[meant.0, hit.0]);
            let what = format!("page {meant:?} written to {hit:?}");
            noticed += u32::from(inspect(device, &sample, older, &what));
        }
        println!("{noticed} of 200 misdirected writes were noticed");
        assert!(sample.unsure.is_some() || noticed > 50, "only {noticed}");
    }
}

/// The table of the last checkpoint is lost, and with it one more page. A closed store may have no
/// open zone: then only a chunk in a zone that nothing names tells how far the others were durable.
#[test]
fn a_page_of_a_closed_store_that_is_lost_with_the_last_table_is_named_or_harmless() {
    let sample = sample(true, 64);
    let (device, zones) = (&*sample.device, sample.device.geometry().zones);
    let written = |zone: u32| device.zone(zone).unwrap().write_pointer / PAGE as u64;
    let all = (0..zones).flat_map(|zone| (0..written(zone)).map(move |page| (zone, page)));
    let tables = all.clone().filter(|&(zone, page)| kind(device, zone, page) == TABLE);
    let seq =
        |&(zone, page): &(u32, u64)| word(&zone_bytes(device, zone)[page as usize * PAGE..], 24);
    let last = tables.max_by_key(seq).expect("a checkpoint");
    let is_metadata = |zone: u32| (1..CHUNK).contains(&kind(device, zone, 0));
    for lost in all.filter(|&(zone, page)| !is_metadata(zone) && page < 12) {
        let damaged = copy(device, |zone, bytes| {
            for (_, page) in [last, lost].into_iter().filter(|(of, _)| *of == zone) {
                bytes[page as usize * PAGE..][..PAGE].fill(0);
            }
        });
        inspect(damaged, &sample, false, &format!("table {last:?} and page {lost:?} lost"));
    }
}

#[test]
fn zones_in_each_others_places_are_named_or_harmless() {
    for sample in samples(true).chain(samples(false)) {
        let zones = sample.device.geometry().zones;
        for one in 0..zones {
            let other = (one + 7) % zones;
            let swapped = [(one, other), (other, one)];
            let device = copy(&*sample.device, |zone, bytes| {
                if let Some(&(_, from)) = swapped.iter().find(|&&(to, _)| to == zone) {
                    *bytes = zone_bytes(&*sample.device, from);
                }
            });
            let older = sample.is_unsure(&[one, other]);
            inspect(device, &sample, older, &format!("zones {one} and {other} swapped"));
        }
    }
}

#[test]
fn a_zone_of_another_store_is_named_or_harmless() {
    let other = sample(true, 4096);
    for sample in samples(true).chain(samples(false)) {
        let zones = 0..sample.device.geometry().zones;
        let supers = zones.clone().filter(|&zone| has_superblock(&*sample.device, zone));
        let supers: Vec<_> = supers.collect();
        // Without a superblock of its own the device is the other store's.
        for foreign in zones.filter(|&foreign| supers != [foreign]) {
            let device = copy(&*sample.device, |zone, bytes| {
                if zone == foreign {
                    *bytes = zone_bytes(&*other.device, zone);
                }
            });
            let older = sample.is_unsure(&[foreign]);
            inspect(device, &sample, older, &format!("zone {foreign} is another store's"));
        }
    }
}

#[test]
fn pages_behind_what_was_written_to_a_zone_are_named_or_harmless() {
    for sample in samples(true).chain(samples(false)) {
        for ahead in 0..sample.device.geometry().zones {
            for filling in [0, 0x5a] {
                let device = copy(&*sample.device, |zone, bytes| {
                    if zone == ahead {
                        bytes.resize(
                            (bytes.len() + 3 * PAGE).min(ZONE_PAGES as usize * PAGE),
                            filling,
                        );
                    }
                });
                inspect(device, &sample, false, &format!("zone {ahead} is longer, by {filling}"));
            }
        }
    }
}

/// Writes to a zone that were acknowledged, flushed and lost all the same.
#[test]
fn a_zone_as_it_was_before_is_named_or_harmless() {
    for sample in samples(false).chain(samples(true)) {
        for (moment, earlier) in sample.earlier.iter().enumerate() {
            for old in 0..sample.device.geometry().zones {
                let device = copy(&*sample.device, |zone, bytes| {
                    if zone == old {
                        *bytes = zone_bytes(&**earlier, zone);
                    }
                });
                let what = format!("zone {old} as at moment {moment}");
                inspect(device, &sample, sample.is_unsure(&[old]), &what);
            }
        }
    }
}

/// Metadata zones as they were before: what was written since lies behind notes that are missing,
/// and tells of them. Nothing tells of the last write.
#[test]
fn metadata_as_they_were_before_are_noticed_by_what_was_written_since() {
    for sample in samples(false).chain(samples(true)) {
        let is_metadata = |zone: u32| {
            !zone_bytes(&*sample.device, zone).is_empty() && kind(&*sample.device, zone, 0) == SUPER
        };
        // At the last moment all but one write had been made.
        for (moment, earlier) in sample.earlier.iter().enumerate().take(4) {
            let device = copy(&*sample.device, |zone, bytes| {
                if is_metadata(zone) {
                    *bytes = zone_bytes(&**earlier, zone);
                }
            });
            let what = format!("metadata as at moment {moment}");
            assert!(inspect(device, &sample, true, &what), "{what} was not noticed");
        }
    }
}

/// A store that was closed tells so in a zone of its own: if the end of its metadata is missing,
/// trims among it, it is not opened, unless what is left leads to the same pages. That zone itself
/// is not missed.
#[test]
fn metadata_of_a_closed_store_that_are_cut_are_noticed_or_lack_nothing() {
    for sample in samples(true) {
        let store = Store::open(sample.device.clone(), OPEN).unwrap();
        let mut pages = sample.pages;
        store.sync().unwrap();
        for lba in 0..40 {
            store.trim(lba).unwrap();
            pages[lba as usize].push(None);
        }
        store.close().unwrap();
        let sample = Sample { pages, ..sample };
        let mut noticed = 0;
        for cut in 0..sample.device.geometry().zones {
            let written = zone_bytes(&*sample.device, cut);
            if written.is_empty() || kind(&*sample.device, cut, 0) != SUPER {
                continue;
            }
            for pages in 0..written.len() / PAGE {
                let device = copy(&*sample.device, |zone, bytes| {
                    if zone == cut {
                        bytes.truncate(pages * PAGE);
                    }
                });
                let what = format!("metadata zone {cut} cut to {pages} pages");
                noticed += u32::from(inspect(device, &sample, false, &what));
            }
        }
        assert!(noticed > 0, "nothing was noticed");
        let (_, witness) = last_chunk(&*sample.device);
        assert_eq!(zone_bytes(&*sample.device, witness).len(), PAGE);
        let device = copy(&*sample.device, |zone, bytes| {
            if zone == witness {
                bytes.clear();
            }
        });
        assert!(!inspect(device, &sample, false, "without the witness"));
    }
}

/// The losses of an offline metadata zone are known, and may be accepted.
#[test]
fn a_closed_store_without_a_metadata_zone_is_opened_if_the_loss_is_accepted() {
    let Sample { device, .. } = sample(true, 4096);
    let metadata = || {
        let zones = 0..device.geometry().zones;
        let is_it = |zone: &u32| {
            device.zone(*zone).unwrap().write_pointer > 0 && kind(&*device, *zone, 0) == SUPER
        };
        zones.filter(is_it).collect::<Vec<u32>>()
    };
    // Until a zone of metadata begins with notes.
    let is_wanted = || {
        let zones = metadata();
        zones.len() > 1 && zones.iter().any(|&zone| kind(&*device, zone, 2) == NOTES)
    };
    for round in 0..100 {
        let store = Store::open(device.clone(), OPEN).unwrap();
        // Each round has more notes, so that the ends of metadata zones fall between other records.
        for lba in 0..100 + round {
            store.write(lba, &content(lba, 1)).unwrap();
            store.trim(lba).unwrap();
        }
        store.close().unwrap();
        if is_wanted() {
            break;
        }
    }
    assert!(is_wanted());
    let mut noticed = 0;
    for zone in metadata() {
        let device = Faulty::new(copy(&*device, |_, _| {}), 1);
        device.schedule(1, Fault::Wear { zone, state: ZoneState::Offline });
        device.flush().unwrap();
        let device: Arc<dyn Device> = Arc::new(device);
        match Store::open(device.clone(), OPEN) {
            Ok(_) => {}
            Err(StoreError::Missing(_)) => {
                noticed += 1;
                Store::open(device, Open { accept_loss: true, ..OPEN }).map(drop).unwrap();
            }
            Err(error) => panic!("zone {zone} offline: {error}"),
        }
    }
    assert!(noticed > 0, "nothing was noticed");
}

/// The chunks behind a sync tell where those before them lie. What lies in the zone of the last
/// chunk, and only there, is told of by nothing.
#[test]
fn chunks_of_a_store_that_crashed_are_missed_if_a_later_one_lies_elsewhere() {
    for sample in samples(false) {
        let mut rng = SmallRng::seed_from_u64(8);
        let mut noticed = 0;
        for zone in (0..sample.device.geometry().zones).filter(|&zone| !sample.is_unsure(&[zone])) {
            let pages = zone_bytes(&*sample.device, zone).len() / PAGE;
            for _ in 0..6.min(pages) {
                let len = rng.random_range(0..pages) * PAGE;
                let device = copy(&*sample.device, |z, bytes| {
                    if z == zone {
                        bytes.truncate(len);
                    }
                });
                noticed += u32::from(inspect(
                    device,
                    &sample,
                    false,
                    &format!("zone {zone} cut to {len}"),
                ));
            }
            for page in 0..pages {
                let device = Faulty::new(copy(&*sample.device, |_, _| {}), 1);
                device.flip(zone, (page * PAGE + 40) as u64, 1);
                let what = format!("page {page} of zone {zone} damaged");
                noticed += u32::from(inspect(Arc::new(device), &sample, false, &what));
            }
        }
        println!("{noticed} damages were noticed");
        assert!(noticed > 100, "only {noticed} were noticed");
    }
}

/// Number and zone of the last chunk.
fn last_chunk(device: &dyn Device) -> (u64, u32) {
    let mut last = (0, 0);
    for (zone, info) in (0u32..).zip(device.report(0, device.geometry().zones).unwrap()) {
        let bytes = zone_bytes(device, zone);
        for page in 0..(info.write_pointer / PAGE as u64) as usize {
            if kind(device, zone, page as u64) == CHUNK {
                let seq = &bytes[page * PAGE + 24..][..8];
                last = last.max((u64::from_le_bytes(seq.try_into().unwrap()), zone));
            }
        }
    }
    last
}

/// A store of one class, whose checkpoints a test takes itself.
fn of_one_class() -> Format {
    Format {
        scheme: "nosep".to_string(),
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(u64::MAX),
        unit: 4096,
        ..Format::default()
    }
}

/// All zones that the old metadata name were full before the notes were durable, so that only
/// chunks in zones that nothing names can tell.
#[test]
fn notes_that_are_missing_are_noticed_by_chunks_in_the_zones_that_they_had_opened() {
    let device = in_memory(&shape()).unwrap();
    Store::format(device.clone(), &of_one_class()).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    let fill = |lbas: std::ops::Range<u32>| {
        lbas.for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
        store.sync().unwrap();
    };
    fill(0..30);
    let earlier = copy(&*device, |_, _| {});
    fill(30..50);
    fill(50..60);
    drop(store);
    let old = copy(&*device, |zone, bytes| {
        if !bytes.is_empty() && kind(&*device, zone, 0) == SUPER {
            *bytes = zone_bytes(&*earlier, zone);
        }
    });
    let error = Store::open(old, OPEN).err().expect("missing notes");
    assert!(matches!(&error, StoreError::Damaged { why, .. } if why.contains("notes")), "{error}");
    Store::open(device, OPEN).unwrap();
}

/// A store of one class, whose zone has room for more behind its last checkpoint and sync.
fn one_class() -> Arc<Faulty> {
    let device = Arc::new(Faulty::new(in_memory(&shape()).unwrap(), 1));
    Store::format(device.clone(), &of_one_class()).unwrap();
    let store = Store::open(device.clone(), OPEN).unwrap();
    (0..12).for_each(|lba| store.write(lba, &content(lba, 1)).unwrap());
    store.checkpoint().unwrap();
    store.write(5, &content(5, 2)).unwrap();
    store.sync().unwrap();
    device
}

#[test]
fn an_opening_that_found_a_chunk_and_nothing_else_writes_a_checkpoint() {
    let device = one_class();
    let written = || {
        let zones = device.report(0, device.geometry().zones).unwrap();
        zones.iter().map(|zone| zone.write_pointer).sum::<u64>()
    };
    let before = written();
    drop(Store::open(device.clone(), OPEN).unwrap());
    let first = written();
    assert!(first > before, "it wrote nothing");
    drop(Store::open(device.clone(), OPEN).unwrap());
    assert_eq!(written(), first, "the second opening found something");
}

/// Of a page whose last chunk a crash tore the copy before counts, also for a rebuild, to which
/// later chunks tell that the torn one was durable.
#[test]
fn what_a_crash_tore_does_not_count_in_a_rebuild_either() {
    let device = one_class();
    let (_, zone) = last_chunk(&*device);
    let end = device.zone(zone).unwrap().write_pointer;
    device.flip(zone, end - PAGE as u64, 1);
    let version = |store: &Store| {
        let mut page = vec![0; PAGE];
        store.read(5, &mut page).unwrap();
        page
    };
    let store = Store::open(device.clone(), OPEN).unwrap();
    assert_eq!(version(&store), content(5, 1));
    for lba in 20..23 {
        store.write(lba, &content(lba, 3)).unwrap();
        store.sync().unwrap();
    }
    let meta_zones = store.info().unwrap().meta_zones;
    drop(store);
    (0..meta_zones).for_each(|zone| device.reset(zone).unwrap());
    let format = Format {
        scheme: "nosep".to_string(),
        logical_pages: Some(PAGES.into()),
        unit: 4096,
        ..Format::default()
    };
    Store::rebuild(device.clone(), &format, false).unwrap();
    let store = Store::open(device, OPEN).unwrap();
    assert_eq!(version(&store), content(5, 1));
}
