//! The map in two levels: leaves of 1,024 entries, in memory as they are needed, and the root, which
//! has the place of each on the device.
//!
//! A leaf lies in memory as it lies on the device, by columns ([`Columns`]). A checkpoint takes a leaf by sharing it; a
//! shared leaf is copied before it is changed.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use frostline_log::{Map, MapEntry};
use frostline_placement::registry::SCHEMES;
use frostline_placement::{AnyState, SchemeSpec, Stamp};

use crate::format::{LeafAt, PAGE};
use crate::leaves::{LEAF, Leaves};
use crate::records::Sizes;

/// The columns of a leaf: slots, sums and units of the records, then what the scheme keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// Bytes of state that the scheme keeps of a page.
    pub state: usize,
}

impl Columns {
    /// The columns of a store.
    pub fn of(scheme: &SchemeSpec) -> Columns {
        Columns { state: scheme.entry.page_bytes }
    }

    /// Bytes of a page in all columns.
    pub fn bytes(self) -> usize {
        BEFORE_STATE + self.state
    }

    /// Pages of a leaf on the device.
    pub fn leaf_pages(self) -> usize {
        (LEAF * self.bytes()).div_ceil(PAGE)
    }
}

/// Bytes of a page in the columns before that of the states.
const BEFORE_STATE: usize = 9;

/// Words that the page state of every scheme fits into.
pub const WORDS: usize = 5;

const _: () = assert!(widest() <= size_of::<StoredState>());

/// Bytes that the schemes of the registry keep of a page at most.
const fn widest() -> usize {
    let (mut most, mut i) = (0, 0);
    while i < SCHEMES.len() {
        if SCHEMES[i].page_bytes > most {
            most = SCHEMES[i].page_bytes;
        }
        i += 1;
    }
    most
}

/// The state that a scheme keeps of a page.
pub type StoredState = AnyState<WORDS>;

/// The bytes of a leaf.
pub type Leaf = Arc<[u8]>;

/// A place that has no frame.
const ABSENT: u32 = u32::MAX;

/// A leaf, in memory or not.
#[derive(Clone)]
struct Place {
    /// Index of its frame, or [`ABSENT`].
    frame: u32,
    dirty: bool,
    /// It is being written down, and stays in memory until that is done.
    held: bool,
    /// It was used since the hand of the clock last passed.
    used: bool,
}

/// The memory of a leaf.
struct Frame {
    leaf: u32,
    bytes: Leaf,
}

/// Proof that the leaf of a page is in memory: where the page's entry is. It holds until a leaf is
/// loaded or dropped, so only a `MappedPage`, which has the state locked, keeps one.
#[derive(Clone, Copy)]
pub struct Position {
    frame: u32,
    leaf: u32,
    /// Of the entry in the leaf.
    index: usize,
}

/// The outcome of an eviction.
pub enum Evicted {
    /// A leaf is gone.
    Gone,
    /// This leaf changed and is to be written down first; it is held until then.
    Changed(u32, Leaf),
    /// All are in use.
    Nothing,
}

/// The leaves of the map.
pub struct MapCache {
    /// By number of the leaf.
    places: Vec<Place>,
    /// Of the leaves in memory, in no order.
    frames: Vec<Frame>,
    /// The places of the leaves on the device, by number.
    root: Vec<LeafAt>,
    hand: usize,
    space: u32,
    leaves: Leaves,
    columns: Columns,
}

impl MapCache {
    /// A map of `pages` pages that holds nothing. No leaf is in memory.
    pub fn new(pages: u64, sizes: Sizes, columns: Columns) -> Self {
        let leaves = Leaves::of(sizes);
        let count = leaves.count(pages) as usize;
        let place = Place { frame: ABSENT, dirty: false, held: false, used: false };
        let (places, root) = (vec![place; count], vec![LeafAt::default(); count]);
        let space = sizes.lbas(pages) as u32;
        MapCache { places, frames: Vec::new(), root, hand: 0, space, leaves, columns }
    }

    /// The division into leaves.
    pub fn leaves(&self) -> Leaves {
        self.leaves
    }

    /// The map as a checkpoint has it.
    pub fn set_root(&mut self, root: &[LeafAt]) {
        debug_assert!(self.frames.is_empty() && root.len() == self.places.len());
        self.root.copy_from_slice(root);
    }

    /// The places of the leaves on the device, by number.
    pub fn root(&self) -> &[LeafAt] {
        &self.root
    }

    /// The place of a leaf on the device.
    pub fn at(&self, leaf: u32) -> LeafAt {
        self.root[leaf as usize]
    }

    /// Number of leaves in memory.
    pub fn resident(&self) -> usize {
        self.frames.len()
    }

    /// True if the leaf is in memory.
    pub fn has(&self, leaf: u32) -> bool {
        self.places[leaf as usize].frame != ABSENT
    }

    /// True if no page of the leaf was ever written.
    pub fn is_blank(&self, leaf: u32) -> bool {
        !self.has(leaf) && self.at(leaf).page == 0
    }

    /// The last leaf that holds anything.
    pub fn last_leaf(&self) -> Option<u32> {
        (0..self.places.len() as u32).rev().find(|&leaf| !self.is_blank(leaf))
    }

    /// The position of a page's entry, if its leaf is in memory.
    pub fn position(&self, lba: u32) -> Option<Position> {
        let (leaf, index) = self.leaves.find(lba);
        let frame = self.places[leaf as usize].frame;
        (frame != ABSENT).then_some(Position { frame, leaf, index })
    }

    /// Takes a leaf into memory: the bytes that lie where the root says, or one that holds nothing.
    /// `clamp` keeps the stamps of a leaf that was written long before `now` from growing too old.
    pub fn insert(
        &mut self,
        leaf: u32,
        bytes: Option<&[u8]>,
        now: u64,
        clamp: impl Fn(&mut StoredState, u32),
    ) {
        debug_assert!(!self.has(leaf), "leaf {leaf} is in memory");
        let (mut bytes, mut at): (Leaf, u64) = match bytes {
            Some(bytes) => (bytes.into(), self.at(leaf).time),
            None => (vec![0; self.columns.leaf_pages() * PAGE].into(), now),
        };
        // As the volume would have done, had the leaf been in memory all the time. Stamps have 32 bits, and after the
        // first round of these each comes to the same.
        let step = u64::from(Stamp::HORIZON);
        at += (now.saturating_sub(at) >> 32).saturating_sub(1) << 32;
        while now.saturating_sub(at) > step {
            at += step;
            each_state(&mut bytes, self.columns, &mut |state| clamp(state, at as u32));
        }
        let frame = self.frames.len() as u32;
        self.frames.push(Frame { leaf, bytes });
        self.places[leaf as usize] = Place { frame, dirty: false, held: false, used: true };
    }

    /// Leaves that changed since they were last taken, or `all` in memory. They count as unchanged
    /// from now on, and stay in memory until they are [written](MapCache::written).
    pub fn take(&mut self, all: bool) -> Vec<(u32, Leaf)> {
        let mut taken = Vec::new();
        for (leaf, place) in (0u32..).zip(&mut self.places) {
            if place.frame != ABSENT && (all || place.dirty) {
                place.dirty = false;
                place.held = true;
                taken.push((leaf, self.frames[place.frame as usize].bytes.clone()));
            }
        }
        taken
    }

    /// A leaf that was taken is on the device.
    pub fn written(&mut self, leaf: u32, at: LeafAt) {
        self.root[leaf as usize] = at;
        self.places[leaf as usize].held = false;
    }

    /// A leaf that lay at `from` was copied on the device, unless it has been written since.
    pub fn moved(&mut self, leaf: u32, from: LeafAt, to: LeafAt) {
        let at = &mut self.root[leaf as usize];
        if *at == from {
            *at = to;
        }
    }

    /// Drops a leaf that was not used for a while.
    pub fn evict(&mut self) -> Evicted {
        for _ in 0..2 * self.places.len() {
            let leaf = self.hand as u32;
            self.hand = (self.hand + 1) % self.places.len();
            let place = &mut self.places[leaf as usize];
            if place.frame == ABSENT || place.held || std::mem::take(&mut place.used) {
                continue;
            }
            if place.dirty {
                place.dirty = false;
                place.held = true;
                let frame = place.frame as usize;
                return Evicted::Changed(leaf, self.frames[frame].bytes.clone());
            }
            self.drop_leaf(leaf);
            return Evicted::Gone;
        }
        Evicted::Nothing
    }

    /// Drops up to `most` leaves that did not change.
    pub fn drop_clean(&mut self, most: usize) {
        let clean = |place: &Place| place.frame != ABSENT && !place.dirty && !place.held;
        let leaves = (0u32..).zip(&self.places).filter(|(_, place)| clean(place));
        let leaves: Vec<u32> = leaves.map(|(leaf, _)| leaf).take(most).collect();
        leaves.into_iter().for_each(|leaf| self.drop_leaf(leaf));
    }

    /// Drops a leaf if it is in memory and did not change.
    pub fn let_go(&mut self, leaf: u32) {
        let Place { frame, dirty, held, .. } = self.places[leaf as usize];
        if frame != ABSENT && !dirty && !held {
            self.drop_leaf(leaf);
        }
    }

    /// Drops a leaf that is in memory. The last frame moves into its place.
    fn drop_leaf(&mut self, leaf: u32) {
        let frame = std::mem::replace(&mut self.places[leaf as usize].frame, ABSENT);
        self.frames.swap_remove(frame as usize);
        if let Some(moved) = self.frames.get(frame as usize) {
            self.places[moved.leaf as usize].frame = frame;
        }
    }

    fn leaf(&self, at: Position) -> &[u8] {
        debug_assert_eq!(self.frames[at.frame as usize].leaf, at.leaf);
        &self.frames[at.frame as usize].bytes
    }

    fn leaf_mut(&mut self, at: Position) -> &mut [u8] {
        let place = &mut self.places[at.leaf as usize];
        debug_assert_eq!(place.frame, at.frame, "leaf {} moved", at.leaf);
        place.dirty = true;
        place.used = true;
        Arc::make_mut(&mut self.frames[at.frame as usize].bytes)
    }

    /// The entry of a page.
    pub fn entry(&self, at: Position) -> MapEntry<StoredState> {
        let (leaf, i) = (self.leaf(at), at.index);
        let mut page = StoredState::zeroed();
        let state = self.columns.state;
        bytemuck::bytes_of_mut(&mut page)[..state].copy_from_slice(&leaf[self.state_at(i)]);
        MapEntry { slot: word(leaf, i), page }
    }

    /// Changes the entry of a page.
    pub fn set(&mut self, at: Position, entry: MapEntry<StoredState>) {
        let i = at.index;
        let (states, known) = (self.state_at(i), self.columns.state);
        let leaf = self.leaf_mut(at);
        set_word(leaf, i, entry.slot);
        leaf[states].copy_from_slice(&bytemuck::bytes_of(&entry.page)[..known]);
    }

    /// The slot of a page.
    pub fn slot(&self, at: Position) -> u32 {
        word(self.leaf(at), at.index)
    }

    /// Changes the slot of a page.
    pub fn set_slot(&mut self, at: Position, slot: u32) {
        set_word(self.leaf_mut(at), at.index, slot);
    }

    /// The sum of a page's content.
    pub fn sum(&self, at: Position) -> u32 {
        word(self.leaf(at), LEAF + at.index)
    }

    /// Changes the sum of a page's content.
    pub fn set_sum(&mut self, at: Position, sum: u32) {
        set_word(self.leaf_mut(at), LEAF + at.index, sum);
    }

    /// The units of a page's record.
    pub fn units(&self, at: Position) -> u32 {
        units(self.leaf(at), at.index)
    }

    /// Changes the units of a page's record.
    pub fn set_units(&mut self, at: Position, units: u32) {
        self.leaf_mut(at)[8 * LEAF + at.index] = units as u8;
    }

    /// A leaf, if it is in memory.
    pub fn get(&self, leaf: u32) -> Option<&[u8]> {
        let frame = self.frames.get(self.places[leaf as usize].frame as usize)?;
        Some(&frame.bytes)
    }

    /// The records whose places the bytes of a leaf have: the LBA, the slot, the units and the sum of each. The LBA of
    /// a page that the store does not have is the largest number.
    pub fn entries<'a>(
        &'a self,
        leaf: u32,
        bytes: &'a [u8],
    ) -> impl Iterator<Item = (u32, u32, u32, u32)> + 'a {
        let (first, pages) = (self.leaves.pages_of(leaf).start, self.leaves.pages());
        let end = self.space / self.leaves.kinds();
        let lba = move |i| match first + i as u32 % pages < end {
            true => self.leaves.lba(leaf, i),
            false => u32::MAX,
        };
        let entry = move |i| {
            let (slot, units) = (word(bytes, i), units(bytes, i));
            (lba(i), slot, units, word(bytes, LEAF + i))
        };
        (0..self.leaves.entries()).map(entry).filter(|&(_, slot, ..)| slot != 0)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let places = self.places.len() * (size_of::<Place>() + size_of::<LeafAt>());
        self.resident() * (self.columns.leaf_pages() * PAGE + size_of::<Frame>()) + places
    }

    /// The bytes of a leaf that are the state of its `i`-th page.
    fn state_at(&self, i: usize) -> Range<usize> {
        let Columns { state, .. } = self.columns;
        let first = BEFORE_STATE * LEAF + i * state;
        first..first + state
    }
}

/// Shows the states of a leaf's pages, to be changed.
fn each_state(leaf: &mut Leaf, columns: Columns, visit: &mut dyn FnMut(&mut StoredState)) {
    let size = columns.state;
    if size > 0 {
        let states = &mut Arc::make_mut(leaf)[BEFORE_STATE * LEAF..][..size * LEAF];
        for bytes in states.chunks_exact_mut(size) {
            let mut state = StoredState::zeroed();
            bytemuck::bytes_of_mut(&mut state)[..size].copy_from_slice(bytes);
            visit(&mut state);
            bytes.copy_from_slice(&bytemuck::bytes_of(&state)[..size]);
        }
    }
}

/// The `i`-th word of a leaf.
fn word(leaf: &[u8], i: usize) -> u32 {
    bytemuck::pod_read_unaligned(&leaf[4 * i..4 * i + 4])
}

/// The units of the `i`-th record of a leaf.
fn units(leaf: &[u8], i: usize) -> u32 {
    leaf[8 * LEAF + i].into()
}

fn set_word(leaf: &mut [u8], i: usize, word: u32) {
    leaf[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
}

impl Map<StoredState> for MapCache {
    fn space(&self) -> u32 {
        self.space
    }

    fn reach(&self) -> u32 {
        let Some(leaf) = self.last_leaf() else { return 0 };
        let in_use = |index: &usize| {
            let at = self.position(self.leaves.lba(leaf, *index));
            at.is_none_or(|at| self.slot(at) != 0)
        };
        let last = (0..self.leaves.entries())
            .rev()
            .filter(|&i| self.leaves.lba(leaf, i) < self.space)
            .find(in_use);
        let reach = last.map_or(0, |index| self.leaves.lba(leaf, index) + 1);
        // Leaves before it may have tails, whose LBAs are above those of all pages and deltas.
        let end = |leaf| self.leaves.lba(leaf, self.leaves.entries() - 1) + 1;
        let before = leaf.checked_sub(1).map_or(0, end);
        reach.max(before)
    }

    fn peek(&self, lba: u32) -> Option<MapEntry<StoredState>> {
        self.position(lba).map(|at| self.entry(at))
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut StoredState)) {
        for frame in &mut self.frames {
            each_state(&mut frame.bytes, self.columns, visit);
        }
    }
}
