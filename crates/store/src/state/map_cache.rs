//! The map in two levels: leaves, in memory as they are needed, and the root, which has the place
//! of each on the device.
//!
//! A checkpoint takes a leaf by sharing it; a shared leaf is copied before it is changed. The root
//! has room only for leaves around those that there are: a large store that holds little needs
//! little memory.

use frostline_log::{Map, PageEntry, Slot};
use frostline_placement::Stamp;

use crate::format::LeafAt;
use crate::format::leaf::{Leaf, LeafPlace, LeafRow, LeafShape, StoredState};
use crate::format::records::{RecordKind, Sizes};

/// Leaves whose places lie together in the root.
const NODE: usize = 256;

/// Leaves whose numbers follow one another.
#[derive(Clone)]
struct Node {
    /// For each, 1 more than the index of its frame, or 0 if it is not in memory.
    frames: [u32; NODE],
    /// For each, its place on the device.
    root: [LeafAt; NODE],
}

/// The memory of a leaf.
struct Frame {
    leaf: u32,
    bytes: Leaf,
    dirty: bool,
    /// It is being written down, and stays in memory until that is done.
    held: bool,
    /// It was used since the hand of the clock last passed.
    used: bool,
}

/// Where the row of one of a page's records is in memory. It holds until a leaf is dropped,
/// so only a `MappedPage`, which has the state locked, uses one; later it may not be
/// [there](MapCache::is_there).
#[derive(Clone, Copy)]
pub(crate) struct Position {
    frame: u32,
    leaf: u32,
    /// Of the page in the leaf.
    index: usize,
    kind: RecordKind,
}

impl Position {
    /// That of the same page's record of this kind.
    pub(crate) fn of_kind(self, kind: RecordKind) -> Position {
        Position { kind, ..self }
    }
}

/// The outcome of an eviction.
pub(crate) enum Evicted {
    /// A leaf is gone.
    Gone,
    /// This leaf changed and is to be written down first; it is held until then.
    Changed(u32, Leaf),
    /// All are in use.
    Nothing,
}

/// A record whose place the map has.
pub(crate) struct MappedRecord {
    /// Its LBA; the largest number if the store does not have its page.
    pub lba: u64,
    /// Its slot.
    pub slot: Slot,
    /// Its units.
    pub units: u32,
    /// Its sum.
    pub sum: u32,
}

/// The leaves of the map.
pub(crate) struct MapCache {
    /// By number of the leaf, those that have, or had, any in memory or on the device.
    nodes: Vec<Option<Box<Node>>>,
    /// Of the leaves in memory, in no order.
    frames: Vec<Frame>,
    /// Bytes of these.
    bytes: usize,
    /// The frame that the hand of the clock points to.
    hand: usize,
    /// Pages of the store.
    pages: u64,
    sizes: Sizes,
    shape: LeafShape,
}

impl MapCache {
    /// A map of `pages` pages that holds nothing. No leaf is in memory.
    pub(crate) fn new(pages: u64, sizes: Sizes, shape: LeafShape) -> Self {
        let nodes = (shape.leaves_of(pages) as usize).div_ceil(NODE);
        let nodes = std::iter::repeat_with(|| None).take(nodes).collect();
        MapCache { nodes, frames: Vec::new(), bytes: 0, hand: 0, pages, sizes, shape }
    }

    fn node(&self, leaf: u32) -> Option<(&Node, usize)> {
        let node = self.nodes.get(leaf as usize / NODE)?.as_deref()?;
        Some((node, leaf as usize % NODE))
    }

    fn node_mut(&mut self, leaf: u32) -> (&mut Node, usize) {
        let empty = || Box::new(Node { frames: [0; NODE], root: [LeafAt::default(); NODE] });
        let node = self.nodes[leaf as usize / NODE].get_or_insert_with(empty);
        (node, leaf as usize % NODE)
    }

    /// The map as a checkpoint has it: the leaves that it names, and their places.
    pub(crate) fn set_root(&mut self, root: &[(u32, LeafAt)]) {
        assert!(self.frames.is_empty(), "the root is set before leaves are loaded");
        for &(leaf, at) in root {
            let (node, i) = self.node_mut(leaf);
            node.root[i] = at;
        }
    }

    /// The leaves that lie on the device or are in memory, in order, and their places on the
    /// device.
    pub(crate) fn root(&self) -> impl DoubleEndedIterator<Item = (u32, LeafAt)> + '_ {
        self.root_from(0)
    }

    /// Those of a leaf and the ones behind it.
    fn root_from(&self, leaf: u32) -> impl DoubleEndedIterator<Item = (u32, LeafAt)> + '_ {
        let nodes = self.nodes.iter().enumerate().skip(leaf as usize / NODE);
        let nodes = nodes.filter_map(|(number, node)| Some((number * NODE, node.as_deref()?)));
        let leaves = nodes.flat_map(|(first, node)| {
            let there = node.root.iter().zip(&node.frames).enumerate();
            let there = there.filter(|(_, (at, frame))| at.page != 0 || **frame != 0);
            there.map(move |(i, (at, _))| ((first + i) as u32, *at))
        });
        leaves.filter(move |(number, _)| *number >= leaf)
    }

    /// The first leaf from this one on that lies on the device or is in memory.
    pub(crate) fn next_leaf(&self, from: u32) -> Option<u32> {
        self.root_from(from).next().map(|(leaf, _)| leaf)
    }

    /// The last leaf that lies on the device or is in memory.
    pub(crate) fn last_leaf(&self) -> Option<u32> {
        self.root().next_back().map(|(leaf, _)| leaf)
    }

    /// The place of a leaf on the device.
    pub(crate) fn at(&self, leaf: u32) -> LeafAt {
        self.node(leaf).map_or_else(LeafAt::default, |(node, i)| node.root[i])
    }

    /// Number of leaves in memory.
    pub(crate) fn resident(&self) -> usize {
        self.frames.len()
    }

    /// Bytes of the leaves in memory.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.bytes
    }

    /// The index of a leaf's frame, if it is in memory.
    fn frame(&self, leaf: u32) -> Option<u32> {
        self.node(leaf).and_then(|(node, i)| node.frames[i].checked_sub(1))
    }

    /// True if the leaf is in memory.
    pub(crate) fn has(&self, leaf: u32) -> bool {
        self.frame(leaf).is_some()
    }

    /// The position of the row of a page's image, if its leaf is in memory.
    pub(crate) fn position(&self, page: u32) -> Option<Position> {
        let (leaf, index) = self.shape.place_in_leaf(page);
        Some(Position { frame: self.frame(leaf)?, leaf, index, kind: RecordKind::Image })
    }

    /// True if a position that was found before still holds.
    pub(crate) fn is_there(&self, at: Position) -> bool {
        self.frames.get(at.frame as usize).is_some_and(|frame| frame.leaf == at.leaf)
    }

    /// Takes a leaf into memory: that which lies where the root says, or one that holds nothing.
    /// `clamp` keeps the stamps of a leaf that was written long before `now` from growing too old.
    pub(crate) fn insert(
        &mut self,
        leaf: u32,
        bytes: Option<Leaf>,
        now: u64,
        clamp: impl Fn(&mut StoredState, u32),
    ) {
        assert!(!self.has(leaf), "leaf {leaf} is in memory");
        let mut at = if bytes.is_some() { self.at(leaf).time } else { now };
        let mut bytes = bytes.unwrap_or_else(|| Leaf::new(self.shape));
        // As the volume would have done, had the leaf been in memory all the time. Stamps have 32
        // bits, and after the first round of these each comes to the same.
        let step = u64::from(Stamp::HORIZON);
        at += (now.saturating_sub(at) >> 32).saturating_sub(1) << 32;
        while now.saturating_sub(at) > step {
            at += step;
            bytes.each_state(self.shape, &mut |state| clamp(state, at as u32));
        }
        self.bytes += bytes.bytes();
        self.frames.push(Frame { leaf, bytes, dirty: false, held: false, used: true });
        let frame = self.frames.len() as u32;
        let (node, i) = self.node_mut(leaf);
        node.frames[i] = frame;
    }

    /// Leaves that changed since they were last taken, or `all` in memory, in order. They count as
    /// unchanged from now on, and stay in memory until they are [written](MapCache::written).
    pub(crate) fn take(&mut self, all: bool) -> Vec<(u32, Leaf)> {
        let wanted = self.frames.iter_mut().filter(|frame| all || frame.dirty);
        let mut taken: Vec<_> = wanted
            .map(|frame| {
                (frame.dirty, frame.held) = (false, true);
                (frame.leaf, frame.bytes.clone())
            })
            .collect();
        taken.sort_unstable_by_key(|&(leaf, _)| leaf);
        debug_assert!(taken.is_sorted_by(|a, b| a.0 < b.0), "a leaf is in one frame");
        taken
    }

    /// A leaf that was taken is on the device.
    pub(crate) fn written(&mut self, leaf: u32, at: LeafAt) {
        let (node, i) = self.node_mut(leaf);
        node.root[i] = at;
        let frame = self.frame(leaf).map(|frame| &mut self.frames[frame as usize]);
        let frame = frame.filter(|frame| frame.held);
        assert!(frame.is_some(), "leaf {leaf} left memory while it was written");
        frame.into_iter().for_each(|frame| frame.held = false);
    }

    /// A leaf that lay at `from` was copied on the device, unless it has been written since.
    pub(crate) fn moved(&mut self, leaf: u32, from: LeafAt, to: LeafAt) {
        assert_ne!(to.page, 0, "a superblock is in page 0, and no leaf");
        let (node, i) = self.node_mut(leaf);
        if node.root[i] == from {
            node.root[i] = to;
        }
    }

    /// Drops a leaf that was not used for a while.
    pub(crate) fn evict(&mut self) -> Evicted {
        for _ in 0..2 * self.frames.len() {
            self.hand = if self.hand + 1 < self.frames.len() { self.hand + 1 } else { 0 };
            let frame = &mut self.frames[self.hand];
            if frame.held || std::mem::take(&mut frame.used) {
                continue;
            }
            debug_assert!(frame.leaf as usize / NODE < self.nodes.len(), "a leaf of the map");
            if frame.dirty {
                (frame.dirty, frame.held) = (false, true);
                return Evicted::Changed(frame.leaf, frame.bytes.clone());
            }
            self.drop_frame(self.hand);
            return Evicted::Gone;
        }
        Evicted::Nothing
    }

    /// Drops leaves that did not change until those in memory take no more than `most` bytes.
    pub(crate) fn drop_clean(&mut self, most: usize) {
        let mut at = self.frames.len();
        while self.bytes > most && at > 0 {
            at -= 1;
            if !self.frames[at].dirty && !self.frames[at].held {
                self.drop_frame(at);
            }
        }
    }

    /// Drops a leaf if it is in memory and did not change.
    pub(crate) fn let_go(&mut self, leaf: u32) {
        if let Some(frame) = self.frame(leaf) {
            let Frame { dirty, held, .. } = self.frames[frame as usize];
            if !dirty && !held {
                self.drop_frame(frame as usize);
            }
        }
    }

    /// Drops the leaf of a frame. The last frame moves into its place.
    fn drop_frame(&mut self, at: usize) {
        let Frame { leaf, bytes, dirty, held, .. } = self.frames.swap_remove(at);
        assert!(!dirty && !held, "leaf {leaf} is dropped before it is written");
        assert!(bytes.bytes() <= self.bytes, "more bytes are dropped than there are");
        self.bytes -= bytes.bytes();
        let (node, i) = self.node_mut(leaf);
        assert_eq!(node.frames[i] as usize, at + 1, "leaf {leaf} is in another frame");
        node.frames[i] = 0;
        if let Some(moved) = self.frames.get(at).map(|moved| moved.leaf) {
            let was = self.frames.len() + 1;
            let (node, i) = self.node_mut(moved);
            assert_eq!(node.frames[i] as usize, was, "the last frame has leaf {moved}");
            node.frames[i] = at as u32 + 1;
        }
    }

    /// The leaf that has a record.
    fn leaf_of(&self, at: Position) -> &Leaf {
        let frame = &self.frames[at.frame as usize];
        assert_eq!(frame.leaf, at.leaf, "leaf {} moved", at.leaf);
        &frame.bytes
    }

    /// The map's row of a record.
    pub(crate) fn row(&self, at: Position) -> LeafRow {
        self.leaf_of(at).row(self.shape, at.index, at.kind)
    }

    /// The place of a record.
    pub(crate) fn place(&self, at: Position) -> LeafPlace {
        self.leaf_of(at).place(self.shape, at.index, at.kind)
    }

    /// The places of the image, the delta and the tail of a record's page.
    pub(crate) fn places_of_page(&self, at: Position) -> [LeafPlace; 3] {
        self.leaf_of(at).records_of(self.shape, at.index)
    }

    /// Changes what the map has of a record.
    pub(crate) fn set(&mut self, at: Position, row: &LeafRow) {
        let frame = &mut self.frames[at.frame as usize];
        assert_eq!(frame.leaf, at.leaf, "leaf {} moved", at.leaf);
        (frame.dirty, frame.used) = (true, true);
        let before = frame.bytes.bytes();
        assert!(before <= self.bytes, "a leaf has more bytes than all");
        frame.bytes.set(self.shape, at.index, at.kind, row);
        self.bytes = self.bytes + frame.bytes.bytes() - before;
    }

    /// A leaf, if it is in memory.
    pub(crate) fn get(&self, leaf: u32) -> Option<&Leaf> {
        self.frame(leaf).map(|frame| &self.frames[frame as usize].bytes)
    }

    /// The leaf that lies in these pages, if they are one.
    pub(crate) fn leaf_of_pages(&self, pages: &[u8]) -> Option<Leaf> {
        Leaf::of_pages(self.shape, pages)
    }

    /// The records whose places a leaf has.
    pub(crate) fn records<'a>(
        &'a self,
        leaf: u32,
        bytes: &'a Leaf,
    ) -> impl Iterator<Item = MappedRecord> + 'a {
        let first = self.shape.pages_of_leaf(leaf).start;
        bytes.records(self.shape).map(move |(index, kind, LeafPlace { slot, units, sum })| {
            let page = first + index as u64;
            let lba = match page < self.pages {
                true => self.sizes.lba(page as u32, kind).unwrap_or(u64::MAX),
                false => u64::MAX,
            };
            MappedRecord { lba, slot, units, sum }
        })
    }

    /// The leaves from this one on, and how many pages each has, if that is known.
    pub(crate) fn counts_from(&self, leaf: u32) -> impl Iterator<Item = (u32, Option<u32>)> + '_ {
        self.root_from(leaf).map(|(leaf, at)| {
            let resident = self.get(leaf).map(|bytes| bytes.pages(self.shape).count() as u32);
            (leaf, resident.or(at.count()))
        })
    }

    /// The pages that a leaf has.
    pub(crate) fn pages<'a>(
        &'a self,
        leaf: u32,
        bytes: &'a Leaf,
    ) -> impl Iterator<Item = u32> + 'a {
        let first = self.shape.pages_of_leaf(leaf).start;
        bytes.pages(self.shape).map(move |index| (first + index as u64) as u32)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        let nodes = self.nodes.iter().flatten().count() * size_of::<Node>();
        let frames = self.frames.capacity() * size_of::<Frame>();
        self.bytes + frames + nodes + self.nodes.len() * size_of::<Option<Box<Node>>>()
    }
}

impl Map<StoredState> for MapCache {
    fn space(&self) -> u64 {
        self.sizes.lbas(self.pages)
    }

    fn reach(&self) -> u64 {
        let Some(leaf) = self.last_leaf() else { return 0 };
        let last = self.shape.pages_of_leaf(leaf).end.min(self.pages) - 1;
        let last_lba = |page: u64| {
            let page = page as u32;
            self.sizes.tail_of(page).unwrap_or(page.into())
        };
        let reach = match self.get(leaf) {
            Some(bytes) => {
                self.records(leaf, bytes).map(|record| record.lba + 1).max().unwrap_or(0)
            }
            None => last_lba(last) + 1,
        };
        // Leaves before it may have tails, whose LBAs are above those of all pages and deltas.
        let before = self
            .shape
            .pages_of_leaf(leaf)
            .start
            .checked_sub(1)
            .map_or(0, |page| last_lba(page) + 1);
        reach.max(before)
    }

    fn peek(&self, lba: u64) -> Option<StoredState> {
        let at = self.position(self.sizes.page_of(lba))?.of_kind(self.sizes.kind(lba));
        let PageEntry { slot, page } = self.row(at).entry;
        (slot.zone != 0).then_some(page)
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut StoredState)) {
        for frame in &mut self.frames {
            frame.bytes.each_state(self.shape, visit);
        }
    }
}
