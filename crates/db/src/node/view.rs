//! Reads of a node, with or without its latch.

use std::cmp::Ordering;

use super::layout::*;
use super::page::{HINT_COUNT, PAGE_BYTES, PageBytes, low_bytes, up_to_eight};
use super::slot::Slot;

/// A B+-tree's node in a page. If the page can change during a read, the result is valid only after
/// the latch's version was checked.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    page: &'a PageBytes,
}

/// The first 31 bits of a key without its prefix, as a number that orders as they do.
#[inline]
pub(super) fn head_of(key: &[u8]) -> u32 {
    head_of_word(first_eight(key))
}

/// The head in a slot's word, or in the first eight bytes of a key.
#[inline(always)]
fn head_of_word(word: u64) -> u32 {
    (word >> 33) as u32
}

/// The first eight bytes of a key, with zeroes behind its end, as a number that orders as they do.
#[inline(always)]
fn first_eight(key: &[u8]) -> u64 {
    up_to_eight(&key[..key.len().min(8)]).swap_bytes()
}

impl<'a> Node<'a> {
    /// The node in a page.
    #[inline]
    pub(crate) fn of(page: &'a PageBytes) -> Self {
        Node { page }
    }

    /// The page.
    #[inline]
    pub(crate) fn page(self) -> &'a PageBytes {
        self.page
    }

    /// User page writes of the database when the page was written last, and one; 0 if it never was.
    pub(crate) fn written(&self) -> u64 {
        self.page.u64_at(WRITTEN)
    }

    /// Log position of the page's last change.
    #[inline]
    pub(crate) fn position(self) -> u64 {
        self.page.u64_at(POSITION)
    }

    /// All log records up to here that concern the node are in it.
    pub(crate) fn included(self) -> u64 {
        match self.page.u32_at(BEHIND) {
            u32::MAX => 0,
            behind => self.position().saturating_sub(u64::from(behind)),
        }
    }

    /// The root of the node's tree.
    pub(crate) fn tree(self) -> u32 {
        self.page.u32_at(TREE)
    }

    /// Levels below this one: 0 for a leaf.
    #[inline]
    pub(crate) fn level(self) -> usize {
        usize::from((self.page.u16_at(STEPS_AND_LEVEL) & !SHRUNK) >> 8)
    }

    /// True if a record was removed or became shorter since the log had an image of the node. If
    /// not, an older state that recovery may find has no record that this one lacks, and none that
    /// is longer here.
    pub(crate) fn has_shrunk(self) -> bool {
        self.page.u16_at(STEPS_AND_LEVEL) & SHRUNK != 0
    }

    /// The number of slots.
    #[inline]
    pub(crate) fn count(self) -> usize {
        usize::from(self.page.u16_at(COUNT))
    }

    /// The number of ghosts among the slots.
    pub(crate) fn ghosts(self) -> usize {
        usize::from(self.page.u16_at(GHOSTS))
    }

    /// Bytes of the prefix that is left out of all keys.
    #[inline]
    pub(crate) fn prefix_len(self) -> usize {
        usize::from(self.page.u16_at(PREFIX))
    }

    /// Appends the prefix to `into`.
    pub(crate) fn prefix(self, into: &mut Vec<u8>) {
        let at = usize::from(self.page.u16_at(LOWER));
        self.page.append_to(at, self.prefix_len(), into);
    }

    /// Puts the lower fence into `into`: no key of the node is smaller.
    pub(crate) fn lower(self, into: &mut Vec<u8>) {
        into.clear();
        let (at, len) = (self.page.u16_at(LOWER), self.page.u16_at(LOWER + 2));
        self.page.append_to(usize::from(at), usize::from(len), into);
    }

    /// Puts the upper fence into `into`: all keys of the node are smaller. False if it is
    /// infinite.
    pub(crate) fn upper(self, into: &mut Vec<u8>) -> bool {
        into.clear();
        let (at, len) = (self.page.u16_at(UPPER), self.page.u16_at(UPPER + 2));
        self.page.append_to(usize::from(at), usize::from(len), into);
        at != 0
    }

    /// True for each fence if it is this one; no upper one is infinity.
    pub(crate) fn has_fences(self, lower: &[u8], upper: Option<&[u8]>) -> (bool, bool) {
        let is = |field: usize, fence: &[u8]| {
            let (at, len) = (self.page.u16_at(field), self.page.u16_at(field + 2));
            self.page.compare(usize::from(at), usize::from(len), fence).is_eq()
        };
        let is_infinite = self.page.u16_at(UPPER) == 0;
        let is_upper = upper.map_or(is_infinite, |upper| !is_infinite && is(UPPER, upper));
        (is(LOWER, lower), is_upper)
    }

    /// True if a key lies between the fences.
    #[inline]
    pub(crate) fn covers(self, key: &[u8]) -> bool {
        let fence = |field: usize| {
            let (at, len) = (self.page.u16_at(field), self.page.u16_at(field + 2));
            (usize::from(at), usize::from(len))
        };
        let ((lower, lower_len), (upper, upper_len)) = (fence(LOWER), fence(UPPER));
        self.page.compare(lower, lower_len, key).is_le()
            && (upper == 0 || self.page.compare(upper, upper_len, key).is_gt())
    }

    /// The slot of this index.
    #[inline]
    pub(crate) fn slot(self, index: usize) -> Slot {
        Slot::of_word(self.page.u64_at(SLOTS + index * SLOT))
    }

    /// The head of a slot's key.
    #[inline(always)]
    pub(super) fn head(self, index: usize) -> u32 {
        head_of_word(self.page.u64_at(SLOTS + index * SLOT))
    }

    /// The first slot that is not smaller than `key`, which lies between the fences, and whether it
    /// is equal.
    #[inline]
    pub(crate) fn search(self, key: &[u8]) -> (usize, bool) {
        let Some(key) = key.get(self.prefix_len()..) else { return (0, false) };
        let eight = first_eight(key);
        let head = head_of_word(eight);
        let (mut low, mut high) = self.between_hints(head);
        while low < high {
            let middle = low.midpoint(high);
            let word = self.page.u64_at(SLOTS + middle * SLOT);
            let ordering = match head_of_word(word).cmp(&head) {
                Ordering::Equal => {
                    let slot = Slot::of_word(word);
                    self.compare_key(slot.offset, slot.key, key, eight)
                }
                unequal => unequal,
            };
            match ordering {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return (middle, true),
                Ordering::Greater => high = middle,
            }
        }
        (low, false)
    }

    /// Compares the key in a slot with `key`, whose first eight bytes are `eight`: most keys that
    /// begin with the same head differ in the next four bytes.
    #[inline(always)]
    fn compare_key(self, at: usize, len: usize, key: &[u8], eight: u64) -> Ordering {
        let mine = match len {
            0 => 0,
            _ => (self.page.eight_at(at) & low_bytes(len.min(8))).swap_bytes(),
        };
        match mine.cmp(&eight) {
            Ordering::Equal if len > 8 && key.len() > 8 => {
                self.page.compare(at + 8, len - 8, &key[8..])
            }
            Ordering::Equal => len.cmp(&key.len()),
            unequal => unequal,
        }
    }

    /// The slots among which one with this head can be, or where it belongs.
    #[inline]
    fn between_hints(self, head: u32) -> (usize, usize) {
        // A count that is being changed can't be larger than a page has slots.
        let count = self.count().min((PAGE_BYTES - SLOTS) / SLOT);
        let step = count / (HINT_COUNT + 1);
        if step == 0 {
            return (0, count);
        }
        let hint = |index: usize| self.page.hint(index);
        let mut first = 0;
        for steps in [8, 4, 2, 1] {
            first += if hint(first + steps - 1) < head { steps } else { 0 };
        }
        first += usize::from(hint(first) < head);
        let mut last = first;
        while last < HINT_COUNT && hint(last) == head {
            last += 1;
        }
        let high = if last < HINT_COUNT { ((last + 1) * step + 1).min(count) } else { count };
        (first * step, high)
    }

    /// The index of the child whose keys `key`, which lies between the fences, belongs to.
    #[inline]
    pub(crate) fn child_index(self, key: &[u8]) -> usize {
        match self.search(key) {
            (index, true) => index,
            (index, false) => index.saturating_sub(1),
        }
    }

    /// The page number of a child.
    #[inline]
    pub(crate) fn child(self, index: usize) -> u32 {
        self.page.eight_at(self.slot(index).value_at()) as u32
    }

    /// Appends a record's key, prefix included, to `into`.
    pub(crate) fn key(self, index: usize, into: &mut Vec<u8>) {
        self.prefix(into);
        let slot = self.slot(index);
        self.page.append_to(slot.offset, slot.key, into);
    }

    /// Appends a record's value to `into`.
    #[inline]
    pub(crate) fn value(self, slot: Slot, into: &mut Vec<u8>) {
        self.page.append_to(slot.value_at(), slot.value_len(), into);
    }

    /// Bytes free for a record and its slot, if the heap is tidied up.
    #[inline]
    pub(crate) fn room(self) -> usize {
        let taken = SLOTS + self.count() * SLOT + usize::from(self.page.u16_at(LIVE));
        PAGE_BYTES.saturating_sub(taken)
    }

    /// Bytes of the heap that no record has: an image has them as well, until a record needs them.
    pub(crate) fn holes(self) -> usize {
        let heap = PAGE_BYTES.saturating_sub(usize::from(self.page.u16_at(HEAP)));
        heap.saturating_sub(usize::from(self.page.u16_at(LIVE)))
    }

    /// True if the content takes at most half of the page, so that another may have room for it.
    pub(crate) fn is_sparse(self) -> bool {
        self.room() >= (PAGE_BYTES - SLOTS) / 2
    }

    /// True if the node has sunk since it had `room` bytes free, so that it should be visited: by
    /// an eighth of the page, to half of it or less, or to one child, or none of its records is
    /// left.
    pub(crate) fn has_sunk(self, room: usize) -> bool {
        let eighths = |room: usize| room / ((PAGE_BYTES - SLOTS) / 8);
        let is_bare = self.count() <= self.level().min(1);
        self.room() > room && self.is_sparse() && (is_bare || eighths(self.room()) > eighths(room))
    }

    /// Bytes of both fences.
    pub(crate) fn fence_bytes(self) -> usize {
        [LOWER, UPPER].into_iter().map(|field| usize::from(self.page.u16_at(field + 2))).sum()
    }

    /// Bytes that the slots and the records take in a node with a prefix of this length, which is
    /// no longer than its own.
    pub(crate) fn bytes_with_prefix(self, prefix: usize) -> usize {
        let taken = (PAGE_BYTES - SLOTS).saturating_sub(self.room() + self.fence_bytes());
        taken + self.count() * self.prefix_len().saturating_sub(prefix)
    }

    /// Bytes of keys and values, without ghosts', and without slots and fences.
    pub(crate) fn valid_bytes(self) -> usize {
        let slots = (0..self.count()).map(|index| self.slot(index));
        slots.filter(|slot| !slot.is_ghost()).map(Slot::bytes).sum()
    }

    /// True if all offsets are valid and slots are in order. A page that was read from a device
    /// must pass this check before its other contents are used.
    pub(crate) fn is_sound(self) -> bool {
        let (count, heap) = (self.count(), usize::from(self.page.u16_at(HEAP)));
        let slots_end = SLOTS + count * SLOT;
        if slots_end > heap || heap > PAGE_BYTES || self.level() > 32 {
            return false;
        }
        let inside = |at: usize, len: usize| at >= heap && at + len <= PAGE_BYTES;
        let fence = |field: usize| {
            let at = usize::from(self.page.u16_at(field));
            (at, usize::from(self.page.u16_at(field + 2)))
        };
        let ((lower, lower_len), (upper, upper_len)) = (fence(LOWER), fence(UPPER));
        let mut live = lower_len + upper_len;
        let prefix = self.prefix_len();
        let fences = inside(lower, lower_len)
            && (upper == 0 && upper_len == 0 && prefix == 0
                || inside(upper, upper_len) && prefix <= upper_len)
            && prefix <= lower_len
            && lower_len.max(upper_len) <= LONGEST_KEY;
        if !fences {
            return false;
        }
        let is_inner = self.level() > 0;
        let (mut ghosts, mut last) = (0, 0);
        for index in 0..count {
            let (slot, head) = (self.slot(index), self.head(index));
            let is_child = slot.value == 4;
            if !inside(slot.offset, slot.bytes()) || (is_inner && !is_child) || head < last {
                return false;
            }
            last = head;
            live += slot.bytes();
            ghosts += usize::from(slot.is_ghost());
        }
        live == usize::from(self.page.u16_at(LIVE))
            && ghosts == self.ghosts()
            && slots_end + live <= PAGE_BYTES
            && (!is_inner || count > 0)
    }
}
