//! Pages that were written as deltas, through cleaning and crashes, where contents at random hardly
//! get.

use std::sync::Arc;

use frostline_store::{
    ChangedWords, Cleaning, Compression, DeltaWrite, Format, Open, PageRead, PageWrite, Store,
    StoreError,
};
use frostline_zone::{Device, Faulty, Shape, in_memory};

const PAGE: usize = 4096;
const PAGES: u32 = 400;
/// Contents here are so regular that their images would be shorter than any delta.
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

/// Some bytes with zeroes in their middle.
fn content(lba: u32, version: u32) -> Vec<u8> {
    let mut page = (u64::from(lba + 1) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8);
    page[1000..2500].fill(0);
    page
}

fn device() -> Arc<dyn Device> {
    cleaned_by("cost-benefit")
}

/// A device with a store that cleans by this victim policy.
fn cleaned_by(victim: &str) -> Arc<dyn Device> {
    let zone_bytes = 40 * PAGE as u64;
    let shape = Shape::of_zones(40, zone_bytes);
    let device = in_memory(&shape).unwrap();
    let format = Format {
        scheme: "nosep".to_string(),
        victim: Some(victim.to_string()),
        logical_pages: Some(PAGES.into()),
        checkpoint_writes: Some(u64::MAX),
        unit: 64,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    device
}

/// Writes a page as a delta of one word, which has the value that it has in the base.
fn write_unchanged(store: &Store, lba: u32) {
    let mut changed = ChangedWords::NONE;
    changed.add(3..4);
    let page = &content(lba, 0)[..];
    store.write_batch(&[PageWrite { lba, page, hotness: None, changed: Some(&changed) }]).unwrap();
}

#[test]
fn a_page_whose_delta_was_merged_and_changed_nothing_is_found_after_a_crash() {
    let device = device();
    let store = Store::open(device.clone(), OPEN).unwrap();
    (0..PAGES).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    (0..PAGES).step_by(2).for_each(|lba| write_unchanged(&store, lba));
    store.checkpoint().unwrap();
    // Cleaning moves the other pages, and resets the zones of the checkpoint.
    let hot = (1..PAGES).step_by(2);
    for version in 1..30 {
        hot.clone().for_each(|lba| store.write(lba, &content(lba, version)).unwrap());
    }
    store.sync().unwrap();
    let stats = store.stats().unwrap();
    assert_eq!(stats.deltas.written, u64::from(PAGES / 2));
    assert!(stats.deltas.merged > u64::from(PAGES / 4), "{:?}", stats.deltas);
    drop(store);
    assert_eq!(frostline_judge::pages(&*device).unwrap().len(), PAGES as usize);
    let mut store = Store::open(device, OPEN).unwrap();
    let mut page = vec![0; PAGE];
    for lba in 0..PAGES {
        let version = if lba % 2 == 1 { 29 } else { 0 };
        assert!(store.read(lba, &mut page).unwrap() && page == content(lba, version), "LBA {lba}");
    }
    assert_eq!(store.check().unwrap().findings, []);
}

#[test]
fn a_delta_older_than_the_one_that_was_merged_does_not_come_back_after_a_crash() {
    let device = cleaned_by("greedy");
    let store = Store::open(device.clone(), OPEN).unwrap();
    let write_all = |lbas: std::ops::Range<u32>| {
        lbas.for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    };
    let word = |lba: u32| 0xde17_a000_0000_0000 | u64::from(lba);
    let mut changed = ChangedWords::NONE;
    changed.add(3..4);
    write_all(0..200);
    // The first deltas lie among pages that stay as they are, so cleaning leaves their zone alone.
    write_all(200..300);
    for lba in (0..200).step_by(2) {
        let mut page = content(lba, 0);
        page[24..32].copy_from_slice(&word(lba).to_le_bytes());
        let write = PageWrite { lba, page: &page, hotness: None, changed: Some(&changed) };
        store.write_batch(&[write]).unwrap();
    }
    write_all(300..400);
    // The second change the pages back, so a merged image has the sum of the base of both. They lie
    // among pages that change, so cleaning takes their zones.
    for version in 1..12 {
        for lba in (1..200).step_by(2) {
            store.write(lba, &content(lba, version)).unwrap();
            if version == 2 {
                write_unchanged(&store, lba - 1);
            }
        }
    }
    store.sync().unwrap();
    let merged = store.stats().unwrap().deltas.merged;
    assert!(merged > 50, "{merged}");
    drop(store);
    place_of(&*device, &word(100).to_le_bytes());
    let store = Store::open(device, OPEN).unwrap();
    let mut page = vec![0; PAGE];
    for lba in (0..200).step_by(2) {
        assert!(store.read(lba, &mut page).unwrap() && page == content(lba, 0), "LBA {lba}");
    }
}

/// The zone and page of the device where these bytes lie.
fn place_of(device: &dyn Device, bytes: &[u8]) -> (u32, u64) {
    for (zone, info) in (0u32..).zip(device.report(0, device.geometry().zones).unwrap()) {
        let mut content = vec![0; info.write_pointer as usize];
        device.read(zone, 0, &mut content).unwrap();
        if let Some(at) = content.windows(bytes.len()).position(|window| window == bytes) {
            return (zone, (at / PAGE) as u64);
        }
    }
    panic!("{bytes:x?} is nowhere on the device")
}

/// Reads all pages together, compares each with a read of it alone, and returns those that can't be
/// read.
fn errors_of_pages_read_together(store: &Store) -> Vec<u32> {
    let mut pages = vec![0; PAGES as usize * PAGE];
    let lbas = (0..PAGES).zip(pages.chunks_mut(PAGE));
    let read = |(lba, page)| PageRead { lba, kept: None, page, changed: ChangedWords::NONE };
    let mut reads: Vec<_> = lbas.map(read).collect();
    let together = store.read_pages(&mut reads);
    assert_eq!(together.len(), reads.len());
    let mut failed = Vec::new();
    for (read, together) in reads.iter().zip(together) {
        let (mut page, mut changed) = (vec![0; PAGE], ChangedWords::NONE);
        match (together, store.read_changed(read.lba, &mut page, &mut changed)) {
            (Ok(found), Ok(alone)) => {
                assert_eq!((found, read.changed), (alone, changed), "LBA {}", read.lba);
                assert!(page == *read.page, "LBA {}", read.lba);
            }
            (Err(_), Err(_)) => failed.push(read.lba),
            (together, alone) => panic!("LBA {}: {together:?}, alone {alone:?}", read.lba),
        }
    }
    failed
}

#[test]
fn pages_that_lie_side_by_side_are_read_at_once() {
    let device = device();
    let store = Store::open(device.clone(), OPEN).unwrap();
    (0..PAGES).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    store.close().unwrap();
    let store = Store::open(device, OPEN).unwrap();
    // In any order, and two of them twice.
    let lbas = [17, 3, 9, 8, 3, 1, 0, 2, 12, 4, 11, 5, 10, 6, 9, 7, 15, 13, 16, 14];
    let mut pages = vec![0; lbas.len() * PAGE];
    let read = |(lba, page)| PageRead { lba, kept: None, page, changed: ChangedWords::NONE };
    let mut reads: Vec<_> = lbas.into_iter().zip(pages.chunks_mut(PAGE)).map(read).collect();
    let requests = store.stats().unwrap().reads;
    assert!(store.read_pages(&mut reads).into_iter().all(|found| found.unwrap()));
    let requests = store.stats().unwrap().reads - requests;
    assert!(requests <= 2, "{requests} requests");
    assert!(reads.iter().all(|read| *read.page == content(read.lba, 0)));
}

#[test]
fn a_page_of_another_length_or_beyond_the_store_is_refused_alone() {
    for unit in [4096, 64] {
        let shape = Shape { bytes: 64 << 20, ..Shape::default() };
        let device = in_memory(&shape).unwrap();
        Store::format(device.clone(), &Format { unit, ..Format::default() }).unwrap();
        let store = Store::open(device, OPEN).unwrap();
        for lba in [0, 2] {
            store.write(lba, &content(lba, 1)).unwrap();
        }
        store.sync().unwrap();
        let (mut pages, mut short) = ([[9; PAGE]; 4], [9; 7]);
        let [a, b, c, d] = &mut pages;
        let read = |lba, page| PageRead { lba, kept: None, page, changed: ChangedWords::NONE };
        let mut reads =
            [read(2, a), read(1, b), read(0, &mut short), read(u32::MAX, c), read(0, d)];
        let found: Vec<_> = store.read_pages(&mut reads).into_iter().map(Result::ok).collect();
        assert_eq!(found, [Some(true), Some(false), None, None, Some(true)]);
        assert!(pages[0][..] == content(2, 1) && pages[3][..] == content(0, 1));
        assert!(pages[1..3].iter().flatten().all(|&byte| byte == 9));
    }
}

#[test]
fn cleaning_goes_on_past_a_delta_that_cannot_be_read_and_only_reads_of_its_page_fail() {
    for is_flipped in [false, true] {
        let device = Arc::new(Faulty::new(device(), 1));
        let store = Store::open(device.clone(), OPEN).unwrap();
        (0..PAGES).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
        let word = |lba: u32| 0xde17_a000_0000_0000 | u64::from(lba);
        let mut changed = ChangedWords::NONE;
        changed.add(3..4);
        let with_word = |lba: u32| {
            let mut page = content(lba, 0);
            page[24..32].copy_from_slice(&word(lba).to_le_bytes());
            page
        };
        for lba in (0..PAGES).step_by(2) {
            let page = &with_word(lba)[..];
            let write = PageWrite { lba, page, hotness: None, changed: Some(&changed) };
            store.write_batch(&[write]).unwrap();
        }
        store.sync().unwrap();
        let (zone, page) = place_of(&*device, &word(100).to_le_bytes());
        match is_flipped {
            true => (0..PAGE as u64).for_each(|at| device.flip(zone, page * PAGE as u64 + at, 1)),
            false => device.fail_reads(zone, page * PAGE as u64),
        }
        for version in 1..30 {
            for lba in (1..PAGES).step_by(2) {
                store.write(lba, &content(lba, version)).unwrap();
            }
        }
        let deltas = store.stats().unwrap().deltas;
        assert!(deltas.merged > u64::from(PAGES / 4), "{deltas:?}");
        let (mut read, mut lost) = (vec![0; PAGE], Vec::new());
        for lba in (0..PAGES).step_by(2) {
            match store.read(lba, &mut read) {
                Ok(found) => assert!(found && read == with_word(lba), "LBA {lba}"),
                Err(StoreError::Device(_)) if !is_flipped => lost.push(lba),
                Err(StoreError::Checksum { lba: named, .. }) if is_flipped => {
                    assert_eq!(named, lba);
                    lost.push(lba);
                }
                Err(error) => panic!("LBA {lba}: {error}"),
            }
        }
        assert_eq!(errors_of_pages_read_together(&store), lost);
        // A page of the device holds a few dozen deltas.
        assert!(lost.contains(&100) && lost.len() < PAGES as usize / 4, "{lost:?}");
    }
}

/// Pages that were written to the device's zones.
fn written(device: &dyn Device) -> u64 {
    let zones = device.report(0, device.geometry().zones).unwrap();
    zones.iter().map(|zone| zone.write_pointer / PAGE as u64).sum()
}

#[test]
fn a_group_of_a_few_deltas_is_one_page_of_the_device() {
    let device = device();
    let store = Store::open(device.clone(), OPEN).unwrap();
    (0..20).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    store.sync().unwrap();
    let mut changed = ChangedWords::NONE;
    changed.add(0..16);
    for version in 1..=5 {
        let before = written(&*device);
        let pages: Vec<_> = (0..11)
            .map(|lba| {
                let mut page = content(lba, 0);
                page[..128].copy_from_slice(&content(lba, version)[..128]);
                page
            })
            .collect();
        let write = |(lba, page)| PageWrite { lba, page, hotness: None, changed: Some(&changed) };
        let pages = (0..).zip(pages.iter().map(|page| &page[..]));
        store.write_group(&pages.map(write).collect::<Vec<_>>()).unwrap();
        assert!(store.has_delta(10).unwrap() && !store.has_delta(11).unwrap());
        assert_eq!(written(&*device), before + 1);
    }
    let stats = store.stats().unwrap();
    assert!(stats.written.bytes() <= written(&*device) * PAGE as u64, "{:?}", stats.written);
    drop(store);
    let mut store = Store::open(device, OPEN).unwrap();
    let mut page = vec![0; PAGE];
    for lba in 0..20 {
        assert!(store.read(lba, &mut page).unwrap());
        let version = if lba < 11 { 5 } else { 0 };
        assert_eq!(page[..128], content(lba, version)[..128], "LBA {lba}");
        assert_eq!(page[128..], content(lba, 0)[128..], "LBA {lba}");
    }
    assert_eq!(store.check().unwrap().findings, []);
}

#[test]
fn changes_kept_apart_from_their_pages_are_written_as_deltas_where_there_is_a_base_that_takes_them()
{
    let store = Store::open(device(), OPEN).unwrap();
    let mut changed = ChangedWords::NONE;
    changed.add(3..4);
    let mut now = content(0, 0);
    now[24..32].fill(0xde);
    store.write(0, &content(0, 0)).unwrap();
    // The image of page 1 is shorter than a delta.
    store.write(1, &[0; PAGE]).unwrap();
    let delta = store.delta(&now, &changed).unwrap();
    let writes = [0, 1, 2].map(|lba| DeltaWrite { lba, delta: &delta, hotness: None });
    assert_eq!(store.write_deltas(&writes).unwrap(), [1, 2]);

    let mut page = vec![0; PAGE];
    assert!(store.read(0, &mut page).unwrap() && page == now);
    let mut found = ChangedWords::NONE;
    assert!(store.read_with(0, &delta, &mut page, &mut found).unwrap());
    assert_eq!(found, changed);
    assert!(page == now);
    assert!(store.read(1, &mut page).unwrap() && page == [0; PAGE]);
    assert!(!store.read(2, &mut page).unwrap());
    assert!(!store.read_with(2, &delta, &mut page, &mut found).unwrap());
    let (mut pages, changed_of) = ([[0; PAGE]; 2], ChangedWords::NONE);
    let [first, second] = &mut pages;
    let read = |lba, page| PageRead { lba, kept: Some(&delta), page, changed: changed_of };
    let mut reads = [read(0, first), read(2, second)];
    assert_eq!(
        store.read_pages(&mut reads).into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(reads[0].changed, changed);
    assert!(pages[0][..] == now);
    let beyond = DeltaWrite { lba: u32::MAX, ..writes[0] };
    assert!(matches!(store.write_deltas(&[beyond]), Err(StoreError::Log(_))));
    changed.add(0..300);
    assert!(store.delta(&now, &changed).is_none(), "a delta is not as long");
}

#[test]
fn what_pads_small_commits_is_no_garbage_after_an_opening_either() {
    let device = device();
    let mut store = Store::open(device.clone(), OPEN).unwrap();
    (0..PAGES).for_each(|lba| store.write(lba, &content(lba, 0)).unwrap());
    let mut garbage = Vec::new();
    for round in 0..3 {
        for lba in 0..50 {
            write_unchanged(&store, lba);
            store.sync().unwrap();
        }
        let before = store.stats().unwrap();
        garbage.push(before.garbage_proportion);
        // Killed, closed, and killed behind the checkpoint of the closing.
        match round {
            1 => store.close().unwrap(),
            _ => drop(store),
        }
        store = Store::open(device.clone(), OPEN).unwrap();
        let now = store.stats().unwrap();
        assert_eq!(now.written.padding_bytes, before.written.padding_bytes, "round {round}");
        let now = now.garbage_proportion;
        assert!((now - garbage[round]).abs() < 0.01, "round {round}: {now}, {garbage:?} before");
        assert_eq!(store.check().unwrap().findings, []);
    }
    assert!(store.stats().unwrap().written.padding_bytes > 100_000);
    assert!(garbage[2] < 0.1, "{garbage:?}");
}

#[test]
fn images_are_compressed_where_that_makes_them_shorter_and_merged_with_their_deltas() {
    // Half of each page is noise, so that compressed images are still longer than deltas.
    let rows = |lba: u32, version: u64| {
        let mut page = content(lba, 0);
        let noise = page[2500..].as_chunks_mut::<2>().0.iter_mut();
        (u64::from(lba) << 20..).zip(noise).for_each(|(n, pair)| {
            pair[0] = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        });
        page[24..32].copy_from_slice(&version.to_le_bytes());
        page
    };
    let written = |compression| {
        let device = device();
        let open = Open { compression, ..OPEN };
        let store = Store::open(device.clone(), open).unwrap();
        (0..PAGES).for_each(|lba| store.write(lba, &rows(lba, 0)).unwrap());
        let images = store.stats().unwrap().written.user_bytes;
        let mut changed = ChangedWords::NONE;
        changed.add(3..4);
        for version in 1..60 {
            for lba in (0..PAGES).filter(|lba| lba % 8 < 4 || version % 20 == 0) {
                let page = &rows(lba, version)[..];
                // Of some all words changed.
                let changed = Some(&changed).filter(|_| lba % 8 > 1);
                store.write_batch(&[PageWrite { lba, page, hotness: None, changed }]).unwrap();
            }
        }
        store.sync().unwrap();
        assert!(store.stats().unwrap().deltas.merged > 50, "{:?}", store.stats().unwrap().deltas);
        drop(store);
        assert_eq!(frostline_judge::pages(&*device).unwrap().len(), PAGES as usize);
        let mut store = Store::open(device, open).unwrap();
        let mut page = vec![0; PAGE];
        for lba in 0..PAGES {
            let last = if lba % 8 < 4 { 59 } else { 40 };
            assert!(store.read(lba, &mut page).unwrap() && page == rows(lba, last), "LBA {lba}");
        }
        assert_eq!(store.check().unwrap().findings, []);
        images
    };
    let plain = written(Compression::None);
    for compression in [Compression::Lz4, Compression::Zstd] {
        let compressed = written(compression);
        assert!(compressed * 10 < plain * 8, "{compressed} of {plain}: {compression:?}");
    }
}
