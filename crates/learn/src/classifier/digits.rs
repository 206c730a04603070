//! Features of a write, in hexadecimal digits (PHFTL, section III-B): each digit is an input of
//! the network.

/// Inputs of the network.
pub(crate) const DIGITS: usize = 20;

/// The digits of a write, each from 0 to 15.
pub(crate) type Digits = [u8; DIGITS];

/// The features of a user write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features {
    /// User writes since the page's previous write; `u32::MAX` if there was none.
    pub lifespan: u32,
    /// Pages of the request.
    pub pages: u32,
    /// True if the request begins where the previous one ended.
    pub sequential: bool,
    /// Recent write requests to the page's chunk of LBAs.
    pub chunk_writes: u32,
    /// Recent read requests to the page's chunk of LBAs.
    pub chunk_reads: u32,
    /// The recent share of reads among all requests, in 255 parts.
    pub reads: u32,
}

impl Features {
    /// The features as digits: seven for the lifespan, two for the pages, one for the sequence,
    /// four for each of the chunk's counts, two for the reads. A number with more digits becomes
    /// all fifteens.
    #[inline(always)]
    pub(super) fn digits(&self) -> Digits {
        let mut digits = [0; DIGITS];
        put::<7>(&mut digits[..7], self.lifespan);
        put::<2>(&mut digits[7..9], self.pages);
        digits[9] = u8::from(self.sequential) * 15;
        put::<4>(&mut digits[10..14], self.chunk_writes);
        put::<4>(&mut digits[14..18], self.chunk_reads);
        put::<2>(&mut digits[18..], self.reads);
        digits
    }
}

/// Writes the digits of a value, the lowest first.
#[inline(always)]
fn put<const N: usize>(digits: &mut [u8], value: u32) {
    const { assert!(4 * N < u32::BITS as usize, "the digits of a number are fewer than its bits") };
    debug_assert_eq!(digits.len(), N, "each digit has a place");
    let value = value.min((1 << (4 * N)) - 1);
    for (i, digit) in digits.iter_mut().enumerate() {
        *digit = (value >> (4 * i)) as u8 & 15;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_over_their_digits_and_saturate() {
        let features = Features {
            lifespan: 0x123_4567,
            pages: 0x400,
            sequential: true,
            chunk_writes: 0x9a,
            chunk_reads: 0,
            reads: 0x80,
        };
        let digits = features.digits();
        assert_eq!(digits[..7], [7, 6, 5, 4, 3, 2, 1]);
        assert_eq!(digits[7..10], [15, 15, 15]);
        assert_eq!(digits[10..], [10, 9, 0, 0, 0, 0, 0, 0, 0, 8]);
        let first = Features { lifespan: u32::MAX, ..features };
        assert_eq!(first.digits()[..7], [15; 7]);
    }
}
