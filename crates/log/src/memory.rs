//! Large zeroed arrays: taken lazily, on huge pages where the system grants them.

#![allow(unsafe_code)]

use bytemuck::Zeroable;

use crate::LogError;

/// Below this a huge page would not fill.
const HUGE: usize = 2 << 20;

/// An array of `len` zeroes. Memory is taken from the system as it is touched.
///
/// # Errors
/// The system refuses.
pub fn zeroed<T: Zeroable>(len: usize) -> Result<Box<[T]>, LogError> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut array = bytemuck::allocation::try_zeroed_slice_box(len)
        .map_err(|()| LogError::NoMemory { bytes })?;
    advise_huge(&mut array);
    Ok(array)
}

/// A longer array with the same beginning, zeroes behind it.
///
/// # Errors
/// The system refuses.
pub fn grown<T: Zeroable + Copy>(array: &[T], len: usize) -> Result<Box<[T]>, LogError> {
    let mut longer = zeroed(len)?;
    longer[..array.len()].copy_from_slice(array);
    Ok(longer)
}

/// Asks for huge pages: random accesses to a map of many megabytes are bound by the page tables.
fn advise_huge<T>(array: &mut [T]) {
    let bytes = size_of_val(array);
    let start = array.as_mut_ptr() as usize;
    let aligned = start.next_multiple_of(HUGE);
    let len = (start + bytes).saturating_sub(aligned) / HUGE * HUGE;
    #[cfg(target_os = "linux")]
    if len > 0 {
        use rustix::mm::{Advice, madvise};
        // SAFETY: the range lies inside `array`, which we hold exclusively, and this advice
        // changes neither contents nor access rights. A refusal only leaves small pages.
        let _ = unsafe { madvise(aligned as *mut _, len, Advice::LinuxHugepage) };
    }
}
