//! Memory that a device can write from and read into without copying.

use std::ops::{Deref, DerefMut};

/// The alignment of memory, in bytes, that lets I/O bypass the page cache on any device.
pub const ALIGNMENT: usize = 4096;
const _: () = assert!(ALIGNMENT.is_power_of_two());

/// Zeroed bytes that begin at a multiple of [`ALIGNMENT`].
#[derive(Debug, Default)]
pub struct AlignedBuf {
    bytes: Vec<u8>,
    first: usize,
    len: usize,
}

impl AlignedBuf {
    /// `len` zeroes.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return AlignedBuf::default();
        }
        // A longer vector, used from its first aligned byte; it never grows, so its bytes stay in
        // place.
        let bytes = vec![0; len + ALIGNMENT - 1];
        let first = bytes.as_ptr().addr().next_multiple_of(ALIGNMENT) - bytes.as_ptr().addr();
        assert!(first + len <= bytes.len(), "the aligned bytes lie in the vector");
        AlignedBuf { bytes, first, len }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> Self {
        let mut copy = AlignedBuf::zeroed(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Deref for AlignedBuf {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.first..self.first + self.len]
    }
}

impl DerefMut for AlignedBuf {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.first..self.first + self.len]
    }
}

/// True if the bytes can go to a device as they are.
pub(crate) fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_and_their_clones_are_aligned() {
        for len in [0, 1, 4096, 10_000] {
            let mut buffer = AlignedBuf::zeroed(len);
            buffer.fill(3);
            let copy = buffer.clone();
            assert_eq!((copy.len(), &copy[..]), (len, &buffer[..]));
            assert!(len == 0 || is_aligned(&buffer) && is_aligned(&copy));
        }
    }
}
