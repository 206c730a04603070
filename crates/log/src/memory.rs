//! Large zeroed arrays, directly from the system, which provides memory when it is first touched,
//! in huge pages if possible.
//!
//! Page tables limit the speed of random accesses to a map of many megabytes; huge pages make a
//! replay faster by a quarter. An ordinary allocator does not serve: it may return memory that was
//! touched before it could be advised, or that is not aligned.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Zeroable;
use memmap2::{MmapMut, MmapOptions};

use crate::LogError;

/// Size and alignment of a huge page.
const HUGE: usize = 2 << 20;

/// An array that begins as zeroes.
pub struct Array<T> {
    first: NonNull<T>,
    len: usize,
    /// Holds the memory. It is longer than the array, so that the array can be aligned. `None` for
    /// an array without bytes.
    _mapping: Option<MmapMut>,
    owned: PhantomData<T>,
}

// SAFETY: an array owns what it points to, as a boxed slice does.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: as above; shared references give no more than `&[T]`.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T: Zeroable> Array<T> {
    /// An array of `len` zeroes. The system provides the memory when it is touched.
    ///
    /// # Errors
    /// The system refuses.
    pub fn zeroed(len: usize) -> Result<Self, LogError> {
        const { assert!(align_of::<T>() <= HUGE && !needs_drop::<T>()) };
        let bytes = len.saturating_mul(size_of::<T>());
        let refused = || LogError::NoMemory { bytes };
        if bytes == 0 {
            return Ok(Array { len, ..Array::default() });
        }
        let mut options = MmapOptions::new();
        let options = options.len(bytes.saturating_add(HUGE)).no_reserve_swap();
        let mut mapping = options.map_anon().map_err(|_| refused())?;
        let offset = mapping.as_ptr().addr().next_multiple_of(HUGE) - mapping.as_ptr().addr();
        // If the system refuses, pages are small.
        #[cfg(target_os = "linux")]
        let _ = mapping.advise_range(memmap2::Advice::HugePage, offset, bytes);
        let first = mapping.as_mut_ptr().wrapping_add(offset).cast();
        let first = NonNull::new(first).ok_or_else(refused)?;
        Ok(Array { first, len, _mapping: Some(mapping), owned: PhantomData })
    }
}

impl<T: Zeroable + Copy> Array<T> {
    /// Grows the array, if it has fewer than `least` values; it doubles up to `most`, so that
    /// growing costs a constant per value. Untouched memory costs nothing.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn cover(&mut self, (least, most): (usize, usize)) -> Result<(), LogError> {
        if self.len < least {
            *self = self.grown((least * 2).min(most).max(least))?;
        }
        Ok(())
    }

    /// A longer array with the same beginning, followed by zeroes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn grown(&self, len: usize) -> Result<Self, LogError> {
        let mut longer = Array::zeroed(len)?;
        longer[..self.len].copy_from_slice(self);
        Ok(longer)
    }
}

impl<T> Default for Array<T> {
    fn default() -> Self {
        Array { first: NonNull::dangling(), len: 0, _mapping: None, owned: PhantomData }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `first` is aligned and points to `len` values, zero or written since, in a
        // mapping that lives as long as `self`; or there are no bytes.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_begin_as_zeroes_and_keep_their_beginning_when_they_grow() {
        let mut array = Array::<u64>::zeroed(1000).unwrap();
        assert!(array.iter().all(|&x| x == 0));
        array[999] = 7;
        let longer = array.grown(5000).unwrap();
        assert_eq!((longer[999], longer[4999], longer.len()), (7, 0, 5000));
        assert_eq!(longer.as_ptr().addr() % HUGE, 0);
    }

    #[test]
    fn arrays_without_bytes_need_no_memory() {
        assert_eq!(Array::<u32>::zeroed(0).unwrap().len(), 0);
        assert_eq!(Array::<()>::zeroed(9).unwrap().len(), 9);
    }

    #[test]
    fn what_the_system_refuses_is_an_error() {
        let bytes = usize::MAX / 2 / 8 * 8;
        let refused = Array::<u64>::zeroed(bytes / 8).err();
        assert_eq!(refused, Some(LogError::NoMemory { bytes }));
    }
}
