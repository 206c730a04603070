//! A store that was emptied and closed keeps little on its device.

use frostline_store::{Cleaning, Format, Open, Role, Store};
use frostline_zone::{Shape, in_memory};

const PAGE: usize = 4096;

#[test]
fn a_store_that_was_emptied_and_closed_keeps_no_open_zone_of_garbage() {
    let shape = Shape { bytes: 64 << 20, zone_bytes: Some(1 << 20), ..Shape::default() };
    for cleaning in [Cleaning::Inline, Cleaning::Background] {
        let device = in_memory(&shape).unwrap();
        Store::format(device.clone(), &Format { unit: 4096, ..Format::default() }).unwrap();
        let open = Open { cleaning, ..Open::default() };
        let store = Store::open(device.clone(), open).unwrap();
        (0..100).for_each(|lba| store.write(lba, &[lba as u8; PAGE]).unwrap());
        store.sync().unwrap();
        (1..100).for_each(|lba| assert!(store.trim(lba).unwrap()));
        store.close().unwrap();

        let store = Store::open(device, open).unwrap();
        let zones = store.zones().unwrap();
        let data = zones.iter().filter(|zone| zone.role == Role::Data);
        let pages: u32 = data.map(|zone| zone.written).sum();
        assert!((1..=4).contains(&pages), "{pages} pages for one");
        let mut page = [0; PAGE];
        assert!(store.read(0, &mut page).unwrap());
        assert!(!store.read(1, &mut page).unwrap());
    }
}
