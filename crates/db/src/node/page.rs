//! A page that may change while it is read.
//!
//! Readers take no latch: they look at a page, and then ask whether it changed meanwhile
//! ([`Seen::is_unchanged`](crate::pool::Seen::is_unchanged)). Until then nothing they saw can be
//! trusted, so every offset is clamped into the page, and no read here panics.
#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// Bytes of a page, as of the store's.
pub const PAGE_BYTES: usize = 4096;

/// The bytes of a page, aligned as frames are.
#[derive(Clone, bytemuck::Zeroable)]
#[repr(C, align(4096))]
pub struct PageBytes(pub [u8; PAGE_BYTES]);

impl PageBytes {
    /// A page of zeroes.
    pub fn zeroed() -> Box<PageBytes> {
        Box::new(PageBytes([0; PAGE_BYTES]))
    }
}

/// A view of a page that others may be changing.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    base: *const u8,
    lives: PhantomData<&'a PageBytes>,
}

// The view only reads, and what it reads is checked by whoever made it.
// SAFETY: a view is a reference to bytes that any thread may read.
unsafe impl Send for Page<'_> {}

impl<'a> Page<'a> {
    /// A view of a page that nobody changes.
    pub fn of(bytes: &'a PageBytes) -> Page<'a> {
        Page { base: bytes.0.as_ptr(), lives: PhantomData }
    }

    /// A view of a page in a frame.
    ///
    /// # Safety
    /// `base` points to [`PAGE_BYTES`] readable bytes, aligned to 8, that live for `'a`.
    pub unsafe fn at(base: *const u8) -> Page<'a> {
        Page { base, lives: PhantomData }
    }

    /// The number at an even offset. An offset beyond the page gives the last one.
    #[inline]
    pub fn u16_at(self, at: usize) -> u16 {
        let at = (at & !1).min(PAGE_BYTES - 2);
        // SAFETY: two bytes from `at` lie in the page, aligned to 2; the load is atomic, so that
        // a number that is being changed is seen old or new, and is loaded once.
        unsafe { AtomicU16::from_ptr(self.base.add(at).cast_mut().cast()) }.load(Relaxed)
    }

    /// The number at an even offset, of two halves that may be of different times.
    #[inline]
    pub fn u32_at(self, at: usize) -> u32 {
        u32::from(self.u16_at(at)) | u32::from(self.u16_at(at + 2)) << 16
    }

    /// The number at an even offset, of two halves that may be of different times.
    #[inline]
    pub fn u64_at(self, at: usize) -> u64 {
        u64::from(self.u32_at(at)) | u64::from(self.u32_at(at + 4)) << 32
    }

    /// The number at any offset. An offset beyond the page gives the last one.
    #[inline]
    pub fn number_at(self, at: usize) -> u32 {
        let at = at.min(PAGE_BYTES - 4);
        // SAFETY: four bytes from `at` lie in the page. They may be of different times; as the
        // load is volatile, what is made of them is made of one value.
        u32::from_le_bytes(unsafe { self.base.add(at).cast::<[u8; 4]>().read_volatile() })
    }

    /// Compares the bytes `[at, at + len)`, as far as they lie in the page, with `other`.
    #[inline]
    pub fn compare(self, at: usize, len: usize, other: &[u8]) -> Ordering {
        let at = at.min(PAGE_BYTES);
        let len = len.min(PAGE_BYTES - at);
        let both = len.min(other.len());
        let mut done = 0;
        while done + 8 <= both {
            let mut mine = [0; 8];
            // SAFETY: `done + 8 <= len`, and `at + len` lies in the page. The bytes may be of
            // different times: whoever made this view learns so and forgets the answer.
            unsafe { copy(self.base.add(at + done), &mut mine) };
            let mut theirs = [0; 8];
            theirs.copy_from_slice(&other[done..done + 8]);
            let ordering = u64::from_be_bytes(mine).cmp(&u64::from_be_bytes(theirs));
            if ordering.is_ne() {
                return ordering;
            }
            done += 8;
        }
        // SAFETY: as above; `other` has `both` bytes.
        let (mine, theirs) = unsafe {
            (
                up_to_eight(self.base.add(at + done), both - done),
                up_to_eight(other.as_ptr().add(done), both - done),
            )
        };
        mine.cmp(&theirs).then(len.cmp(&other.len()))
    }

    /// Appends the bytes `[at, at + len)`, as far as they lie in the page, to `into`.
    #[inline]
    pub fn append_to(self, at: usize, len: usize, into: &mut Vec<u8>) {
        let at = at.min(PAGE_BYTES);
        let len = len.min(PAGE_BYTES - at);
        into.reserve(len);
        // SAFETY: `[at, at + len)` lies in the page, and `into` has room for `len` bytes more,
        // which are initialised before they count. They may be of different times, as above.
        unsafe {
            std::ptr::copy_nonoverlapping(
                self.base.add(at),
                into.as_mut_ptr().add(into.len()),
                len,
            );
            into.set_len(into.len() + len);
        }
    }

    /// Copies the whole page.
    #[inline]
    pub fn copy_to(self, into: &mut PageBytes) {
        // SAFETY: both are pages; the bytes may be of different times, as above.
        unsafe { copy(self.base, &mut into.0) };
    }
}

impl Page<'_> {
    /// Asks the processor to load the page's first lines, which a search begins with.
    #[inline]
    pub fn prefetch(self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: prefetching has no effect but on the cache.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.base.cast());
            _mm_prefetch::<_MM_HINT_T0>(self.base.add(64).cast());
        }
    }
}

/// # Safety
/// `into.len()` bytes from `from` are readable.
#[inline(always)]
unsafe fn copy(from: *const u8, into: &mut [u8]) {
    // SAFETY: as the caller promises; `into` is nobody else's.
    unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) }
}

/// Fewer than eight bytes as the head of a big-endian number.
///
/// # Safety
/// `len` bytes from `from` are readable.
#[inline(always)]
unsafe fn up_to_eight(from: *const u8, len: usize) -> u64 {
    // SAFETY: every load lies within `len` bytes, the later of two over the end of the first.
    unsafe {
        let half = |at: usize| u64::from(u32::from_be_bytes(from.add(at).cast::<[u8; 4]>().read()));
        let pair = |at: usize| u64::from(u16::from_be_bytes(from.add(at).cast::<[u8; 2]>().read()));
        match len {
            4.. => half(0) << 32 | half(len - 4) << ((8 - len) * 8),
            2.. => pair(0) << 48 | pair(len - 2) << ((8 - len) * 8),
            1 => u64::from(from.read()) << 56,
            0 => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_beyond_the_page_read_what_is_there() {
        let mut bytes = PageBytes::zeroed();
        bytes.0[PAGE_BYTES - 2..].copy_from_slice(&[1, 2]);
        let page = Page::of(&bytes);
        assert_eq!(page.u16_at(PAGE_BYTES + 100), 0x0201);
        assert_eq!(page.u64_at(usize::MAX - 9), 0x0201_0201_0201_0201);
        assert_eq!(page.compare(PAGE_BYTES - 2, 100, &[1, 2]), Ordering::Equal);
        let mut copied = Vec::new();
        page.append_to(PAGE_BYTES - 1, usize::MAX, &mut copied);
        assert_eq!(copied, [2]);
    }

    #[test]
    fn bytes_compare_as_slices_do() {
        let mut bytes = PageBytes::zeroed();
        bytes.0[100..120].copy_from_slice(b"abcdefghijklmnopqrst");
        let page = Page::of(&bytes);
        let slice = b"abcdefghijklmnopqrst";
        for len in 0..=slice.len() {
            for other in [&b""[..], b"a", b"abcdefgh", b"abcdefgi", b"abcdefghijkl", b"zz", slice] {
                assert_eq!(page.compare(100, len, other), slice[..len].cmp(other));
            }
        }
    }
}
