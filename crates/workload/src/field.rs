//! Fixed-width fields at constant places of a row, little-endian, so that an update can overwrite
//! them in place.

use std::marker::PhantomData;

/// A number of fixed width.
pub(crate) trait Fixed: Copy {
    /// Width in bytes.
    const WIDTH: usize;
    /// Reads it from the start of `bytes`.
    fn read(bytes: &[u8]) -> Self;
    /// Writes it to the start of `bytes`.
    fn write(self, bytes: &mut [u8]);
    /// The sum, which wraps around.
    fn plus(self, other: Self) -> Self;
}

macro_rules! fixed {
    ($($number:ty)*) => { $(
        impl Fixed for $number {
            const WIDTH: usize = size_of::<$number>();

            #[inline]
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; Self::WIDTH];
                own.copy_from_slice(&bytes[..Self::WIDTH]);
                <$number>::from_le_bytes(own)
            }

            #[inline]
            fn write(self, bytes: &mut [u8]) {
                bytes[..Self::WIDTH].copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
        }
    )* };
}

fixed!(u8 u16 u32 i32 u64 i64);

/// The place of a number in a row. The row must be long enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<T> {
    at: usize,
    kind: PhantomData<T>,
}

impl<T: Fixed> Field<T> {
    /// A field that begins at byte `at`.
    pub(crate) const fn at(at: usize) -> Field<T> {
        Field { at, kind: PhantomData }
    }

    /// The offset of its first byte.
    pub(crate) const fn start(self) -> usize {
        self.at
    }

    /// The offset behind its last byte.
    pub(crate) const fn end(self) -> usize {
        self.at + T::WIDTH
    }

    /// The number in this field of a row.
    #[inline]
    pub(crate) fn of(self, row: &[u8]) -> T {
        T::read(&row[self.at..])
    }

    /// Sets the number in this field of a row.
    #[inline]
    pub(crate) fn set(self, row: &mut [u8], number: T) {
        number.write(&mut row[self.at..]);
    }

    /// Adds to the number in this field of a row.
    #[inline]
    pub(crate) fn add(self, row: &mut [u8], number: T) {
        let sum = self.of(row).plus(number);
        self.set(row, sum);
    }
}
