//! Room is kept for the deltas and tails of all pages.

use frostline_store::{
    ChangedWords, Cleaning, Compression, Format, Open, PageWrite, RecordKind, Store,
};
use frostline_zone::{Shape, in_memory};

const PAGE: usize = 4096;
const OPEN: Open =
    Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::DEFAULT };

#[test]
fn a_store_of_any_unit_takes_the_longest_deltas_and_tails_of_all_its_pages() {
    let zone_bytes = 40 * PAGE as u64;
    let shape = Shape::of_zones(60, zone_bytes);
    for unit in [64, 256, 512, 1024, 2048, 4096] {
        let device = in_memory(&shape).unwrap();
        let scheme = "nosep".to_string();
        let format = Format { scheme, unit, gp: 0.001, ..Format::default() };
        Store::format(device.clone(), &format).unwrap();
        let store = Store::open(device, OPEN).unwrap();
        let content = |lba: u64| [lba + 1; PAGE / 8].map(u64::to_le_bytes).concat();
        (0..store.pages()).for_each(|lba| store.write(lba as u32, &content(lba)).unwrap());
        let mut changes = vec![ChangedWords::NONE; store.pages() as usize];
        // A delta of more than 600 bytes, and tails of more than 300 that have the same words.
        for words in [0..78, 100..140, 100..140] {
            for (lba, changed) in (0..).zip(&mut changes) {
                changed.add(words.clone());
                let kind = if words.start > 0 { RecordKind::Tail } else { RecordKind::Delta };
                assert_eq!(changed.kind(), kind);
                let page = &content(lba);
                let changed = Some(&*changed);
                let write = PageWrite { lba: lba as u32, page, hotness: None, changed };
                store.write_batch(&[write]).unwrap_or_else(|error| panic!("{unit}: {error}"));
            }
            changes.iter_mut().for_each(ChangedWords::note_written);
        }
    }
}
