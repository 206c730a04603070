//! Deltas and rows of absent pages, without a store that has them.

use frostline_placement::Hotness;
use frostline_store::{ChangedWords, Format, Open, Store};
use frostline_zone::{Shape, in_memory};

use super::state::{DELTA_SLOT, ROWS_SLOT};
use super::*;
use crate::mvcc::WriteKind;
use crate::node::{Fences, NodeMut, PageBytes, Record};

/// A page with one record.
fn page(key: u8) -> Box<PageBytes> {
    let page = PageBytes::zeroed();
    let mut node = NodeMut::format(&page, 9, 0, Fences { lower: &[], upper: None });
    assert!(node.push(&[key], Record { value: &[key; 100], flags: 0 }));
    node.raise_position(7);
    page
}

/// Makes deltas as a store makes them.
struct Deltas(Store);

impl Deltas {
    fn new() -> Self {
        let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() }).unwrap();
        Store::format(device.clone(), &Format::default()).unwrap();
        Deltas(Store::open(device, Open::default()).unwrap())
    }

    fn delta(&self, dirty_from: u64) -> CachedDelta {
        let mut changed = ChangedWords::NONE;
        changed.add(0..1);
        let delta = self.0.delta(&[1; 4096], &changed).unwrap();
        CachedDelta { delta, position: dirty_from, dirty_from, hotness: Hotness::default() }
    }

    /// Bytes of a page that has a delta only.
    fn bytes(&self) -> usize {
        let mut delta = Delta::default();
        delta.keep(self.delta(1));
        DELTA_SLOT + delta.memory_bytes()
    }
}

/// Bytes of a page that has a row only.
const ROW: usize = ROWS_SLOT + allocated(13 + 106);

/// Notes a record of a page that is then evicted.
fn evict(cache: &AbsentCache, number: u32, delta: Option<CachedDelta>) {
    let key = number as u8;
    cache.note(number, &[key]);
    cache.keep(number, Node::of(&page(key)), delta);
}

fn get(cache: &AbsentCache, page: u32) -> bool {
    let mut value = Vec::new();
    let found = cache.get(page, &[page as u8], || true, &mut value);
    assert!(found.is_none_or(|(found, position)| {
        found == Lookup::Value && position >= 7 && value == [page as u8; 100]
    }));
    found.is_some()
}

fn room(bytes: u32) -> Option<Room> {
    Some(Room::of(bytes, false))
}

fn change(cache: &AbsentCache, page: u32, kind: WriteKind, value: &[u8], position: u64) -> bool {
    let change = (Change { kind, value }, position);
    cache.change(page, &[page as u8], || room(0), change, |_| ()).is_some()
}

fn pages(deltas: &[(u32, CachedDelta)]) -> Vec<u32> {
    deltas.iter().map(|(page, _)| *page).collect()
}

#[test]
fn rows_that_were_used_stay_and_pages_that_lack_changes_are_named() {
    // All of one shard, which has room for four.
    let numbers = [0, 16, 32, 48, 64, 80];
    let cache = AbsentCache::new(SHARDS * 4 * ROW, 0);
    let lacking = || {
        let excess = cache.take_excess(8, CLEAN);
        assert!(excess.deltas.is_empty());
        excess.lacking
    };
    numbers.iter().for_each(|&number| evict(&cache, number, None));
    assert!(get(&cache, 0));
    assert!(change(&cache, 16, WriteKind::Put, &[16; 100], 9));
    assert!(lacking().is_empty());
    let left = || numbers.map(|number| cache.state(number).rows.find(number).is_some());
    assert_eq!(left(), [true, true, false, false, true, true]);
    // They leave later than those that came after them and were not used.
    for come in [[96, 112], [128, 144], [160, 176], [192, 208]] {
        come.iter().for_each(|&number| evict(&cache, number, None));
        assert_eq!(lacking(), [0; 0], "as {come:?} have come");
    }
    assert_eq!(left(), [false, true, false, false, false, false]);
    cache.set_most_bytes(SHARDS * ROW);
    assert_eq!(lacking(), [0; 0], "it has room, as nothing else has");
    cache.set_most_bytes(0);
    assert_eq!(lacking(), [16]);
    cache.set_most_bytes(SHARDS * 4 * ROW);
    evict(&cache, 208, None);
    assert_eq!((cache.rows_before(9), cache.rows_before(10)), (vec![], vec![16]));
    assert_eq!(cache.needs_log_from(), 9);
    cache
        .give_back(16, |rows| {
            let waiting = rows.unwrap().waiting().map(|one| (one.key, one.change.value));
            assert!(waiting.eq([(&[16][..], &[16; 100][..])]));
            Ok(true)
        })
        .unwrap();
    assert_eq!((cache.needs_log_from(), get(&cache, 16)), (CLEAN, false), "it is in the page");
    assert!(get(&cache, 208));
    cache.forget(208, |_| ());
    assert!(!get(&cache, 208));
}

#[test]
fn a_change_that_needs_the_page_or_meets_it_in_a_frame_is_not_made() {
    let cache = AbsentCache::new(1 << 20, 0);
    evict(&cache, 1, None);
    for (kind, value) in [
        (WriteKind::Put, &[1; 99][..]),
        (WriteKind::Put, &[1; 101]),
        (WriteKind::PutOverflow, &[1; 100]),
    ] {
        assert!(!change(&cache, 1, kind, value, 9), "{kind:?}");
    }
    let put = (Change { kind: WriteKind::Put, value: &[2; 100] }, 9);
    let refused = cache.change(1, &[1], || None, put, |_| panic!("nothing is replaced"));
    assert_eq!(refused, None);
    assert!(cache.get(1, &[1], || false, &mut Vec::new()).is_none());
    let refused = cache.change(1, &[2], || room(0), put, |_| panic!("nothing is replaced"));
    assert_eq!(refused, None);
    assert_eq!((get(&cache, 1), cache.needs_log_from()), (true, CLEAN));
    assert!(change(&cache, 1, WriteKind::Patch, &[0, 0, 1, 0, 5], 9));
}

#[test]
fn an_error_of_the_page_leaves_its_parts_in_the_cache() {
    let cache = AbsentCache::new(1 << 20, 0);
    evict(&cache, 1, Some(Deltas::new().delta(8)));
    assert!(change(&cache, 1, WriteKind::Put, &[1; 100], 9));
    let delta = cache.borrow(1).unwrap();
    assert!(cache.give_back(1, |_| Err(DbError::Panicked)).is_err());
    assert_eq!(cache.needs_log_from(), 8, "while it is in use");
    cache.release(1, delta);
    assert_eq!((get(&cache, 1), cache.needs_log_from()), (true, 8));
    assert_eq!((cache.deltas_before(9), cache.rows_before(10)), (vec![1], vec![1]));
    assert_eq!(cache.borrow(1).unwrap().dirty_from, 8);
}

#[test]
fn the_oldest_deltas_go_first_and_those_in_use_stay() {
    let deltas = Deltas::new();
    let one = deltas.bytes();
    // All of one shard, which has room for two.
    let cache = AbsentCache::new(SHARDS * 2 * one, 0);
    assert_eq!((cache.needs_log_from(), cache.bytes()), (CLEAN, 0));
    for (number, dirty_from) in [(64, 40), (16, 10), (48, 30), (32, 20)] {
        cache.keep(number, Node::of(&page(1)), Some(deltas.delta(dirty_from)));
    }
    assert_eq!((cache.needs_log_from(), cache.bytes()), (10, 4 * one));
    let excess = cache.take_excess(8, CLEAN);
    assert_eq!((pages(&excess.deltas), excess.lacking), (vec![64, 16], vec![]));
    assert_eq!(cache.needs_log_from(), 10, "until they are written");
    assert!(cache.borrow_unused(16).is_none(), "it is in use");
    assert_eq!((cache.deltas_before(20), cache.deltas_before(30)), (vec![], vec![32]));
    for (number, delta) in excess.deltas {
        cache.end_write(number, delta, number == 16);
    }
    assert_eq!((cache.needs_log_from(), cache.bytes()), (20, 3 * one));
    assert_eq!(cache.borrow(64).unwrap().dirty_from, 40, "it was not written");
    assert!(cache.borrow(16).is_none(), "it was written");
}

#[test]
fn a_delta_that_has_to_go_leaves_rows_that_were_used() {
    let deltas = Deltas::new();
    let cache = AbsentCache::new(SHARDS * ROW, 0);
    evict(&cache, 16, Some(deltas.delta(9)));
    assert!(get(&cache, 16));
    let excess = cache.take_excess(8, CLEAN);
    assert_eq!(pages(&excess.deltas), [16]);
    for (number, delta) in excess.deltas {
        cache.end_write(number, delta, true);
    }
    assert_eq!((cache.bytes(), get(&cache, 16), cache.needs_log_from()), (ROW, true, CLEAN));
    // One that is in use by rows alone is not written twice.
    assert!(cache.take_excess(8, CLEAN).deltas.is_empty());
}

#[test]
fn deltas_beyond_their_part_go_before_rows_and_rows_before_other_deltas() {
    let deltas = Deltas::new();
    let one = deltas.bytes();
    for (deltas_for_sure, gone, rows) in [(4, vec![], 0), (2, vec![16, 32], 2)] {
        let for_sure = SHARDS * deltas_for_sure * one;
        let cache = AbsentCache::new(SHARDS * 4 * one, for_sure);
        [80, 96].into_iter().for_each(|number| evict(&cache, number, None));
        for number in [16, 32, 48, 64] {
            cache.keep(number, Node::of(&page(1)), Some(deltas.delta(9)));
        }
        let excess = cache.take_excess(8, CLEAN);
        let left = [80, 96].into_iter().filter(|&number| get(&cache, number)).count();
        assert_eq!(
            (pages(&excess.deltas), left),
            (gone, rows),
            "room for {deltas_for_sure} deltas"
        );
    }
}

#[test]
fn a_thread_that_needs_a_delta_waits_until_it_is_written() {
    let deltas = Deltas::new();
    let cache = AbsentCache::new(1 << 20, 0);
    for arrived in [true, false] {
        cache.keep(5, Node::of(&page(5)), Some(deltas.delta(3)));
        let delta = cache.borrow_unused(5).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| cache.borrow(5).is_some());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            cache.end_write(5, delta, arrived);
            assert_eq!(waiting.join().unwrap(), !arrived);
        });
    }
}

#[test]
fn rows_that_their_page_has_go_before_pages_are_named_by_what_waits_for_them() {
    let cache = AbsentCache::new(1 << 20, 0);
    let put = |page: u32, key: u8, len: usize| {
        let put = (Change { kind: WriteKind::Put, value: &vec![key; len] }, 9);
        cache.change(page, &[key], || room(4000), put, |_| ())
    };
    for (page, len) in [(16, 100), (32, 600), (48, 300), (64, 400)] {
        assert_eq!(put(page, 1, len), Some(Memory::Enough));
    }
    let waiting = cache.bytes();
    (10..20).for_each(|page| evict(&cache, page * 16, None));
    let bytes = cache.bytes();
    cache.set_most_bytes(SHARDS * bytes);
    assert_eq!(cache.take_excess(8, CLEAN).lacking, [0; 0], "there is memory");
    assert_eq!(put(64, 2, 400), Some(Memory::Short));
    assert_eq!(cache.take_spare(8, CLEAN).lacking, [0; 0], "rows that were not used go first");
    assert!((waiting + 400..bytes - bytes / SPARE).contains(&cache.bytes()));
    for (page, len) in [(80, 700), (96, 200), (16, 500)] {
        put(page, 3, len);
    }
    let waiting = cache.state(16).taken.waiting_bytes;
    evict(&cache, 112, None);
    assert!(get(&cache, 112));
    cache.set_most_bytes(SHARDS * waiting);
    assert_eq!(cache.take_excess(8, CLEAN).lacking, [0; 0], "rows that were used go first, too");
    assert_eq!(cache.bytes(), waiting);
    cache.set_most_bytes(SHARDS * waiting / 2);
    // Those that are named are not named again.
    for named in [[64, 80], [32, 16], [48, 96]] {
        assert_eq!(cache.take_spare(8, CLEAN).lacking, named);
    }
}

#[test]
fn pages_whose_waiting_changes_the_log_on_the_device_has_are_named_first() {
    let cache = AbsentCache::new(1 << 20, 0);
    for (page, len, position) in [(16, 600, 9), (32, 100, 5), (48, 300, 6)] {
        let put = (Change { kind: WriteKind::Put, value: &vec![1; len] }, position);
        assert!(cache.change(page, &[1], || room(4000), put, |_| ()).is_some());
    }
    cache.set_most_bytes(SHARDS);
    assert_eq!(cache.take_spare(8, 8).lacking, [48, 32]);
    assert_eq!(cache.take_spare(8, 8).lacking, [16], "no other is left");
}

#[test]
fn a_page_takes_room_of_the_store_by_what_waits_for_it() {
    let cache = AbsentCache::new(1 << 20, 0);
    cache.keep(16, Node::of(&page(1)), Some(Deltas::new().delta(9)));
    assert_eq!(cache.room(), PAGE_BYTES / 8 * 3);
    let put = |key: u8, len: usize| {
        let put = (Change { kind: WriteKind::Put, value: &vec![key; len] }, 9);
        assert!(cache.change(16, &[key], || room(4000), put, |_| ()).is_some());
    };
    put(1, 100);
    assert_eq!(cache.room(), PAGE_BYTES / 8 * 5 + 106);
    put(2, 1500);
    assert_eq!(cache.room(), PAGE_BYTES, "no page takes more");
    cache.forget(16, |_| ());
    assert_eq!(cache.room(), 0);
    put(3, 100);
    cache.keep(16, Node::of(&page(1)), Some(Deltas::new().delta(9)));
    assert_eq!(cache.room(), PAGE_BYTES / 8 * 5 + 106, "rows that wait have room for a delta");
    assert!(cache.borrow(16).is_some());
    assert!(cache.give_back(16, |rows| Ok(rows.is_some())).unwrap());
    assert_eq!((cache.room(), cache.bytes()), (0, 0));
}

#[test]
fn as_many_pages_are_overfull_as_may_be_and_the_fullest_are_loaded_before() {
    let cache = AbsentCache::new(1 << 20, 0);
    let put = |page: u32, key: u8, len: usize| {
        let put = (Change { kind: WriteKind::Put, value: &vec![key; len] }, 9);
        cache.change(page, &[key], || room(300), put, |_| ())
    };
    assert_eq!(put(0, 1, 400), None, "none may be overfull");
    cache.set_most_overfull(20);
    assert_eq!(put(0, 1, 200), Some(Memory::Enough));
    assert_eq!((cache.overfull(), cache.room()), (0, PAGE_BYTES / 8 * 5 + 206));
    for page in 0..19 {
        assert_eq!(put(page, 2, 400), Some(Memory::Enough), "{page}");
    }
    assert_eq!(cache.overfull(), 19);
    assert_eq!(cache.take_excess(8, CLEAN).lacking, [0; 0]);
    // It takes another page for its other half.
    assert!(cache.room() > 19 * (PAGE_BYTES / 8 * 13));
    assert_eq!(put(19, 2, 400), Some(Memory::Short));
    assert_eq!(put(20, 2, 400), None, "it needs its page");
    assert_eq!(put(20, 2, 280), Some(Memory::Short), "it has room for this");
    assert_eq!(put(0, 3, 700), Some(Memory::Short), "it is split anyway");
    assert_eq!(put(0, 4, 600), None, "a half may have too little room for all this");
    let mut named = cache.take_spare(8, CLEAN).lacking;
    named.sort_unstable();
    assert_eq!(named, (0..=20).collect::<Vec<_>>(), "as long as any shard has them");
    cache.forget(19, |_| ());
    let right = |page| cache.split(page, &[0], 100 + page);
    right(18);
    assert_eq!(cache.overfull(), 19, "the half that got the rows");
    assert!(cache.give_back(118, |rows| Ok(rows.is_some())).unwrap());
    assert_eq!(cache.overfull(), 18);
    assert_eq!(cache.take_spare(8, CLEAN).lacking, [0; 0]);
}
