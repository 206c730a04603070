//! Damage is found, and told with its place; what is sound is called sound.

use std::sync::Arc;

use frostline_store::{Cleaning, Finding, Format, Open, Role, Store, StoreError, Written};
use frostline_zone::{Device, Faulty, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

fn page(lba: u32, version: u32) -> Vec<u8> {
    let words = [lba.to_le_bytes(), version.to_le_bytes()].concat();
    words.repeat(512)
}

/// A store that was filled, overwritten until it was cleaned, trimmed here and there, and closed.
fn used(scheme: &str, map_bytes: usize) -> Arc<Faulty> {
    let (bytes, zone_bytes) = (24 << 20, Some(256 << 10));
    let device = in_memory(&Shape { bytes, zone_bytes, ..Shape::default() }).unwrap();
    let device = Arc::new(Faulty::new(device, 1));
    let format = Format { scheme: scheme.to_string(), unit: 4096, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let store = Store::open(device.clone(), Open { map_bytes, ..OPEN }).unwrap();
    let (pages, mut rng) = (store.pages() as u32, SmallRng::seed_from_u64(7));
    (0..pages).for_each(|lba| store.write(lba, &page(lba, 0)).unwrap());
    for version in 1..2 * pages {
        let lba = rng.random_range(0..pages / 2);
        store.write(lba, &page(lba, version)).unwrap();
        if version % 64 == 0 {
            store.trim(rng.random_range(0..pages)).unwrap();
        }
    }
    assert!(store.stats().unwrap().counts.zones_reclaimed > 10);
    store.close().unwrap();
    device
}

fn open(device: &Arc<Faulty>) -> Store {
    Store::open(device.clone(), OPEN).unwrap()
}

/// Every page that a zone's chunks hold, by role: (zone, pages written).
fn zones(store: &Store, role: Role) -> Vec<(u32, u32)> {
    let views = store.zones().unwrap().into_iter().filter(|view| view.role == role);
    views.filter(|view| view.written > 0).map(|view| (view.zone, view.written)).collect()
}

#[test]
fn a_store_that_was_used_is_sound() {
    for (scheme, map_bytes) in [("sepbit", usize::MAX), ("nosep", 1), ("2r-fifo", usize::MAX)] {
        let mut store = open(&used(scheme, map_bytes));
        let (checked, stats) = (store.check().unwrap(), store.stats().unwrap());
        assert_eq!(checked.findings, []);
        assert_eq!(checked.pages, stats.valid_pages);
        assert!(checked.zones > 50 && checked.chunks > 50, "{checked:?}");
        let scrubbed = store.scrub(None, &mut |_| {}).unwrap();
        assert_eq!((scrubbed.findings, scrubbed.pages), (vec![], stats.valid_pages));
    }
}

#[test]
fn a_store_in_use_is_sound() {
    let mut store = open(&used("sepbit", usize::MAX));
    for lba in 0..300 {
        store.write(lba, &page(lba, 1)).unwrap();
    }
    assert_eq!(store.check().unwrap().findings, []);
    store.trim(3).unwrap();
    assert_eq!(store.check().unwrap().findings, []);
}

#[test]
fn a_damaged_page_is_scrubbed_out_with_its_lba_and_place() {
    let device = used("sepbit", usize::MAX);
    let store = open(&device);
    let mut told = 0;
    let sound = store.scrub(None, &mut |pages| told = pages).unwrap();
    assert_eq!(told, sound.pages);
    // Every page behind the first header of the first data zone: those that are valid show.
    let (zone, written) = zones(&store, Role::Data)[0];
    (1..written).for_each(|at| device.flip(zone, u64::from(at) * 4096 + 100, 1));
    device.fail_reads(zone, 4096);
    let view = store.zones().unwrap().into_iter().find(|view| view.zone == zone).unwrap();
    let found = store.scrub(None, &mut |_| {}).unwrap();
    assert_eq!(found.pages, sound.pages, "it goes on after damage");
    assert_eq!(found.findings.len() as u32, view.valid.unwrap());
    let mut content = vec![0; 4096];
    for Finding { zone: at, lba, page, .. } in &found.findings {
        assert_eq!(*at, Some(zone));
        assert!(page.unwrap() < written);
        assert!(store.read(lba.unwrap(), &mut content).is_err());
    }
}

#[test]
fn a_damaged_header_is_found_with_its_place() {
    let device = used("sepbit", usize::MAX);
    let mut store = open(&device);
    let (zone, _) = zones(&store, Role::Data)[0];
    device.flip(zone, 70, 4);
    let found = store.check().unwrap().findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].zone, found[0].page), (Some(zone), Some(0)));
    assert!(found[0].to_string().contains("header"), "{}", found[0]);
}

#[test]
fn a_damaged_leaf_is_found_with_its_pages_and_nothing_else_is_said() {
    let device = used("sepbit", usize::MAX);
    let mut store = open(&device);
    let sound = store.check().unwrap();
    drop(store);
    // One byte a page in the log of metadata: superblocks and the table are among them, so a
    // fresh store is opened before the damage.
    let mut store = open(&device);
    for (zone, written) in zones(&store, Role::Meta) {
        (1..written).for_each(|at| device.flip(zone, u64::from(at) * 4096 + 1000, 2));
    }
    let found = store.check().unwrap();
    assert_eq!(found.findings.len() as u64, sound.leaves, "{:?}", found.findings);
    let lbas: Vec<_> = found.findings.iter().filter_map(|finding| finding.lba).collect();
    let firsts: Vec<_> = (0..sound.leaves as u32).map(|leaf| leaf * 1024).collect();
    assert_eq!(lbas, firsts);
}

#[test]
fn zones_and_info_tell_what_the_device_is_used_for() {
    let device = used("dac:classes=4", usize::MAX);
    let store = open(&device);
    let (views, info) = (store.zones().unwrap(), store.info().unwrap());
    assert_eq!(views.len() as u32, device.geometry().zones);
    let valid: u64 = views.iter().filter_map(|view| view.valid).map(u64::from).sum();
    assert_eq!((valid, info.valid_pages), (store.stats().unwrap().valid_pages, valid));
    assert!(zones(&store, Role::Meta).len() as u32 <= info.meta_zones);
    assert!(views.iter().all(|v| (v.role == Role::Data) == v.class.is_some()));
    assert!(views.iter().filter_map(|v| v.class).all(|class| (1..=4).contains(&class)));
    assert!(views.iter().all(|view| view.written <= view.capacity));
    assert_eq!((info.scheme.as_str(), info.format), ("dac:classes=4", 1));
    assert_eq!(info.logical_pages, store.pages());
}

#[test]
fn a_rate_is_kept() {
    let store = open(&used("nosep", usize::MAX));
    let pages = store.stats().unwrap().valid_pages;
    let begun = std::time::Instant::now();
    store.scrub(Some(pages * 4096 * 4), &mut |_| {}).unwrap();
    assert!(begun.elapsed().as_secs_f64() > 0.24);
}

/// Writes to a store of this scheme, which may have that many zones active, and looks at its zones.
/// Returns the slots that were left unused.
fn sealed_zones_are_not_active(scheme: &str, max_active: u32, lba: impl Fn(u32) -> u32) -> u64 {
    let (bytes, zone_bytes) = (24 << 20, Some(256 << 10));
    let shape = Shape { bytes, zone_bytes, max_active: Some(max_active), ..Shape::default() };
    let device = in_memory(&shape).unwrap();
    // A sealed zone stays for a while, whatever garbage it has.
    let victim = "fifo".to_string();
    let format = Format {
        scheme: scheme.to_string(),
        victim: Some(victim),
        unit: 4096,
        ..Format::default()
    };
    Store::format(device.clone(), &format).unwrap();
    let mut store = Store::open(device.clone(), OPEN).unwrap();
    let pages = store.pages() as u32;
    for i in 0..3 * pages {
        let lba = lba(i) % pages;
        store.write(lba, &page(lba, i)).unwrap();
        if i % 64 == 0 {
            let views = store.zones().unwrap().into_iter();
            let sealed = views.filter(|view| view.sealed == Some(true));
            assert!(i < 2 * pages || sealed.clone().count() > 20);
            assert!(sealed.into_iter().all(|view| !view.state.is_active()));
        }
    }
    assert_eq!(store.check().unwrap().findings, []);
    store.stats().unwrap().counts.skipped
}

#[test]
fn zones_that_take_no_more_pages_are_not_active() {
    // One for the class, one for metadata.
    sealed_zones_are_not_active("nosep", 2, |i| i);
}

#[test]
fn zones_that_were_sealed_before_they_were_full_are_not_active() {
    // All pages once, and then mostly a few.
    let any = |i: u32| i.wrapping_mul(2_654_435_761) >> 12;
    let lba = |i: u32| if i < 6000 || i.is_multiple_of(50) { any(i) } else { any(i) % 200 };
    assert!(sealed_zones_are_not_active("lifespan", 8, lba) > 0, "none was");
}

#[test]
fn a_scheme_that_can_do_with_fewer_classes_fits_a_device_of_few_active_zones() {
    // Unlimited, it has 14 classes.
    sealed_zones_are_not_active("frostline", 6, |i| i.wrapping_mul(2_654_435_761) >> 12);
}

#[test]
fn a_device_with_a_page_of_something_else_is_no_store() {
    let device = in_memory(&Shape { bytes: 8 << 20, ..Shape::default() }).unwrap();
    device.append(0, 0, &page(1, 1)).unwrap();
    let error = Store::open(device, OPEN).err();
    assert!(matches!(error, Some(StoreError::NotAStore)), "{error:?}");
}

/// Headers tell recovery what was written since the checkpoint, to the byte.
#[test]
fn what_was_written_is_counted_over_a_crash() {
    for unit in [4096, 64] {
        let device = in_memory(&Shape { bytes: 24 << 20, ..Shape::default() }).unwrap();
        let format = Format { unit, checkpoint_writes: Some(u64::MAX), ..Format::default() };
        Store::format(device.clone(), &format).unwrap();
        let store = Store::open(device.clone(), OPEN).unwrap();
        for lba in 0..300 {
            let words = 1 + lba as usize * 97 % 512;
            let page = [page(lba, 0)[..8 * words].to_vec(), vec![0; 4096 - 8 * words]].concat();
            store.write(lba, &page).unwrap();
            if lba % 40 == 0 {
                store.sync().unwrap();
            }
        }
        store.sync().unwrap();
        let written = |store: &Store| Written { checkpoints: 0, ..store.stats().unwrap().written };
        let before = written(&store);
        assert!(before.user == 300 && before.header_bytes > 0, "{before:?}");
        assert_eq!(unit < 4096, before.padding_bytes > 0);
        drop(store);
        assert_eq!(written(&Store::open(device, OPEN).unwrap()), before, "{unit}");
    }
}

#[test]
fn a_store_is_cleaned_by_the_victims_of_its_scheme_unless_others_are_named() {
    let victims = |scheme: &str, victim: Option<&str>| {
        let device = in_memory(&Shape { bytes: 32 << 20, ..Shape::default() }).unwrap();
        let (scheme, victim) = (scheme.to_string(), victim.map(str::to_string));
        let format = Format { scheme, victim, unit: 4096, ..Format::default() };
        Store::format(device.clone(), &format).unwrap();
        Store::open(device, OPEN).unwrap().info().unwrap().victim
    };
    assert_eq!(victims("survival", None), "survival");
    assert_eq!(victims("sepbit", None), "cost-benefit");
    assert_eq!(victims("survival", Some("greedy")), "greedy");
    assert_eq!(victims("dac-cb", Some("greedy")), "cost-benefit", "a pairing has its own");
    assert_eq!(victims("midas", None), "greedy");
}
