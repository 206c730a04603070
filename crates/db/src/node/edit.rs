//! Changes of a node: in a private page, or in a frame whose latch is held.

use frostline_placement::{Activity, Hotness};
use frostline_store::ChangedWords;

use super::layout::*;
use super::page::{HINT_COUNT, PAGE_BYTES, PageBytes};
use super::slot::{Record, Slot};
use super::view::{Node, head_of};

/// A node that is being changed: in a page of the caller's own, or in a frame whose latch the
/// caller holds. No other thread changes it meanwhile.
pub(crate) struct NodeMut<'a> {
    page: &'a PageBytes,
}

/// A page's fences: its keys are not smaller than `lower`, and smaller than `upper` if there is
/// one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fences<'a> {
    /// The smallest key that may be in the page.
    pub lower: &'a [u8],
    /// The smallest key that may no longer be in the page; none is infinity.
    pub upper: Option<&'a [u8]>,
}

impl Fences<'_> {
    /// Bytes that all keys between the fences begin with.
    fn prefix_len(&self) -> usize {
        let Some(upper) = self.upper else { return 0 };
        self.lower.iter().zip(upper).take_while(|(a, b)| a == b).count()
    }
}

impl<'a> NodeMut<'a> {
    /// The node in a page.
    pub(crate) fn of(page: &'a PageBytes) -> Self {
        NodeMut { page }
    }

    /// Makes the page an empty node. The hotness that was kept in it stays.
    pub(crate) fn format(page: &'a PageBytes, tree: u32, level: usize, fences: Fences<'_>) -> Self {
        page.clear(TREE..PAGE_BYTES);
        page.set_u64(POSITION, 0);
        page.set_u32(TREE, tree);
        let mut node = NodeMut { page };
        node.set_u16(STEPS_AND_LEVEL, (level as u16) << 8);
        node.set_u16(HEAP, PAGE_BYTES as u16);
        node.set_u16(PREFIX, fences.prefix_len() as u16);
        node.set_fence(LOWER, fences.lower);
        if let Some(upper) = fences.upper {
            node.set_fence(UPPER, upper);
        }
        node
    }

    fn set_fence(&mut self, field: usize, fence: &[u8]) {
        let at = self.allocate(fence.len());
        self.page.write(at, fence);
        // An empty fence at the end of the page is none.
        self.set_u16(field, at as u16);
        self.set_u16(field + 2, fence.len() as u16);
    }

    /// A read-only view.
    #[inline]
    pub(crate) fn node(&self) -> Node<'_> {
        Node::of(self.page)
    }

    #[inline]
    fn u16(&self, at: usize) -> usize {
        usize::from(self.page.u16_at(at))
    }

    #[inline]
    fn set_u16(&mut self, at: usize, value: u16) {
        self.page.set_u16(at, value);
    }

    /// The log position of the latest change is at least `position`.
    #[inline]
    pub(crate) fn raise_position(&mut self, position: u64) {
        if self.node().position() < position {
            self.set_position(position, self.node().included());
        }
    }

    /// All log records up to here that concern the node are in it.
    pub(crate) fn include(&mut self, up_to: u64) {
        let included = self.node().included().max(up_to);
        self.set_position(self.node().position().max(included), included);
    }

    /// Of the log records from `position` on some that concern the node may not be in it.
    pub(crate) fn exclude(&mut self, position: u64) {
        if self.node().included() >= position {
            self.set_position(self.node().position(), position.saturating_sub(1));
        }
    }

    #[inline]
    fn set_position(&mut self, position: u64, included: u64) {
        self.page.set_u64(POSITION, position);
        debug_assert!(included <= position, "a change that is in the page is behind its last one");
        let behind = u32::try_from(position - included).unwrap_or(u32::MAX);
        self.page.set_u32_unmarked(BEHIND, behind);
    }

    /// Marks the field of the page that is changed without, if it is not what it mostly is, or the
    /// delta has what it was. Called before each write, and for each new base: in a page in which
    /// it is not marked it is 0, and in its base.
    pub(crate) fn mark_behind(&mut self) {
        if self.page.u32_at(BEHIND) != 0 || self.page.is_in_delta(BEHIND) {
            self.page.mark_word(BEHIND);
        }
    }

    /// Takes bytes off the heap, which has them.
    fn allocate(&mut self, len: usize) -> usize {
        let slots_end = SLOTS + self.u16(COUNT) * SLOT;
        assert!(slots_end + len <= self.u16(HEAP), "the heap grows into the slots");
        let at = self.u16(HEAP) - len;
        self.set_u16(HEAP, at as u16);
        self.set_u16(LIVE, (self.u16(LIVE) + len) as u16);
        at
    }

    /// True if a record of these lengths (key with its prefix) fits.
    pub(crate) fn fits(&self, key: usize, value: usize) -> bool {
        self.node().room() >= SLOT + key - self.u16(PREFIX) + value
    }

    /// Inserts a record before slot `index`, where its key belongs. False, and nothing changed,
    /// if it does not fit.
    pub(crate) fn insert(&mut self, index: usize, key: &[u8], record: Record<'_>) -> bool {
        if !self.fits(key.len(), record.value.len()) {
            return false;
        }
        let bytes = key.len() - self.u16(PREFIX) + record.value.len();
        let slots_end = SLOTS + self.u16(COUNT) * SLOT;
        if self.u16(HEAP) - slots_end < bytes + SLOT {
            self.tidy();
        }
        assert!(index <= self.u16(COUNT), "a record is inserted among the others");
        self.note_insertion(index);
        self.page.insert_word(SLOTS / SLOT + index, slots_end / SLOT);
        self.set_u16(COUNT, self.u16(COUNT) as u16 + 1);
        self.fill_slot(index, &key[self.u16(PREFIX)..], record);
        self.set_hints(index);
        true
    }

    /// Writes a record to the heap, and its slot.
    fn fill_slot(&mut self, index: usize, key: &[u8], record: Record<'_>) {
        let bytes = key.len() + record.value.len();
        let offset = self.allocate(bytes);
        self.page.write(offset, key);
        self.page.write(offset + key.len(), record.value);
        self.set_slot(index, Slot::new(offset, key.len(), record), head_of(key));
        if record.flags == GHOST {
            self.set_u16(GHOSTS, self.u16(GHOSTS) as u16 + 1);
        }
    }

    fn set_slot(&mut self, index: usize, slot: Slot, head: u32) {
        self.page.set_u64(SLOTS + index * SLOT, slot.word(head));
    }

    /// Changes what a slot has besides the head.
    fn alter_slot(&mut self, index: usize, slot: Slot) {
        self.set_slot(index, slot, self.node().head(index));
    }

    /// Follows whether records are inserted in ascending order at one place of the page.
    fn note_insertion(&mut self, index: usize) {
        let follows = index == self.u16(ASCENDING) + 1;
        let ascending = if follows { self.steps() + 1 } else { 0 };
        self.set_ascending(index, ascending);
    }

    fn steps(&self) -> usize {
        self.u16(STEPS_AND_LEVEL) & 0xff
    }

    /// The number of insertions up to the last that each came right behind the one before, if the
    /// next is to be inserted at `index`.
    pub(crate) fn ascending(&self, index: usize) -> usize {
        if index == self.u16(ASCENDING) + 1 { self.steps() } else { 0 }
    }

    /// Records slot `last` as the last insertion, the end of a run of `steps` ascending ones, or
    /// more than are counted.
    pub(crate) fn set_ascending(&mut self, last: usize, steps: usize) {
        self.set_u16(ASCENDING, last as u16);
        let level = self.u16(STEPS_AND_LEVEL) & 0xff00;
        self.set_u16(STEPS_AND_LEVEL, (level | steps.min(0xff)) as u16);
    }

    /// Replaces the value of slot `index`, whose key is `key`. False, and nothing changed, if it
    /// does not fit.
    pub(crate) fn set_value(&mut self, index: usize, key: &[u8], record: Record<'_>) -> bool {
        let slot = self.node().slot(index);
        if slot.value_len() == record.value.len() {
            let at = slot.value_at();
            self.page.write(at, record.value);
            self.set_flags(index, record.flags);
            return true;
        }
        let has = self.node().room() + slot.bytes();
        if has < slot.key_len() + record.value.len() {
            return false;
        }
        if record.value.len() < slot.value_len() {
            self.note_shrinking();
        }
        self.forget(index);
        let slots_end = SLOTS + self.u16(COUNT) * SLOT;
        if self.u16(HEAP) - slots_end < slot.key_len() + record.value.len() {
            self.tidy();
        }
        self.fill_slot(index, &key[self.u16(PREFIX)..], record);
        true
    }

    /// The node [has shrunk](Node::has_shrunk).
    fn note_shrinking(&mut self) {
        self.set_u16(STEPS_AND_LEVEL, self.page.u16_at(STEPS_AND_LEVEL) | SHRUNK);
    }

    /// This node has some of the records of another: it has shrunk if that had.
    pub(crate) fn be_part_of(&mut self, other: Node<'_>) {
        if other.has_shrunk() {
            self.note_shrinking();
        }
    }

    /// Gives the record's bytes back to the heap; its slot stays, empty.
    fn forget(&mut self, index: usize) {
        assert!(index < self.u16(COUNT), "slot {index} is forgotten, and is none");
        let slot = self.node().slot(index);
        self.set_u16(LIVE, (self.u16(LIVE) - slot.bytes()) as u16);
        self.set_u16(GHOSTS, (self.u16(GHOSTS) - usize::from(slot.is_ghost())) as u16);
        let record = Record { value: &[], flags: 0 };
        self.alter_slot(index, Slot::new(slot.offset(), 0, record));
    }

    /// Overwrites bytes of the value of slot `index` from `at`; what lies beyond the value is
    /// left out.
    pub(crate) fn patch(&mut self, index: usize, at: usize, bytes: &[u8]) {
        let slot = self.node().slot(index);
        let len = bytes.len().min(slot.value_len().saturating_sub(at));
        let at = slot.value_at() + at;
        if len > 0 {
            self.page.write(at, &bytes[..len]);
        }
    }

    /// Makes the record of slot `index` a ghost: only its key stays.
    pub(crate) fn bury(&mut self, index: usize) {
        debug_assert_eq!(self.node().level(), 0, "only leaves have ghosts");
        let slot = self.node().slot(index);
        if !slot.is_ghost() {
            self.note_shrinking();
            self.set_u16(LIVE, (self.u16(LIVE) - slot.value_len()) as u16);
            self.alter_slot(index, slot.with_flags(GHOST));
            self.set_u16(GHOSTS, self.u16(GHOSTS) as u16 + 1);
        }
    }

    fn set_flags(&mut self, index: usize, flags: u16) {
        let slot = self.node().slot(index);
        let ghosts = self.u16(GHOSTS) - usize::from(slot.is_ghost());
        self.set_u16(GHOSTS, (ghosts + usize::from(flags == GHOST)) as u16);
        self.alter_slot(index, slot.with_flags(flags));
    }

    /// Removes slot `index`.
    pub(crate) fn remove(&mut self, index: usize) {
        self.note_shrinking();
        self.forget(index);
        let first = SLOTS / SLOT;
        self.page.remove_word(first + index, first + self.u16(COUNT));
        self.set_u16(COUNT, self.u16(COUNT) as u16 - 1);
        self.set_hints(index);
    }

    /// Moves the heap's records together.
    pub(crate) fn tidy(&mut self) {
        let old = self.page.clone();
        let node = Node::of(&old);
        self.set_u16(HEAP, PAGE_BYTES as u16);
        for field in [LOWER, UPPER] {
            let (at, len) = (self.u16(field), self.u16(field + 2));
            if at != 0 {
                let to = self.move_to_heap(&old, at, len);
                self.set_u16(field, to as u16);
            }
        }
        for index in 0..node.count() {
            let slot = node.slot(index);
            let to = self.move_to_heap(&old, slot.offset(), slot.bytes());
            self.alter_slot(index, slot.at(to));
        }
    }

    /// Moves bytes of the old page to the heap, and returns where they are.
    fn move_to_heap(&mut self, old: &PageBytes, at: usize, len: usize) -> usize {
        let to = self.u16(HEAP) - len;
        self.set_u16(HEAP, to as u16);
        self.page.copy_range(to, old, at, len);
        to
    }

    /// Begins with a page that was read, and may differ from its base in these words. False if it
    /// is no node.
    pub(crate) fn arrive(&mut self, bytes: &[u8], mut changed: ChangedWords) -> bool {
        self.page.set(bytes, &ChangedWords::NONE);
        changed.set_shift_number(self.u16(SHIFTS) as u16);
        self.page.set_changed(&changed);
        self.mark_behind();
        let is_sound = self.node().is_sound() && changed.shift_number() == self.u16(SHIFTS) as u16;
        if is_sound {
            self.set_all_hints();
        }
        is_sound
    }

    /// The page is about to be written: it says how many slots were inserted and removed.
    pub(crate) fn depart(&mut self) {
        self.page.note(|changed| changed.set_shift_number_at(SHIFTS as u16));
        self.set_u16(SHIFTS, self.page.changed_words().shift_number());
        self.mark_behind();
    }

    /// Brings all hints up to date, after records were appended.
    pub(crate) fn set_all_hints(&mut self) {
        self.set_hints(0);
    }

    /// Brings the hints up to date after slots from `index` on changed.
    fn set_hints(&mut self, index: usize) {
        let count = self.u16(COUNT);
        let step = count / (HINT_COUNT + 1);
        if step == 0 {
            return;
        }
        // A step that changed moves all hints.
        let before = (count - 1) / (HINT_COUNT + 1);
        let after = (count + 1) / (HINT_COUNT + 1);
        let first =
            if before == step && after == step { (index / step).saturating_sub(1) } else { 0 };
        for hint in first..HINT_COUNT {
            self.page.set_hint(hint, self.node().head((hint + 1) * step));
        }
    }

    /// Appends a record whose key is greater than all others: how nodes are built.
    pub(crate) fn push(&mut self, key: &[u8], record: Record<'_>) -> bool {
        if !self.fits(key.len(), record.value.len()) {
            return false;
        }
        let index = self.u16(COUNT);
        debug_assert!(self.is_behind(index, key), "keys are pushed in order");
        self.set_u16(COUNT, index as u16 + 1);
        self.fill_slot(index, &key[self.u16(PREFIX)..], record);
        true
    }

    /// True if a key is greater than those of all slots before `index`. Needs no hints.
    pub(super) fn is_behind(&self, index: usize, key: &[u8]) -> bool {
        let mut last = Vec::new();
        let before = index.checked_sub(1);
        before.is_none_or(|before| {
            self.node().key(before, &mut last);
            last.as_slice() < key
        })
    }

    /// Appends the records `[from, to)` of another node, ghosts left out if `bury` says so. False
    /// if not all fit.
    pub(crate) fn push_all(
        &mut self,
        other: Node<'_>,
        from: usize,
        to: usize,
        ghosts: bool,
    ) -> bool {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for index in from..to {
            let slot = other.slot(index);
            if slot.is_ghost() && !ghosts {
                continue;
            }
            key.clear();
            value.clear();
            other.key(index, &mut key);
            other.value(slot, &mut value);
            if !self.push(&key, Record { value: &value, flags: slot.flags() }) {
                return false;
            }
        }
        self.set_hints(0);
        true
    }
}

impl NodeMut<'_> {
    /// Stores the page's activity and the time `now` of this write in the page, and returns its
    /// hotness record: the page keeps the activity of its last write.
    pub(crate) fn next_record(&mut self, origin: u32, current: Activity, now: u64) -> Hotness {
        let before = self.page.u64_at(WRITTEN);
        let last = [ACTIVITY, ACTIVITY + 8].map(|at| self.page.u64_at(at).to_le());
        self.page.write(ACTIVITY, bytemuck::bytes_of(&current));
        // 0 stands for a page that was never written.
        self.page.set_u64(WRITTEN, now + 1);
        let lifespan = if before == 0 { 0 } else { (now + 1).saturating_sub(before) as u32 };
        Hotness { origin, lifespan, current, last: bytemuck::cast(last) }
    }

    /// Clears the activity of the page that was here before.
    pub(crate) fn begin_records(&mut self) {
        self.page.clear(WRITTEN..TREE);
    }
}
