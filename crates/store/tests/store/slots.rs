//! Pages with slots: their images leave out what follows from the records, and are read as they
//! are after deltas, cleaning and an opening that knows of no slots.

use frostline_store::{ChangedWords, Cleaning, Format, Open, PageWrite, SlotArray, Store};
use frostline_zone::{Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAGE: usize = 4096;
const PAGES: u32 = 300;
const SLOTS: SlotArray = SlotArray { at: 64, count_at: 38 };
const OPEN: Open = Open { cleaning: Cleaning::Inline, ..Open::DEFAULT };

/// A page of records, some of the same lengths, in any places of its heap.
struct Page {
    bytes: Vec<u8>,
    heap: usize,
    changed: ChangedWords,
}

impl Page {
    fn new(rng: &mut SmallRng) -> Page {
        let (mut bytes, mut heap, count) = (vec![0; PAGE], PAGE, rng.random_range(20..60u16));
        let lengths: [_; 2] = std::array::from_fn(|_| (rng.random_range(0..12), 8..50));
        bytes[38..40].copy_from_slice(&count.to_le_bytes());
        for slot in 0..usize::from(count) {
            let (key, values) = lengths[slot / 7 % 2].clone();
            let value = if slot % 7 == 0 { rng.random_range(values) } else { 40 };
            heap -= key + value;
            bytes[heap..][..key + value].fill_with(|| rng.random());
            let word = (value << 22 | key << 12 | heap) as u64;
            bytes[64 + 8 * slot..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let mut page = Page { bytes, heap, changed: ChangedWords::NONE };
        page.set_heads();
        page
    }

    /// Lets slots say what their keys begin with.
    fn set_heads(&mut self) {
        for slot in 8..8 + usize::from(self.bytes[38]) {
            let word = u64::from_le_bytes(*self.bytes[8 * slot..].first_chunk().unwrap());
            let (offset, key) = (word as usize & 0xfff, (word >> 12) as usize & 0x3ff);
            let mut first = [0; 4];
            first[..key.min(4)].copy_from_slice(&self.bytes[offset..][..key.min(4)]);
            let head = u64::from(u32::from_be_bytes(first) >> 1);
            let with_head = head << 33 | word & ((1 << 33) - 1);
            if with_head != word {
                self.bytes[8 * slot..][..8].copy_from_slice(&with_head.to_le_bytes());
                self.changed.add(slot..slot + 1);
            }
        }
    }

    /// Changes a word of a record, perhaps of its key.
    fn change(&mut self, rng: &mut SmallRng) {
        let word = rng.random_range(self.heap.div_ceil(8)..PAGE / 8);
        self.bytes[8 * word..][..8].fill_with(|| rng.random());
        self.changed.add(word..word + 1);
    }

    fn write(&mut self, store: &Store, lba: u32, is_whole: bool) {
        let changed = (!is_whole).then_some(&self.changed);
        store.write_batch(&[PageWrite { lba, page: &self.bytes, hotness: None, changed }]).unwrap();
        match is_whole {
            true => self.changed.begin_base(0),
            false => self.changed.note_written(),
        }
    }
}

#[test]
fn pages_with_folded_slots_are_read_as_they_are_by_store_and_judge() {
    let device = in_memory(&Shape::of_zones(22, 40 * PAGE as u64)).unwrap();
    let pages = Some(PAGES.into());
    let scheme = "nosep".to_string();
    let format = Format { scheme, logical_pages: pages, ..Format::default() };
    Store::format(device.clone(), &format).unwrap();
    let folding = Open { slots: Some(SLOTS), ..OPEN };
    let mut rng = SmallRng::seed_from_u64(1);
    let mut pages: Vec<_> = (0..PAGES).map(|_| Page::new(&mut rng)).collect();
    let mut written: Vec<u64> = Vec::new();
    for open in [OPEN, folding, OPEN, folding] {
        let store = Store::open(device.clone(), open).unwrap();
        let user_bytes = || store.stats().unwrap().written.user_bytes;
        let (mut found, before) = (vec![0; PAGE], user_bytes());
        for (lba, page) in (0..PAGES).zip(&mut pages) {
            if !written.is_empty() {
                assert!(store.read(lba, &mut found).unwrap() && found == page.bytes, "LBA {lba}");
            }
            page.write(&store, lba, true);
        }
        written.push(user_bytes() - before);
        for _ in 0..20_000 {
            let lba = rng.random_range(0..PAGES).min(rng.random_range(0..PAGES));
            let page = &mut pages[lba as usize];
            page.change(&mut rng);
            // Others have slots that do not fit their keys from then on.
            if lba % 8 > 0 {
                page.set_heads();
            }
            page.write(&store, lba, false);
        }
        let merged = store.stats().unwrap().deltas.merged;
        assert!(merged > 100, "{merged}");
        store.sync().unwrap();
        let judged = frostline_judge::pages(&*device).unwrap();
        let sums = (0..PAGES).zip(&pages).map(|(lba, page)| (lba, crc32c::crc32c(&page.bytes)));
        assert!(judged == sums.collect());
    }
    // Of 8 bytes a slot 2 to 4 are left.
    assert!(written[1] < written[0] - u64::from(PAGES) * 40 * 3, "{written:?}");
}
