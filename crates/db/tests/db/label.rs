//! Labels that divide a device as it can't be divided.

use std::sync::Arc;

use frostline_db::{Create, Databases, DbError, Options};
use frostline_store::{Cleaning, Open, Store};
use frostline_zone::{Device, Shape, Span, in_memory};

const INSTANCES: u32 = 2;

/// Offsets of the label's numbers: databases, zones of each log, pages of each database.
const FIELDS: [usize; 3] = [12, 16, 20];

fn device() -> Arc<dyn Device> {
    let shape = Shape { bytes: 16 << 20, zone_bytes: Some(1 << 18), ..Shape::default() };
    let device: Arc<dyn Device> = in_memory(&shape).unwrap();
    Databases::create(&device, &Create { instances: INSTANCES, ..Create::default() }).unwrap();
    device
}

/// The label's numbers are others, in a page as sound as any.
fn relabel(device: &Arc<dyn Device>, change: impl Fn(usize, u32) -> u32) {
    let zones = Store::zones_on(&**device).unwrap();
    let span: Arc<dyn Device> = Arc::new(Span::new(device.clone(), 0, zones, None, None).unwrap());
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(span, open).unwrap();
    let mut page = [0; 4096];
    assert!(store.read(0, &mut page).unwrap());
    for (field, at) in FIELDS.into_iter().enumerate() {
        let number = u32::from_le_bytes(page[at..at + 4].try_into().unwrap());
        page[at..at + 4].copy_from_slice(&change(field, number).to_le_bytes());
    }
    store.write(0, &page).unwrap();
    store.close().unwrap();
}

fn open(device: &Arc<dyn Device>) -> Result<usize, DbError> {
    let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
    Ok(Databases::open(device, &quiet)?.all.len())
}

#[test]
fn numbers_that_are_not_of_the_device_are_refused() {
    let device = device();
    relabel(&device, |_, number| number);
    assert_eq!(open(&device).unwrap(), INSTANCES as usize);
    let hostile = [0, 1, 1 << 16, 1 << 30, 1 << 31, u32::MAX / 2, u32::MAX - 1, u32::MAX];
    for field in 0..FIELDS.len() {
        for number in hostile {
            let device = self::device();
            relabel(&device, |at, old| if at == field { number } else { old });
            // Fewer databases, or fewer pages of each, may be a valid label.
            match open(&device) {
                Err(DbError::Page { page: 0, .. }) => {}
                other => assert!(field == 0 && number == 1, "{field} {number}: {other:?}"),
            }
        }
    }
    // A number that is too large seems to fit with the other.
    for (instances, zones) in [(1 << 31, 0), (1 << 31, 2), (1 << 30, 4), (u32::MAX, 4)] {
        for pages in [0, 12] {
            let device = self::device();
            relabel(&device, |at, _| [instances, zones, pages][at]);
            assert!(matches!(open(&device), Err(DbError::Page { page: 0, .. })));
        }
    }
}
