//! Zeroed memory from the system.
#![allow(unsafe_code)]

use std::ops::{Deref, Range};

use bytemuck::Zeroable;

/// An array that began as zeroes. Its memory is taken from the system as it is touched, on huge
/// pages where the system grants them.
pub(crate) struct Zeroed<T> {
    #[cfg(not(miri))]
    mapping: memmap2::MmapMut,
    #[cfg(miri)]
    mapping: Box<[T]>,
    /// Bytes before the first item.
    offset: usize,
    len: usize,
    items: std::marker::PhantomData<T>,
}

/// Size and alignment of a huge page.
const HUGE: usize = 2 << 20;

impl<T: Zeroable> Zeroed<T> {
    /// An array of `len` zeroes; none if the system refuses.
    #[cfg(not(miri))]
    pub(crate) fn new(len: usize) -> Option<Self> {
        const { assert!(align_of::<T>() <= HUGE && !std::mem::needs_drop::<T>()) };
        let bytes = len.checked_mul(size_of::<T>())?.checked_add(HUGE)?;
        let mapping = memmap2::MmapOptions::new().len(bytes).no_reserve_swap().map_anon().ok()?;
        let offset = mapping.as_ptr().align_offset(HUGE);
        // A refusal only leaves small pages.
        #[cfg(target_os = "linux")]
        let _ = mapping.advise_range(memmap2::Advice::HugePage, offset, bytes - HUGE);
        Some(Zeroed { mapping, offset, len, items: std::marker::PhantomData })
    }

    /// Gives the memory of items back to the system, but for parts of pages of memory that other
    /// items have: each byte of them is zero then, or as it was. They take memory again as they are
    /// touched.
    pub(crate) fn release(&self, items: Range<usize>) {
        assert!(items.start <= items.end && items.end <= self.len);
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            let page = rustix::param::page_size();
            let begin = (self.offset + items.start * size_of::<T>()).next_multiple_of(page);
            let end = (self.offset + items.end * size_of::<T>()) / page * page;
            // SAFETY: the range lies in the mapping, and in no page of memory with bytes of other
            // items. Whoever has a reference to these may find zeroes from one load to the next, as
            // after stores of other threads: `T` may be zero, and is changed through such
            // references only. A refusal leaves what there is.
            let _ = unsafe {
                let advice = memmap2::UncheckedAdvice::DontNeed;
                self.mapping.unchecked_advise_range(advice, begin, end.saturating_sub(begin))
            };
        }
    }

    /// The same from the allocator: Miri knows no mappings.
    #[cfg(miri)]
    pub fn new(len: usize) -> Option<Self> {
        let mapping = bytemuck::zeroed_slice_box(len);
        Some(Zeroed { mapping, offset: 0, len, items: std::marker::PhantomData })
    }
}

impl<T> Deref for Zeroed<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` items from the offset on lie in the mapping, aligned, and began as zeroes,
        // which `T` may be. They are reached through this reference only.
        unsafe {
            std::slice::from_raw_parts(
                self.mapping.as_ptr().cast::<u8>().add(self.offset).cast(),
                self.len,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;
    use crate::node::PageBytes;

    #[test]
    fn zeroed_memory_is_aligned_and_shared() {
        let (pages, numbers) =
            (Zeroed::<PageBytes>::new(3).unwrap(), Zeroed::<AtomicU32>::new(7).unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| (pages[2].write(4090, b"end"), numbers[6].store(9, Relaxed)));
        });
        assert_eq!(
            (pages.len(), pages[2].compare(4090, 3, b"end")),
            (3, std::cmp::Ordering::Equal)
        );
        assert_eq!(numbers.iter().map(|number| number.load(Relaxed)).sum::<u32>(), 9);
        assert_eq!(Zeroed::<AtomicU32>::new(0).unwrap().len(), 0);
        assert!(Zeroed::<PageBytes>::new(usize::MAX).is_none());
    }

    #[test]
    fn what_is_released_leaves_its_neighbours_as_they_are() {
        let pages = Zeroed::<PageBytes>::new(9).unwrap();
        let ends = |page: &PageBytes, bytes: &[u8; 3]| {
            [0, 4093].map(|at| page.compare(at, 3, bytes) == std::cmp::Ordering::Equal)
        };
        let write = |page: &PageBytes| [0, 4093].iter().for_each(|&at| page.write(at, b"end"));
        pages.iter().for_each(write);
        pages.release(3..6);
        for (at, page) in pages.iter().enumerate() {
            match at {
                4 if cfg!(all(target_os = "linux", not(miri))) => {
                    assert!(ends(page, &[0; 3]).contains(&true));
                }
                3..6 => {}
                _ => assert_eq!(ends(page, b"end"), [true, true], "page {at}"),
            }
        }
        pages.iter().for_each(write);
        assert!(pages.iter().all(|page| ends(page, b"end") == [true, true]));
        pages.release(9..9);
    }
}
