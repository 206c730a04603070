//! The bytes of a page, which may change while they are read.
//!
//! A page is an array of words, and every access to it is an atomic load or store of a word.
//! Readers take no latch: they load words while the holder of the latch stores others, and check
//! the latch's version afterwards
//! ([`OptimisticGuard::is_unchanged`](crate::pool::OptimisticGuard::is_unchanged)). Until that
//! check succeeds the loaded values may be of different times. So every offset is taken modulo the
//! page's size, and no read panics.
//!
//! Only one thread at a time stores: the owner of the page, or the holder of its frame's latch. A
//! store of part of a word is therefore a load, a merge and a store.
//!
//! Beside its words a page has two bits for each: those of the page's delta on the device, and
//! those that changed [since](frostline_store::ChangedWords), so that a write may leave out the
//! others; the words that were inserted among others or removed; and hints for the search, which
//! are not on the device.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use frostline_store::ChangedWords;

/// Bytes of a page, as of the store's.
pub(crate) const PAGE_BYTES: usize = 4096;

/// Words of a page.
const WORDS: usize = PAGE_BYTES / 8;

/// Words whose bits are in one number.
const GROUP: usize = 64;

/// The bytes of a page in memory. Numbers are little-endian.
#[derive(bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct PageBytes {
    words: [AtomicU64; WORDS],
    /// A bit for each word that changed since the page's delta, or its base if it has none.
    changed: [AtomicU64; WORDS / GROUP],
    /// A bit for each word that the delta has.
    in_delta: [AtomicU64; WORDS / GROUP],
    /// The words that were inserted or removed since the page's base.
    shifts: [AtomicU64; WORDS / GROUP],
    /// Heads of evenly spaced slots.
    hints: [AtomicU32; HINT_COUNT],
}

/// The number of hints. A search takes steps of halves of it.
pub(super) const HINT_COUNT: usize = 16;

impl PageBytes {
    /// A page of zeroes.
    pub(crate) const fn new() -> PageBytes {
        PageBytes {
            words: [const { AtomicU64::new(0) }; WORDS],
            changed: [const { AtomicU64::new(0) }; WORDS / GROUP],
            in_delta: [const { AtomicU64::new(0) }; WORDS / GROUP],
            shifts: [const { AtomicU64::new(0) }; WORDS / GROUP],
            hints: [const { AtomicU32::new(0) }; HINT_COUNT],
        }
    }

    /// A page of zeroes.
    pub(crate) fn zeroed() -> Box<PageBytes> {
        bytemuck::zeroed_box()
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        u64::from_le(self.words[index % WORDS].load(Relaxed))
    }

    #[inline(always)]
    fn set_word(&self, index: usize, word: u64) {
        let index = index % WORDS;
        let differs = replace(&self.words[index], word.to_le());
        self.mark(index / GROUP, differs << (index % GROUP));
    }

    /// Stores `count` words from `first` on; `number(n)` is the nth, as it lies in memory.
    #[inline(always)]
    fn set_words(&self, first: usize, count: usize, number: impl Fn(usize) -> u64) {
        let (mut at, end) = (first, first + count);
        while at < end {
            let group = at / GROUP;
            let (steps, last) = self.words[at..end.min((group + 1) * GROUP)].as_chunks::<STEP>();
            let (mut differ, mut bit) = (0, at % GROUP);
            for words in steps {
                let mut of_step = 0;
                for (index, word) in words.iter().enumerate() {
                    of_step |= replace(word, number(at - first + index)) << index;
                }
                differ |= of_step << bit;
                (at, bit) = (at + STEP, bit + STEP);
            }
            for word in last {
                differ |= replace(word, number(at - first)) << bit;
                (at, bit) = (at + 1, bit + 1);
            }
            self.mark(group, differ);
        }
    }

    /// Marks words of a group as changed.
    #[inline(always)]
    fn mark(&self, group: usize, words: u64) {
        let changed = &self.changed[group % (WORDS / GROUP)];
        changed.store(changed.load(Relaxed) | words, Relaxed);
    }

    /// Marks a range of words as changed.
    #[inline]
    pub(crate) fn mark_range(&self, words: Range<usize>) {
        for group in words.start / GROUP..words.end.div_ceil(GROUP) {
            let begin = words.start.saturating_sub(group * GROUP);
            let end = (words.end - group * GROUP).min(GROUP);
            self.mark(group, !0 << begin & !0 >> (GROUP - end));
        }
    }

    /// Stores those bits of a word that `mask` has.
    #[inline(always)]
    fn merge(&self, index: usize, mask: u64, bits: u64) {
        self.set_word(index, self.word(index) & !mask | bits & mask);
    }

    /// The number at an even offset.
    #[inline]
    pub(crate) fn u16_at(&self, at: usize) -> u16 {
        (self.word(at / 8) >> (at % 8 * 8)) as u16
    }

    /// The number at an offset that is a multiple of 4.
    #[inline]
    pub(crate) fn u32_at(&self, at: usize) -> u32 {
        (self.word(at / 8) >> (at % 8 * 8)) as u32
    }

    /// The number at an offset that is a multiple of 8.
    #[inline]
    pub(crate) fn u64_at(&self, at: usize) -> u64 {
        self.word(at / 8)
    }

    /// A hint.
    #[inline(always)]
    pub(crate) fn hint(&self, index: usize) -> u32 {
        self.hints[index % HINT_COUNT].load(Relaxed)
    }

    /// The eight bytes from any offset on, as a number.
    #[inline]
    pub(crate) fn eight_at(&self, at: usize) -> u64 {
        joined(self.word(at / 8), self.word(at / 8 + 1), at % 8 * 8)
    }

    /// Compares the bytes `[at, at + len)` with `other`.
    #[inline(always)]
    pub(crate) fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering {
        let (numbers, rest) = other[..len.min(other.len())].as_chunks::<8>();
        let (mut index, shift) = (at / 8, at % 8 * 8);
        let mut low = self.word(index);
        // Each word is loaded once, and gives the end of eight bytes and the beginning of the next.
        let mut next_eight = || {
            index += 1;
            let high = self.word(index);
            let eight = joined(low, high, shift);
            low = high;
            eight
        };
        for theirs in numbers {
            let (mine, theirs) = (next_eight(), u64::from_le_bytes(*theirs));
            if mine != theirs {
                return mine.swap_bytes().cmp(&theirs.swap_bytes());
            }
        }
        if !rest.is_empty() {
            let (mine, theirs) = (next_eight() & low_bytes(rest.len()), up_to_eight(rest));
            if mine != theirs {
                return mine.swap_bytes().cmp(&theirs.swap_bytes());
            }
        }
        len.cmp(&other.len())
    }

    /// Appends the bytes `[at, at + len)`, as far as they lie in the page, to `into`.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn append_to(&self, at: usize, len: usize, into: &mut Vec<u8>) {
        let at = at.min(PAGE_BYTES);
        let len = len.min(PAGE_BYTES - at);
        // Whole words are stored: the last may have more than is wanted.
        into.reserve(len + 8);
        let of_first = 8 - at % 8;
        let words = len.saturating_sub(of_first).div_ceil(8);
        // SAFETY: There is room for `len + 8` bytes behind the vector's: eight are stored at the
        // first of them, and whole words from `of_first` on, which end less than eight bytes behind
        // the `len` bytes that these stores initialise.
        unsafe {
            let room = into.as_mut_ptr().add(into.len());
            room.cast::<[u8; 8]>().write(self.eight_at(at).to_le_bytes());
            if words > 0 {
                load_all(&self.words[at / 8 + 1..][..words], room.add(of_first).cast());
            }
            into.set_len(into.len() + len);
        }
    }

    /// Copies the whole page to bytes that no other thread sees.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn copy_to(&self, bytes: &mut [u8; PAGE_BYTES]) {
        // SAFETY: the bytes are as many as those of all words.
        unsafe { load_all(&self.words, bytes.as_mut_ptr().cast()) };
    }
}

/// Stores. Those of one thread at a time, see above.
impl PageBytes {
    /// Sets the number at an even offset.
    #[inline]
    pub(crate) fn set_u16(&self, at: usize, value: u16) {
        debug_assert!(at.is_multiple_of(2) && at < PAGE_BYTES, "a number of 2 bytes at {at}");
        let shift = at % 8 * 8;
        self.merge(at / 8, 0xffff << shift, u64::from(value) << shift);
    }

    /// Sets the number at an offset that is a multiple of 4.
    #[inline]
    pub(crate) fn set_u32(&self, at: usize, value: u32) {
        debug_assert!(at.is_multiple_of(4) && at < PAGE_BYTES, "a number of 4 bytes at {at}");
        let shift = at % 8 * 8;
        self.merge(at / 8, 0xffff_ffff << shift, u64::from(value) << shift);
    }

    /// The same, and leaves the word unmarked. It must be [marked](Self::mark_word) before the page
    /// is written, if the base may have another value.
    #[inline]
    pub(crate) fn set_u32_unmarked(&self, at: usize, value: u32) {
        let (index, shift) = (at / 8, at % 8 * 8);
        let word = self.word(index) & !(0xffff_ffff << shift) | u64::from(value) << shift;
        self.words[index % WORDS].store(word.to_le(), Relaxed);
    }

    /// Sets the number at an offset that is a multiple of 8.
    #[inline]
    pub(crate) fn set_u64(&self, at: usize, value: u64) {
        debug_assert!(at.is_multiple_of(8) && at < PAGE_BYTES, "a number of 8 bytes at {at}");
        self.set_word(at / 8, value);
    }

    /// Sets a hint.
    #[inline]
    pub(crate) fn set_hint(&self, index: usize, head: u32) {
        self.hints[index % HINT_COUNT].store(head, Relaxed);
    }

    fn copy_hints(&self, other: &PageBytes) {
        (0..HINT_COUNT).for_each(|index| self.set_hint(index, other.hint(index)));
    }

    /// Sets the bytes from `at` on.
    #[inline]
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= PAGE_BYTES, "bytes end behind their page");
        let (mut index, begin) = (at / 8, at % 8);
        let mut bytes = bytes;
        if begin > 0 && !bytes.is_empty() {
            let (first, rest) = bytes.split_at(bytes.len().min(8 - begin));
            let mask = low_bytes(first.len()) << (begin * 8);
            self.merge(index, mask, up_to_eight(first) << (begin * 8));
            (index, bytes) = (index + 1, rest);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        self.set_words(index, words.len(), |n| u64::from_ne_bytes(words[n]));
        if !rest.is_empty() {
            self.merge(index + words.len(), low_bytes(rest.len()), up_to_eight(rest));
        }
    }

    /// Sets the `len` bytes from `to` on to those of another page from `at` on.
    pub(crate) fn copy_range(&self, to: usize, page: &PageBytes, at: usize, len: usize) {
        debug_assert!(to.max(at) + len <= PAGE_BYTES, "bytes end behind their page");
        if len == 0 {
            return;
        }
        let (first, last) = (to / 8, (to + len - 1) / 8);
        let source = |index: usize| (index * 8).wrapping_add(at).wrapping_sub(to);
        let from = |index: usize| page.eight_at(source(index));
        let shift = source(0) % 8 * 8;
        let above = !0 << (to % 8 * 8);
        let below = low_bytes((to + len - 1) % 8 + 1);
        if last > first + 1 {
            // After a move hardly any word is as it was.
            self.mark_range(first + 1..last);
        }
        if first == last {
            self.merge(first, above & below, from(first));
        } else {
            self.merge(first, above, from(first));
            // Each word is loaded once, before the store that may replace it.
            let mut low = page.word(source(first + 1) / 8);
            for index in first + 1..last {
                let high = page.word(source(index) / 8 + 1);
                self.words[index % WORDS].store(joined(low, high, shift).to_le(), Relaxed);
                low = high;
            }
            self.merge(last, below, from(last));
        }
    }

    /// Inserts a word before another: it and those behind move up by one, up to `end`, which is
    /// inside the page. What the new one holds is to be set.
    pub(crate) fn insert_word(&self, at: usize, end: usize) {
        debug_assert!(at <= end && end < WORDS, "a word moves out of the page");
        for index in (at..end).rev() {
            self.words[(index + 1) % WORDS].store(self.words[index % WORDS].load(Relaxed), Relaxed);
        }
        self.note_shift(|changed| changed.insert_word(at, end));
    }

    /// Removes a word: those behind it move down by one, up to `end`.
    pub(crate) fn remove_word(&self, at: usize, end: usize) {
        debug_assert!(at < end && end <= WORDS, "a word moves into the page");
        for index in at + 1..end {
            self.words[(index - 1) % WORDS].store(self.words[index % WORDS].load(Relaxed), Relaxed);
        }
        self.note_shift(|changed| changed.remove_word(at, end));
    }

    /// Notes that words moved, or that the page is to be written as a whole.
    fn note_shift(&self, note: impl FnOnce(&mut ChangedWords) -> bool) {
        self.note(|changed| {
            if !note(changed) {
                changed.forget_base();
            }
        });
    }

    /// Sets the whole page, of which `changed` are the words that may differ from its base.
    pub(crate) fn set(&self, bytes: &[u8], changed: &ChangedWords) {
        debug_assert_eq!(bytes.len(), PAGE_BYTES);
        let (steps, numbers) = (self.words.as_chunks::<STEP>().0, bytes.as_chunks::<8>().0);
        for (words, numbers) in steps.iter().zip(numbers.as_chunks::<STEP>().0) {
            for (index, word) in words.iter().enumerate() {
                word.store(u64::from_ne_bytes(numbers[index]), Relaxed);
            }
        }
        self.set_changed(changed);
    }

    /// Sets the whole page to what another is.
    #[inline]
    pub(crate) fn copy_from(&self, other: &PageBytes) {
        self.set_words(0, WORDS, |n| other.words[n].load(Relaxed));
        self.copy_hints(other);
    }

    /// The same in a page of the caller's own: what changes in it is not noted.
    #[inline]
    pub(crate) fn become_copy_of(&mut self, other: &PageBytes) {
        let (mine, theirs) = (self.words.as_chunks_mut::<STEP>().0, other.words.as_chunks().0);
        for (mine, theirs) in mine.iter_mut().zip::<&[[AtomicU64; STEP]]>(theirs) {
            for (index, word) in theirs.iter().enumerate() {
                *mine[index].get_mut() = word.load(Relaxed);
            }
        }
        self.copy_hints(other);
    }

    /// Sets the bytes of a range to zero.
    pub(crate) fn clear(&self, range: Range<usize>) {
        debug_assert!(range.start <= range.end && range.end <= PAGE_BYTES);
        let (first, last) = (range.start.next_multiple_of(8), range.end / 8 * 8);
        if first > last {
            self.write(range.start, &[0; 8][..range.len()]);
            return;
        }
        self.write(range.start, &[0; 8][..first - range.start]);
        self.set_words(first / 8, (last - first) / 8, |_| 0);
        self.write(last, &[0; 8][..range.end - last]);
    }
}

/// Words that changed since the page's base: those of its delta, and those that changed since.
impl PageBytes {
    /// These words.
    pub(crate) fn changed_words(&self) -> ChangedWords {
        let load = |words: &[AtomicU64; WORDS / GROUP]| {
            std::array::from_fn(|group| words[group].load(Relaxed))
        };
        ChangedWords::from_bits([&self.in_delta, &self.changed, &self.shifts].map(load))
    }

    /// These words without those of some ranges.
    pub(crate) fn changed_outside(&self, ranges: &[Range<usize>]) -> ChangedWords {
        let mut inside = ChangedWords::NONE;
        ranges.iter().for_each(|range| inside.add(range.clone()));
        let [_, inside, _] = inside.bits();
        let [mut in_delta, mut changed, shifts] = self.changed_words().bits();
        for words in [&mut in_delta, &mut changed] {
            words.iter_mut().zip(inside).for_each(|(bits, inside)| *bits &= !inside);
        }
        ChangedWords::from_bits([in_delta, changed, shifts])
    }

    /// True if the page's delta has the word at an offset.
    pub(crate) fn is_in_delta(&self, at: usize) -> bool {
        self.in_delta[at / 8 / GROUP].load(Relaxed) >> (at / 8 % GROUP) & 1 == 1
    }

    /// Notes something of these words as a whole.
    pub(crate) fn note(&self, note: impl FnOnce(&mut ChangedWords)) {
        let mut changed = self.changed_words();
        note(&mut changed);
        self.set_changed(&changed);
    }

    /// Marks the word at an offset as changed.
    pub(crate) fn mark_word(&self, at: usize) {
        self.mark_range(at / 8..at / 8 + 1);
    }

    /// True if all words changed: the page has no base.
    pub(crate) fn is_all_changed(&self) -> bool {
        self.changed.iter().all(|bits| bits.load(Relaxed) == !0)
    }

    /// These words changed, and no others.
    pub(crate) fn set_changed(&self, words: &ChangedWords) {
        let sets = [&self.in_delta, &self.changed, &self.shifts].into_iter().zip(words.bits());
        for (set, bits) in sets {
            set.iter().zip(bits).for_each(|(set, bits)| set.store(bits, Relaxed));
        }
    }
}

impl PageBytes {
    /// Asks the processor to load the page's first line and its hints, which a search begins with.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: prefetching has no effect but on the cache.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>((&raw const self.words[0]).cast());
            _mm_prefetch::<_MM_HINT_T0>((&raw const self.hints).cast());
        }
    }
}

impl Clone for PageBytes {
    fn clone(&self) -> Self {
        let mut page = PageBytes::new();
        page.become_copy_of(self);
        page
    }
}

/// Words that a copy loads or stores in one step, as the compiler does not unroll loops of atomic
/// accesses.
const STEP: usize = 8;

/// Loads words into as many times eight bytes from `to` on.
///
/// # Safety
/// No other thread sees these bytes, and they may be written.
#[inline]
#[allow(unsafe_code)]
unsafe fn load_all(words: &[AtomicU64], mut to: *mut [u8; 8]) {
    let (steps, last) = words.as_chunks::<STEP>();
    // SAFETY: no more words are loaded than there is room for, by the caller's word.
    unsafe {
        for words in steps {
            for (index, word) in words.iter().enumerate() {
                to.add(index).write(word.load(Relaxed).to_ne_bytes());
            }
            to = to.add(STEP);
        }
        for (index, word) in last.iter().enumerate() {
            to.add(index).write(word.load(Relaxed).to_ne_bytes());
        }
    }
}

/// Stores a number as it lies in memory; 1 if it differs from the one before, else 0.
#[inline(always)]
fn replace(word: &AtomicU64, number: u64) -> u64 {
    let differs = word.load(Relaxed) != number;
    word.store(number, Relaxed);
    differs.into()
}

/// The 64 bits from bit `shift` of `low` on; `high` follows `low`.
#[inline(always)]
fn joined(low: u64, high: u64, shift: usize) -> u64 {
    // Two shifts, as one by 64 bits is none.
    low >> shift | high << 1 << (63 - shift)
}

/// The bits of the first 1 to 8 bytes of a word.
#[inline(always)]
pub(super) fn low_bytes(count: usize) -> u64 {
    !0 >> (64 - count * 8)
}

/// Up to eight bytes as a little-endian number.
#[inline(always)]
pub(super) fn up_to_eight(bytes: &[u8]) -> u64 {
    let half = |at: usize| {
        u64::from(u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
    };
    let pair = |at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    match bytes.len() {
        len @ 4..=8 => half(0) | half(len - 4) << ((len - 4) * 8),
        len @ 2..4 => pair(0) | pair(len - 2) << ((len - 2) * 8),
        1 => bytes[0].into(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page whose bytes are all different from those beside them.
    fn page() -> (PageBytes, [u8; PAGE_BYTES]) {
        let (page, bytes) = (PageBytes::new(), std::array::from_fn(|at| (at % 251) as u8));
        page.write(0, &bytes);
        (page, bytes)
    }

    fn bytes_of(page: &PageBytes) -> [u8; PAGE_BYTES] {
        let mut bytes = [0; PAGE_BYTES];
        page.copy_to(&mut bytes);
        bytes
    }

    #[test]
    fn offsets_beyond_the_page_read_what_is_there() {
        let (page, bytes) = page();
        assert_eq!(page.u16_at(PAGE_BYTES), u16::from_le_bytes([bytes[0], bytes[1]]));
        let around = [bytes[4092], bytes[4093], bytes[4094], bytes[4095], 0, 1, 2, 3];
        assert_eq!(page.eight_at(PAGE_BYTES - 4), u64::from_le_bytes(around));
        assert_eq!(page.compare(PAGE_BYTES - 1, 2, &[bytes[4095], 0]), Ordering::Equal);
        let mut copied = Vec::new();
        page.append_to(PAGE_BYTES - 1, usize::MAX, &mut copied);
        page.append_to(usize::MAX, usize::MAX, &mut copied);
        assert_eq!(copied, bytes[4095..]);
    }

    #[test]
    fn bytes_compare_as_slices_do() {
        let page = PageBytes::new();
        let slice = b"abcdefghijklmnopqrst";
        for at in 100..108 {
            page.write(at, slice);
            for len in 0..=slice.len() {
                for other in
                    [&b""[..], b"a", b"abcdefgh", b"abcdefgi", b"abcdefghijkl", b"zz", slice]
                {
                    assert_eq!(page.compare(at, len, other), slice[..len].cmp(other), "{at} {len}");
                }
            }
        }
    }

    #[test]
    fn ranges_are_read_written_and_moved_as_those_of_a_slice() {
        for (at, to) in [(200, 210), (210, 200), (203, 203), (207, 216), (216, 207)] {
            for len in (0..20).step_by(if cfg!(miri) { 7 } else { 1 }).chain([40, 41, 3000]) {
                let (page, mut bytes) = page();
                let mut read = vec![7];
                page.append_to(at, len, &mut read);
                assert_eq!(read[1..], bytes[at..at + len]);
                page.copy_range(to, &page.clone(), at, len);
                bytes.copy_within(at..at + len, to);
                assert!(bytes_of(&page) == bytes, "{len} bytes from {at} to {to}");
                let written = vec![0xee; len];
                page.write(to, &written);
                bytes[to..to + len].copy_from_slice(&written);
                assert!(bytes_of(&page) == bytes, "{len} bytes at {to}");
            }
        }
    }

    #[test]
    fn numbers_are_stored_and_nothing_beside_them() {
        let (page, mut bytes) = page();
        page.set_u16(46, 0xabcd);
        bytes[46..48].copy_from_slice(&0xabcdu16.to_le_bytes());
        page.set_u32(36, 0x1234_5678);
        bytes[36..40].copy_from_slice(&0x1234_5678u32.to_le_bytes());
        page.set_u64(8, u64::MAX - 1);
        bytes[8..16].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
        page.clear(16..32);
        bytes[16..32].fill(0);
        assert!(bytes_of(&page) == bytes);
        assert_eq!(
            (page.u16_at(46), page.u32_at(36), page.u64_at(8)),
            (0xabcd, 0x1234_5678, u64::MAX - 1)
        );
    }

    #[derive(Clone, Debug)]
    enum Store {
        Number(usize, u64),
        Write(usize, Vec<u8>),
        Copy(usize, usize, usize),
        Clear(usize, usize),
        Replace(usize, u8),
    }

    fn store() -> impl Strategy<Value = Store> {
        let at = || 0..PAGE_BYTES - 600;
        let len = || prop_oneof![0..20usize, 0..600usize];
        prop_oneof![
            (at(), any::<u64>()).prop_map(|(at, number)| Store::Number(at, number)),
            (at(), prop::collection::vec(0..2u8, 0..600)).prop_map(|(at, b)| Store::Write(at, b)),
            (at(), at(), len()).prop_map(|(to, at, len)| Store::Copy(to, at, len)),
            (at(), len()).prop_map(|(at, len)| Store::Clear(at, len)),
            (at(), any::<u8>()).prop_map(|(at, byte)| Store::Replace(at, byte)),
        ]
    }

    proptest! {
        #![proptest_config(crate::node::tests::config())]

        #[test]
        fn words_that_differ_are_marked_and_none_that_no_store_touched(
            stores in prop::collection::vec(store(), 1..20),
        ) {
            let (page, base) = page();
            let other = page.clone();
            other.write(70, &[9; 900]);
            page.set_changed(&ChangedWords::NONE);
            let mut touched = ChangedWords::NONE;
            for store in &stores {
                let (at, len) = match store {
                    Store::Number(at, number) => {
                        let (at, len) = match number % 3 {
                            0 => (at / 2 * 2, 2),
                            1 => (at / 4 * 4, 4),
                            _ => (at / 8 * 8, 8),
                        };
                        match len {
                            2 => page.set_u16(at, *number as u16),
                            4 => page.set_u32(at, *number as u32),
                            _ => page.set_u64(at, *number),
                        }
                        (at, len)
                    }
                    Store::Write(at, bytes) => {
                        page.write(*at, bytes);
                        (*at, bytes.len())
                    }
                    &Store::Copy(to, at, len) => {
                        page.copy_range(to, &other, at, len);
                        (to, len)
                    }
                    &Store::Clear(at, len) => {
                        page.clear(at..at + len);
                        (at, len)
                    }
                    &Store::Replace(at, byte) => {
                        let another = page.clone();
                        another.write(at, &[byte; 5]);
                        page.copy_from(&another);
                        (at, 5)
                    }
                };
                if len > 0 {
                    touched.add(at / 8..(at + len).div_ceil(8));
                }
            }
            let (changed, now) = (page.changed_outside(&[]), bytes_of(&page));
            for word in 0..WORDS {
                let bytes = word * 8..word * 8 + 8;
                prop_assert!(changed.has(word) || now[bytes.clone()] == base[bytes], "{word}");
                prop_assert!(touched.has(word) || !changed.has(word), "{word}");
            }
            let outside = page.changed_outside(&[100..150, 150..200]);
            for word in 0..WORDS {
                let is_inside = (100..200).contains(&word);
                prop_assert_eq!(outside.has(word), changed.has(word) && !is_inside);
            }
        }
    }

    #[test]
    fn what_is_stored_again_is_no_change() {
        let (page, bytes) = page();
        let other = page.clone();
        page.set_changed(&ChangedWords::NONE);
        page.write(3, &bytes[3..1000]);
        page.copy_from(&other);
        page.set_u16(46, u16::from_le_bytes([bytes[46], bytes[47]]));
        assert_eq!(page.changed_outside(&[]), ChangedWords::NONE);
        page.note(ChangedWords::forget_base);
        assert!(
            page.is_all_changed()
                && page.changed_outside(&[0..100, 100..WORDS]) == ChangedWords::NONE
        );
    }
}
