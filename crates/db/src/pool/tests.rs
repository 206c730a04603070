//! Pages that go to a store, as deltas or as a whole, and come back.

use std::collections::BTreeMap;
use std::sync::Arc;

use frostline_store::{Cleaning, Compression, Format, Open, Store};
use frostline_zone::{Device, Shape, in_memory};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::absent::Room;
use super::writeback::Cause;
use super::*;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::{ACTIVITY_WORDS, Fences, NodeMut, Record, middle};
use crate::wal::{Flusher, WalOptions};

/// Bytes in the log: pages get positions up to there.
const LOGGED: u64 = 10_000;

/// Pages of the test, twice as many as there are frames.
const PAGES: u32 = 2 * FEWEST_FRAMES as u32;

/// The fewest frames of the test, and the most.
const FRAMES: (usize, usize) = (FEWEST_FRAMES - 16, FEWEST_FRAMES);

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

struct World {
    pool: Pool,
    rng: SmallRng,
    steps: u64,
    /// The content that each page must have.
    expected: Vec<Option<Records>>,
    /// Records that were changed without their page.
    without_page: u64,
    /// Records that were changed without their page, and were not known.
    unread: u64,
    /// Pages that were read together with others.
    together: u64,
    /// The fewest frames that were in use, and the most after that.
    frames: (u32, u32),
    window: Arc<CommitWindow>,
}

fn memory(zones: u64, zone_bytes: u64) -> Arc<dyn Device> {
    let shape = Shape::of_zones(zones, zone_bytes);
    in_memory(&shape).unwrap()
}

impl World {
    fn new(seed: u64, unit: u32) -> World {
        let device = memory(28, 20 * 4096);
        let format = Format { unit, scheme: "nosep".to_string(), ..Format::default() };
        Store::format(device.clone(), &format).unwrap();
        // Contents are so regular that compressed images would be shorter than any delta.
        let open =
            Open { cleaning: Cleaning::Inline, compression: Compression::None, ..Open::default() };
        let store = Arc::new(Store::open(device, open).unwrap());
        assert!(store.pages() >= u64::from(PAGES), "{} pages", store.pages());
        let log = memory(4, 16 * 4096);
        Wal::format(log.clone(), 1).unwrap();
        let options = WalOptions { flusher: Flusher::Inline, ..WalOptions::default() };
        let wal = Arc::new(Wal::open(log, 1, &options).unwrap());
        let (logged, ()) = wal.append(1, &[&[7; LOGGED as usize]], |_| ()).unwrap();
        wal.wait(logged).unwrap();
        let window = Arc::new(CommitWindow::new(wal.end(), 1 << 20));
        let space = PageSpace { store, first: 0, pages: PAGES };
        let watt = Replacement::Watt;
        let memory = Division {
            frames: FEWEST_FRAMES - 4,
            limits: FRAMES,
            absent: 56 << 10,
            deltas: 24 << 10,
        };
        let shared = (window.clone(), Arc::new(Versions::new(1 << 20)));
        let pool = Pool::new(space, wal, shared, memory, (watt, true), 0).unwrap();
        let expected = vec![None; PAGES as usize];
        let frames = (u32::MAX, 0);
        World {
            pool,
            rng: SmallRng::seed_from_u64(seed),
            steps: 0,
            expected,
            without_page: 0,
            unread: 0,
            together: 0,
            frames,
            window,
        }
    }

    fn guard(&self, page: u32) -> OptimisticGuard<'_> {
        loop {
            if let Some(guard) = self.pool.look(page).unwrap() {
                return guard;
            }
        }
    }

    fn frames(&self) -> &Frames {
        self.pool.residency().frames()
    }

    fn is_absent(&self, page: u32) -> bool {
        self.pool.residency().table().is_absent(page)
    }

    /// The frame of a page, which is loaded if it is absent.
    fn frame_of(&self, page: u32) -> u32 {
        let _ = self.guard(page);
        match self.pool.residency().table().residence(page).unwrap() {
            Residence::Frame(frame) => frame,
            residence => panic!("{residence:?}"),
        }
    }

    fn step(&mut self) {
        self.steps += 1;
        if self.rng.random_bool(0.02) {
            self.window.replayed((self.steps / 2).saturating_sub(1));
        }
        // For some time records are worth more than pages, then less.
        (0..10 * u64::from(self.steps % 10_000 < 5000))
            .for_each(|_| self.pool.residency().ghosts().note_row_hit());
        let in_use = self.frames().in_use();
        self.frames = match in_use < self.frames.0 {
            true => (in_use, in_use),
            false => (self.frames.0, self.frames.1.max(in_use)),
        };
        // Some pages are used more often than others.
        let page = self.rng.random_range(0..PAGES).min(self.rng.random_range(0..PAGES));
        match (self.rng.random_range(0..100), self.expected[page as usize].is_some()) {
            (_, false) => self.create(page),
            (0..2, true) => self.free(page),
            // As redo does: an older version lies on the device.
            (2..4, true) => self.create(page),
            (4, true) => self.halve(page),
            (5..50, true) => self.change(page),
            (50..70, true) => self.use_records(page),
            (70..75, true) => self.compare(page),
            (75..80, true) => self.load_together(page),
            (80..90, true) => self.write(page),
            (90..95, true) => self.write_newer(page),
            (_, true) => {
                let position = if self.rng.random_bool(0.5) { 0 } else { CLEAN };
                self.pool.write_older(position).unwrap();
            }
        }
    }

    fn create(&mut self, page: u32) {
        let mut held = self.pool.create(page, self.pool.free_frame().unwrap()).unwrap();
        let fences = Fences { lower: &[], upper: None };
        NodeMut::format(held.bytes(), page, 0, fences).begin_records();
        held.changed_unlogged();
        self.expected[page as usize] = Some(Records::new());
    }

    fn free(&mut self, page: u32) {
        let _writer = self.pool.evictor();
        self.pool.forget(page, |_| ()).unwrap();
        self.pool.space().trim(page).unwrap();
        self.expected[page as usize] = None;
    }

    fn change(&mut self, page: u32) {
        let key = [self.rng.random_range(0..60u8)];
        let len = [8, 8, self.rng.random_range(0..200)][self.rng.random_range(0..3)];
        // Zeroes are in words that were not used as well.
        let value = vec![[0, self.rng.random()][self.rng.random_range(0..2)]; len];
        let kind = self.rng.random_range(0..10);
        let mut held = self.guard(page).lock().unwrap();
        let (index, found) = held.node().search(&key);
        let record = Record { value: &value, flags: 0 };
        let mut node = held.edit();
        let done = match (found, kind) {
            (true, 0..2) => {
                node.remove(index);
                false
            }
            (true, _) => node.set_value(index, &key, record),
            (false, _) => node.insert(index, &key, record),
        };
        match kind {
            0..7 => held.changed_by(self.steps / 2),
            _ => held.changed_unlogged(),
        }
        drop(held);
        self.pool.note_record(page, &key);
        let records = self.expected[page as usize].as_mut().unwrap();
        if done {
            records.insert(key.to_vec(), value);
        } else if found && kind < 2 {
            records.remove(&key[..]);
        }
    }

    /// Leaves half of a page's records, as a split does.
    fn halve(&mut self, page: u32) {
        let mut held = self.guard(page).lock().unwrap();
        let node = held.node();
        let (half, count) = (node.page().clone(), node.count() / 2);
        let mut part = NodeMut::format(&half, page, 0, Fences { lower: &[], upper: None });
        assert!(part.push_all(node, 0, count, true));
        let count = (0..count).filter(|&index| !node.slot(index).is_ghost()).count();
        held.replace(&half, self.steps / 2);
        drop(held);
        let records = self.expected[page as usize].as_mut().unwrap();
        *records = std::mem::take(records).into_iter().take(count).collect();
    }

    /// Reads and changes records of a page without it, as far as it is not in memory: some that are
    /// there, and some that are not known.
    fn use_records(&mut self, page: u32) {
        let (residency, position) = (self.pool.residency(), self.steps / 2);
        let (rows, room) =
            (residency.absent(), || residency.table().known(page).map(|known| known.room));
        let (mut before, mut found) = (Vec::new(), Vec::new());
        let records = self.expected[page as usize].as_mut().unwrap();
        for key in 0..62u8 {
            let known = rows.get(page, &[key], || room().is_some(), &mut found);
            let expected = records.get(&[key][..]);
            if let Some((lookup, _)) = known {
                assert_eq!(
                    (lookup == Lookup::Value).then_some(&found),
                    expected,
                    "{key} of {page}"
                );
            } else if self.rng.random_bool(0.9) {
                continue;
            }
            let kind = match self.rng.random_range(0..10) {
                0 => WriteKind::Delete,
                1..4 => WriteKind::Patch,
                _ => WriteKind::Put,
            };
            let len = match (kind, expected) {
                (WriteKind::Delete, _) => 0,
                (_, Some(value)) if self.rng.random_bool(0.8) => value.len(),
                _ => self.rng.random_range(0..100),
            };
            let mut new = vec![self.rng.random(); len];
            if kind == WriteKind::Patch {
                let at: u8 = self.rng.random_range(0..100);
                new.splice(..0, [at, 0, len as u8, 0]);
            }
            let change = Change { kind, value: &new };
            before.clear();
            let mut was = None;
            let keep = |append: &mut dyn FnMut(&mut Vec<u8>) -> Option<Lookup>| {
                was = append(&mut before);
            };
            let is_replay = self.rng.random_bool(0.3);
            let room = || Some(Room::of(room()?, is_replay));
            if rows.change(page, &[key], room, (change, position), keep).is_none() {
                continue;
            }
            assert_eq!(was, known.map(|(lookup, _)| lookup));
            assert_eq!(before, known.map_or(Vec::new(), |_| found.clone()), "what is kept");
            match (kind, known) {
                (_, None) => self.unread += 1,
                _ => self.without_page += 1,
            }
            match kind {
                WriteKind::Delete => drop(records.remove(&[key][..])),
                WriteKind::Patch => {
                    if let Some(value) = records.get_mut(&[key][..]) {
                        change.patch(value);
                    }
                }
                _ => drop(records.insert(vec![key], new)),
            }
        }
    }

    /// Reads pages together, among them some that are in memory or not in use.
    fn load_together(&mut self, first: u32) {
        self.pool.make_room().unwrap();
        let pages = (first..PAGES).step_by(self.rng.random_range(1..4)).take(40);
        let absent: Vec<_> = pages.clone().filter(|&page| self.is_absent(page)).collect();
        let room = self.frames().free_count() / 2;
        self.pool.load_together(pages);
        let is_used = |page: &&u32| self.expected[**page as usize].is_some();
        for &page in absent.iter().take(room).filter(is_used) {
            assert!(!self.is_absent(page), "page {page} was read");
            self.together += 1;
            self.compare(page);
        }
    }

    fn compare(&self, page: u32) {
        let guard = self.guard(page);
        let node = guard.node();
        assert!(node.is_sound(), "page {page}");
        let slots = (0..node.count()).filter(|&index| !node.slot(index).is_ghost());
        let records = slots.map(|index| {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            node.key(index, &mut key);
            node.value(node.slot(index), &mut value);
            (key, value)
        });
        let expected = self.expected[page as usize].as_ref().unwrap();
        assert!(records.eq(expected.clone()), "page {page}");
        let frame = self.frames().header(self.frame_of(page));
        if !frame.is_dirty() {
            let (mut copy, mut on_device) = ([0; PAGE_BYTES], [0; PAGE_BYTES]);
            node.page().copy_to(&mut copy);
            self.pool.space().read(page, &mut on_device).unwrap();
            // Deltas leave these out.
            let activity = ACTIVITY_WORDS.start * 8..ACTIVITY_WORDS.end * 8;
            for range in [middle(&copy), activity] {
                on_device[range.clone()].fill(0);
                copy[range].fill(0);
            }
            assert!(copy == on_device, "page {page} was not written as it is");
        }
    }

    /// Writes a page, or fails to, before or after it reached the store.
    fn write(&mut self, page: u32) {
        let mut copy = [0; PAGE_BYTES];
        let frame = self.frame_of(page);
        let Some(out) = self.pool.writeback().copy_out(frame, &mut copy, self.frames().clock())
        else {
            return;
        };
        let (reaches, fails) = (self.rng.random_bool(0.7), self.rng.random_bool(0.5));
        let out = [out];
        if reaches {
            self.pool.space().write(&out).unwrap();
        }
        if self.rng.random_bool(0.5) {
            self.change(page);
        }
        let arrived = reaches && !fails;
        self.pool.writeback().end_write(frame, &out[0], arrived, Cause::Checkpoint);
    }

    fn write_newer(&mut self, page: u32) {
        let (store, reaches) = (self.pool.space().store.clone(), self.rng.random_bool(0.5));
        self.pool.write_newer(&[page], &mut |write| reaches && store.write_batch(&[write]).is_ok());
    }
}

#[test]
fn pages_come_back_from_a_store_of_any_unit_as_they_were() {
    for (seed, unit) in [(1, 64), (2, 64), (3, 512), (4, 4096)] {
        let mut world = World::new(seed, unit);
        for _ in 0..2 * LOGGED {
            world.step();
        }
        let pages = (0..PAGES).filter(|&page| world.expected[page as usize].is_some());
        pages.for_each(|page| world.compare(page));
        let stats = world.pool.space().store.stats().unwrap();
        let deltas = stats.deltas;
        let kept = world.pool.counters.kept.load(Relaxed);
        assert!(world.without_page > 1000, "{} records", world.without_page);
        assert!(world.unread > 1000, "{} records", world.unread);
        assert!(world.together > 1000, "{} pages together", world.together);
        assert_eq!(world.frames, (FRAMES.0 as u32, FRAMES.1 as u32), "memory moved, and back");
        let all = deltas.written > 1000 && deltas.merged > 1000 && kept > 100;
        assert_eq!(all, unit < 4096, "{kept} kept, {deltas:?}");
    }
}

#[test]
fn a_page_that_comes_back_counts_words_as_changed_of_the_delta_that_was_not_read() {
    let mut world = World::new(5, 64);
    world.create(0);
    let insert = |world: &World, key: u8, value: &[u8]| {
        let mut held = world.guard(0).lock().unwrap();
        assert!(held.edit().insert(0, &[key], Record { value, flags: 0 }));
        held.changed_by(1);
    };
    insert(&world, 2, &[2; 800]);
    world.pool.write_older(CLEAN).unwrap();
    let without = world.guard(0).node().page().clone();
    insert(&world, 1, &[1; 200]);
    world.pool.write_older(CLEAN).unwrap();
    // What the delta has of the record is no longer in use.
    world.guard(0).lock().unwrap().replace(&without, 2);
    let frame = world.frame_of(0);
    let mut copy = [0; PAGE_BYTES];
    let out = world.pool.writeback().copy_out(frame, &mut copy, 1).unwrap();
    assert!(world.pool.writeback().cache_delta(frame, &out));

    let of_delta = world.pool.space().read(0, &mut copy).unwrap();
    assert!(of_delta.count() > 200 / 8, "{of_delta:?}");
    let now = world.guard(0).node().page().changed_outside(&[]);
    assert!((0..PAGE_BYTES / 8).all(|word| now.has(word) || !of_delta.has(word)));
}

#[test]
fn eviction_names_pages_that_lack_changes_of_rows_and_reads_none() {
    let mut world = World::new(6, 64);
    for page in 0..PAGES {
        world.create(page);
        let mut held = world.guard(page).lock().unwrap();
        assert!(held.edit().insert(0, &[1], Record { value: &[1; 300], flags: 0 }));
        held.changed_by(1);
        drop(held);
        world.pool.note_record(page, &[1]);
    }
    // The rows of pages that were evicted change.
    let residency = world.pool.residency();
    let change = |&page: &u32| {
        let put = (Change { kind: WriteKind::Put, value: &[2; 300] }, 2);
        let room = || Some(Room::of(residency.table().known(page)?.room, false));
        residency.absent().change(page, &[1], room, put, |_| ()).is_some()
    };
    let changed: Vec<_> = (0..PAGES).filter(change).collect();
    assert!(changed.len() > 30, "{changed:?}");

    let reads = world.pool.counters.read.load(Relaxed);
    let mut lacking = Vec::new();
    for _ in 0..3 {
        // Frames are needed, and there is no memory for rows; at first they were used too recently.
        while residency.frames().take().is_some() {}
        residency.absent().set_most_bytes(1);
        lacking.extend(world.pool.loader.evictor().refill_free_list().unwrap());
    }
    assert!(!lacking.is_empty());
    assert!(lacking.iter().all(|page| changed.contains(page)), "{lacking:?} of {changed:?}");
    assert_eq!(world.pool.counters.read.load(Relaxed), reads, "a page was read");
    world.pool.load_together(lacking[..1].iter().copied());
    assert!(!world.is_absent(lacking[0]));
    let value = |page| {
        let (guard, mut value) = (world.guard(page), Vec::new());
        guard.node().value(guard.node().slot(0), &mut value);
        value
    };
    assert_eq!(value(lacking[0]), [2; 300]);
}

#[test]
fn a_page_that_is_freed_while_it_is_absent_is_not_loaded_again() {
    let mut world = World::new(7, 64);
    world.create(0);
    world.pool.write_older(CLEAN).unwrap();
    for page in (1..PAGES).cycle().take(100 * PAGES as usize) {
        match world.is_absent(0) {
            true => break,
            false => world.create(page),
        }
    }
    assert!(world.is_absent(0), "other pages needed its frame");
    world.pool.forget(0, |_| ()).unwrap();
    assert!(world.pool.is_unused(0));
    assert!(world.pool.look(0).is_err(), "it was loaded");
    world.create(0);
    world.compare(0);
}

#[test]
fn rows_have_the_memory_of_frames_in_a_replay_and_after_it_if_they_need_it() {
    for wait in [false, true] {
        let world = World::new(3, 64);
        let absent = world.pool.residency().absent();
        let division = || (world.pool.frames_in_use(), absent.most_bytes());
        let (frames, bytes) = division();
        world.pool.begin_replay();
        assert_eq!(division(), (FRAMES.0, bytes + (frames - FRAMES.0) * FRAME_BYTES));
        let put = (Change { kind: WriteKind::Put, value: &[2; 400] }, 2);
        let room = || Some(Room::of(4000, true));
        for page in (0..PAGES).filter(|_| wait) {
            assert!(absent.change(page, &[1], room, put, |_| ()).is_some());
        }
        world.pool.end_replay();
        let expected = if wait { FRAMES.0 } else { frames };
        assert_eq!(world.pool.frames_in_use(), expected, "with {} bytes", absent.bytes());
    }
}
