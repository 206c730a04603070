//! A store on a device whose bytes were changed: opened, looked into, rebuilt.

#![no_main]

#[path = "../../crates/store/tests/store/damage/forged.rs"]
mod forged;

use std::sync::{Arc, OnceLock};

use arbitrary::Arbitrary;
use frostline_store::{Cleaning, Format, Open, Store};
use frostline_zone::{Device, Shape, ZoneState, in_memory};
use libfuzzer_sys::fuzz_target;

const PAGE: usize = 4096;
const PAGES: u32 = 200;
const ZONE_PAGES: u64 = 40;
const OPEN: Open = Open { cleaning: Cleaning::Inline, accept_loss: true, ..Open::DEFAULT };

/// Bytes of a page that are overwritten.
#[derive(Arbitrary, Debug)]
struct Change {
    zone: u8,
    page: u8,
    at: u16,
    bytes: [u8; 8],
    len: u8,
    /// True if all checksums are made right again: the page's, and those of leaves and tables.
    resealed: bool,
}

#[derive(Arbitrary, Debug)]
struct Damage {
    changes: Vec<Change>,
    /// A zone, and the pages it is cut to.
    cut: Option<(u8, u8)>,
}

fn content(lba: u32, version: u32) -> Vec<u8> {
    (u64::from(lba) << 32 | u64::from(version)).to_le_bytes().repeat(PAGE / 8)
}

/// The bytes of each zone of a store's device, and whether the zone is full.
type Image = Vec<(Vec<u8>, bool)>;

fn shape() -> Shape {
    let zone_bytes = ZONE_PAGES * PAGE as u64;
    Shape::of_zones(30, zone_bytes)
}

fn format() -> Format {
    let logical_pages = Some(PAGES.into());
    Format { logical_pages, checkpoint_writes: Some(300), unit: 4096, ..Format::default() }
}

/// The image of a store that was used for a while and dropped.
fn image() -> &'static Image {
    static IMAGE: OnceLock<Image> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let device = in_memory(&shape()).expect("a device");
        Store::format(device.clone(), &format()).expect("formatted");
        let store = Store::open(device.clone(), OPEN).expect("opened");
        for version in 0..1500u32 {
            let lba = version.wrapping_mul(2_654_435_761) % PAGES;
            store.write(lba, &content(lba, version)).expect("written");
            if version % 97 == 0 {
                store.sync().expect("synced");
            }
        }
        store.sync().expect("synced");
        drop(store);
        let zones = device.report(0, device.geometry().zones).expect("reported");
        let read = |(zone, info): (u32, &frostline_zone::ZoneInfo)| {
            let mut bytes = vec![0; info.write_pointer as usize];
            device.read(zone, 0, &mut bytes).expect("read");
            (bytes, info.state == ZoneState::Full)
        };
        (0..).zip(&zones).map(read).collect()
    })
}

fn zones_of(image: &Image) -> Vec<Vec<u8>> {
    image.iter().map(|(bytes, _)| bytes.clone()).collect()
}

/// The image, whose sums can be made right.
fn sound() -> &'static forged::Forged {
    static FORGED: OnceLock<forged::Forged> = OnceLock::new();
    FORGED.get_or_init(|| forged::Forged::of(zones_of(image())))
}

/// The image on a device of its own, changed.
fn device(damage: &Damage) -> Arc<dyn Device> {
    let mut image = image().clone();
    for change in &damage.changes {
        let zones = image.len();
        let (bytes, _) = &mut image[usize::from(change.zone) % zones];
        let pages = bytes.len() / PAGE;
        if pages == 0 {
            continue;
        }
        let page = usize::from(change.page) % pages;
        let page = &mut bytes[page * PAGE..(page + 1) * PAGE];
        let at = usize::from(change.at) % PAGE;
        let len = usize::from(change.len % 9).min(PAGE - at);
        page[at..at + len].copy_from_slice(&change.bytes[..len]);
        if change.resealed && page.starts_with(b"FRST") {
            let sum = crc32c::crc32c(&page[8..]);
            page[4..8].copy_from_slice(&sum.to_le_bytes());
        }
    }
    if damage.changes.iter().any(|change| change.resealed) {
        let mut forged = sound().clone();
        forged.zones = zones_of(&image);
        forged.seal_metadata();
        image.iter_mut().zip(forged.zones).for_each(|((bytes, _), sealed)| *bytes = sealed);
    }
    if let Some((zone, pages)) = damage.cut {
        let zones = image.len();
        let (bytes, full) = &mut image[usize::from(zone) % zones];
        bytes.truncate(usize::from(pages) * PAGE);
        *full = false;
    }
    let device = in_memory(&shape()).expect("a device");
    for (zone, (bytes, full)) in (0..).zip(&image) {
        device.append(zone, 0, bytes).expect("appended");
        if *full {
            device.finish(zone).expect("finished");
        }
    }
    device
}

fuzz_target!(|damage: Damage| {
    // A page that was made anew, right checksum and all, may say anything.
    let forged = damage.changes.iter().any(|change| change.resealed);
    let _ = Store::inspect(device(&damage)).and_then(|mut store| store.check());
    let opened = device(&damage);
    use_up(opened, forged);
    let rebuilt = device(&damage);
    if Store::rebuild(rebuilt.clone(), &format(), true).is_ok() {
        use_up(rebuilt, forged);
    }
});

/// Opens a store, and does with it what can be done.
fn use_up(device: Arc<dyn Device>, forged: bool) {
    let Ok(mut store) = Store::open(device, OPEN) else { return };
    let mut page = vec![0; PAGE];
    for lba in 0..PAGES.min(store.pages() as u32) {
        if let Ok(true) = store.read(lba, &mut page)
            && !forged
        {
            let word = u64::from_le_bytes(page[..8].try_into().expect("eight bytes"));
            assert_eq!(page, content(lba, word as u32), "LBA {lba} is of another page");
        }
    }
    let _ = store.check();
    let _ = store.write(1, &content(1, 0));
    let _ = store.close();
}
