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

use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of a page, as of the store's.
pub const PAGE_BYTES: usize = 4096;

/// Words of a page.
const WORDS: usize = PAGE_BYTES / 8;

/// The bytes of a page in memory. Numbers are little-endian.
#[derive(bytemuck::Zeroable)]
#[repr(C, align(4096))]
pub struct PageBytes([AtomicU64; WORDS]);

impl PageBytes {
    /// A page of zeroes.
    pub const fn new() -> PageBytes {
        PageBytes([const { AtomicU64::new(0) }; WORDS])
    }

    /// A page of zeroes.
    pub fn zeroed() -> Box<PageBytes> {
        bytemuck::zeroed_box()
    }

    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        u64::from_le(self.0[index % WORDS].load(Relaxed))
    }

    #[inline(always)]
    fn set_word(&self, index: usize, word: u64) {
        self.0[index % WORDS].store(word.to_le(), Relaxed);
    }

    /// Stores those bits of a word that `mask` has.
    #[inline(always)]
    fn merge(&self, index: usize, mask: u64, bits: u64) {
        self.set_word(index, self.word(index) & !mask | bits & mask);
    }

    /// The number at an even offset.
    #[inline]
    pub fn u16_at(&self, at: usize) -> u16 {
        (self.word(at / 8) >> (at % 8 * 8)) as u16
    }

    /// The number at an offset that is a multiple of 4.
    #[inline]
    pub fn u32_at(&self, at: usize) -> u32 {
        (self.word(at / 8) >> (at % 8 * 8)) as u32
    }

    /// The number at an offset that is a multiple of 8.
    #[inline]
    pub fn u64_at(&self, at: usize) -> u64 {
        self.word(at / 8)
    }

    /// The eight bytes from any offset on, as a number.
    #[inline]
    pub fn eight_at(&self, at: usize) -> u64 {
        joined(self.word(at / 8), self.word(at / 8 + 1), at % 8 * 8)
    }

    /// Compares the bytes `[at, at + len)` with `other`.
    #[inline(always)]
    pub fn compare(&self, at: usize, len: usize, other: &[u8]) -> Ordering {
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
    pub fn append_to(&self, at: usize, len: usize, into: &mut Vec<u8>) {
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
                load_all(&self.0[at / 8 + 1..][..words], room.add(of_first).cast());
            }
            into.set_len(into.len() + len);
        }
    }

    /// Copies the whole page to bytes that no other thread sees.
    #[inline]
    #[allow(unsafe_code)]
    pub fn copy_to(&self, bytes: &mut [u8; PAGE_BYTES]) {
        // SAFETY: the bytes are as many as those of all words.
        unsafe { load_all(&self.0, bytes.as_mut_ptr().cast()) };
    }
}

/// Stores. Those of one thread at a time, see above.
impl PageBytes {
    /// Sets the number at an even offset.
    #[inline]
    pub fn set_u16(&self, at: usize, value: u16) {
        let shift = at % 8 * 8;
        self.merge(at / 8, 0xffff << shift, u64::from(value) << shift);
    }

    /// Sets the number at an offset that is a multiple of 4.
    #[inline]
    pub fn set_u32(&self, at: usize, value: u32) {
        let shift = at % 8 * 8;
        self.merge(at / 8, 0xffff_ffff << shift, u64::from(value) << shift);
    }

    /// Sets the number at an offset that is a multiple of 8.
    #[inline]
    pub fn set_u64(&self, at: usize, value: u64) {
        self.set_word(at / 8, value);
    }

    /// Sets the bytes from `at` on.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let (mut index, begin) = (at / 8, at % 8);
        let mut bytes = bytes;
        if begin > 0 && !bytes.is_empty() {
            let (first, rest) = bytes.split_at(bytes.len().min(8 - begin));
            let mask = low_bytes(first.len()) << (begin * 8);
            self.merge(index, mask, up_to_eight(first) << (begin * 8));
            (index, bytes) = (index + 1, rest);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        store_all(&self.0[index..], words);
        if !rest.is_empty() {
            self.merge(index + words.len(), low_bytes(rest.len()), up_to_eight(rest));
        }
    }

    /// Sets the `len` bytes from `to` on to those of `page` from `at` on. `page` may be this page,
    /// and the ranges may overlap.
    pub fn copy_range(&self, to: usize, page: &PageBytes, at: usize, len: usize) {
        if len == 0 {
            return;
        }
        let (first, last) = (to / 8, (to + len - 1) / 8);
        let source = |index: usize| (index * 8).wrapping_add(at).wrapping_sub(to);
        let from = |index: usize| page.eight_at(source(index));
        let shift = source(0) % 8 * 8;
        let above = !0 << (to % 8 * 8);
        let below = low_bytes((to + len - 1) % 8 + 1);
        if first == last {
            self.merge(first, above & below, from(first));
        } else if to < at {
            self.merge(first, above, from(first));
            // Each word is loaded once, before the store that may replace it.
            let mut low = page.word(source(first + 1) / 8);
            for index in first + 1..last {
                let high = page.word(source(index) / 8 + 1);
                self.set_word(index, joined(low, high, shift));
                low = high;
            }
            self.merge(last, below, from(last));
        } else {
            self.merge(last, below, from(last));
            let mut high = page.word(source(last) / 8);
            for index in (first + 1..last).rev() {
                let low = page.word(source(index) / 8);
                self.set_word(index, joined(low, high, shift));
                high = low;
            }
            self.merge(first, above, from(first));
        }
    }

    /// Sets the whole page to what another is.
    #[inline]
    pub fn copy_from(&self, other: &PageBytes) {
        let (mine, other) = (self.0.as_chunks::<STEP>().0, other.0.as_chunks::<STEP>().0);
        for (mine, other) in mine.iter().zip(other) {
            for (index, word) in other.iter().enumerate() {
                mine[index].store(word.load(Relaxed), Relaxed);
            }
        }
    }

    /// Sets the bytes of a range, which begins and ends at multiples of 8, to zero.
    pub fn clear(&self, range: std::ops::Range<usize>) {
        self.0[range.start / 8..range.end / 8].iter().for_each(|word| word.store(0, Relaxed));
    }
}

impl PageBytes {
    /// Asks the processor to load the page's first lines, which a search begins with.
    #[inline]
    #[allow(unsafe_code)]
    pub fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: prefetching has no effect but on the cache.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>((&raw const self.0[0]).cast());
            _mm_prefetch::<_MM_HINT_T0>((&raw const self.0[8]).cast());
        }
    }
}

impl Clone for PageBytes {
    fn clone(&self) -> Self {
        let page = PageBytes::new();
        page.copy_from(self);
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

/// Stores as many numbers in the words from the first on.
#[inline]
fn store_all(words: &[AtomicU64], numbers: &[[u8; 8]]) {
    let (words, last_words) = words[..numbers.len()].as_chunks::<STEP>();
    let (numbers, last) = numbers.as_chunks::<STEP>();
    let store = |word: &AtomicU64, number: &[u8; 8]| {
        word.store(u64::from_ne_bytes(*number), Relaxed);
    };
    for (words, numbers) in words.iter().zip(numbers) {
        for (index, number) in numbers.iter().enumerate() {
            store(&words[index], number);
        }
    }
    for (word, number) in last_words.iter().zip(last) {
        store(word, number);
    }
}

/// The 64 bits from bit `shift` of `low` on; `high` follows `low`.
#[inline(always)]
fn joined(low: u64, high: u64, shift: usize) -> u64 {
    // Two shifts, as one by 64 bits is none.
    low >> shift | high << 1 << (63 - shift)
}

/// The bits of the first 1 to 8 bytes of a word.
#[inline(always)]
pub fn low_bytes(count: usize) -> u64 {
    !0 >> (64 - count * 8)
}

/// Up to eight bytes as a little-endian number.
#[inline(always)]
pub fn up_to_eight(bytes: &[u8]) -> u64 {
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
                page.copy_range(to, &page, at, len);
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
}
