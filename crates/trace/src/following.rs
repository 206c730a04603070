//! How many pages of the same request follow each page write.

use frostline_placement::FOLLOWING_MOST;

use crate::bits::Bits;

/// The number of pages of the same request that follow each page write, at most [`FOLLOWING_MOST`],
/// in two bits a write: write `i` has bits `2 * (i % 4)` and up of byte `i / 4`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Following {
    bytes: Vec<u8>,
    len: usize,
}

impl Following {
    /// The number of writes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no write.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The numbers of four writes a byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Pages that follow write `i`; 0 beyond the end.
    #[inline]
    pub fn get(&self, i: usize) -> u8 {
        self.bytes.get(i / 4).map_or(0, |byte| byte >> (i % 4 * 2) & 3)
    }

    /// One more write, which so many pages follow. False if memory does not suffice.
    #[must_use]
    pub fn push(&mut self, following: u8) -> bool {
        if self.len.is_multiple_of(4) {
            if self.bytes.try_reserve(1).is_err() {
                return false;
            }
            self.bytes.push(0);
        }
        debug_assert_eq!(self.bytes.len(), self.len / 4 + 1, "a byte has four writes");
        let bits = following.min(FOLLOWING_MOST) << (self.len % 4 * 2);
        if let Some(last) = self.bytes.last_mut() {
            *last |= bits;
        }
        self.len += 1;
        true
    }

    /// A guess for writes without requests: the LBAs that come next, as long as each is one more
    /// than the one before.
    pub(crate) fn guess(lbas: &[u32]) -> Following {
        Following::joined(lbas.len(), |i| lbas[i - 1].checked_add(1) == Some(lbas[i]))
    }

    /// As the starts of requests tell.
    pub(crate) fn of_starts(starts: &Bits) -> Following {
        Following::joined(starts.len(), |i| !starts.get(i))
    }

    /// The numbers of `len` writes, of which those that `joins` names, from 1 on, belong to the
    /// request of the write before.
    fn joined(len: usize, joins: impl Fn(usize) -> bool) -> Following {
        let mut bytes = vec![0; len.div_ceil(4)];
        let mut behind = 0;
        for i in (0..len).rev() {
            bytes[i / 4] |= behind << (i % 4 * 2);
            behind = if i > 0 && joins(i) { (behind + 1).min(FOLLOWING_MOST) } else { 0 };
        }
        Following { bytes, len }
    }

    /// Appends the numbers of later writes.
    pub(crate) fn extend(&mut self, later: &Following) {
        self.bytes.reserve(later.bytes.len());
        for i in 0..later.len {
            let pushed = self.push(later.get(i));
            debug_assert!(pushed, "room was reserved");
        }
    }

    /// The same, but no page follows any of these writes.
    #[must_use]
    pub fn without(&self, writes: std::ops::Range<usize>) -> Following {
        let mut without = self.clone();
        for i in writes.start..writes.end.min(self.len) {
            without.bytes[i / 4] &= !(3 << (i % 4 * 2));
        }
        without
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(following: &Following) -> Vec<u8> {
        (0..following.len()).map(|i| following.get(i)).collect()
    }

    #[test]
    fn successive_lbas_are_taken_for_a_request() {
        let following = Following::guess(&[7, 8, 9, 10, 11, 3, 5, 6, u32::MAX, 0]);
        assert_eq!(numbers(&following), [3, 3, 2, 1, 0, 0, 1, 0, 0, 0]);
        assert_eq!(numbers(&Following::guess(&[])), [0; 0]);
    }

    #[test]
    fn starts_of_requests_tell_what_follows() {
        let mut starts = Bits::ones(7);
        [1, 2, 3, 4, 6].iter().for_each(|&i| starts.set(i, false));
        assert_eq!(numbers(&Following::of_starts(&starts)), [3, 3, 2, 1, 0, 1, 0]);
    }

    #[test]
    fn numbers_that_are_appended_or_left_out_leave_the_others() {
        let mut following = Following::guess(&[1, 2, 3]);
        following.extend(&Following::guess(&[4, 5, 6, 7]));
        assert_eq!(numbers(&following), [2, 1, 0, 3, 2, 1, 0]);
        assert_eq!(numbers(&following.without(1..4)), [2, 0, 0, 0, 2, 1, 0]);
        assert!(following.push(9));
        assert_eq!(following.get(7), FOLLOWING_MOST);
    }
}
