//! The garbage of a zone and the zone's state, in one number.

use bytemuck::{Pod, Zeroable};

/// The garbage pages of a zone. The number also says whether the zone is free, may be a victim (it
/// is sealed), or holds pages but can't be a victim (it is open or quarantined).
///
/// For a sealed zone it is the number of garbage pages; otherwise it is negative. So one
/// unconditional increment serves all zones that hold pages, and a maximum over many zones skips
/// those that can't be victims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Garbage(i32);

/// The offset of the number while a zone holds pages and can't be a victim.
const BARRED: i32 = -(1 << 30);

impl Garbage {
    /// The number of a free zone. Increments of zone 0, which does not exist, count the first
    /// writes of pages.
    pub(crate) const FREE: Garbage = Garbage(i32::MIN);

    /// The number of an open zone without garbage.
    pub(crate) const OPENED: Garbage = Garbage(BARRED);

    /// True if the zone holds no pages.
    pub(crate) fn is_free(self) -> bool {
        self == Garbage::FREE
    }

    /// True if the zone is sealed and not quarantined.
    #[inline(always)]
    pub(crate) fn is_sealed(self) -> bool {
        self.0 >= 0
    }

    /// Garbage pages, whatever the state of the zone.
    pub(crate) fn pages(self) -> u32 {
        let barred = if self.is_free() { i32::MIN } else { BARRED };
        let pages = if self.is_sealed() { self.0 } else { self.0.wrapping_sub(barred) };
        pages as u32
    }

    /// The number itself: garbage pages, or negative if the zone can't be a victim.
    #[inline(always)]
    pub(crate) fn number(self) -> i32 {
        self.0
    }

    /// Counts one more garbage page.
    #[inline(always)]
    pub(crate) fn increment(&mut self) {
        self.0 = self.0.wrapping_add(1);
    }

    /// Increments since an earlier moment.
    #[inline(always)]
    pub(crate) fn since(self, earlier: Garbage) -> u64 {
        self.0.wrapping_sub(earlier.0) as u64
    }

    /// Counts more garbage pages.
    pub(crate) fn add(&mut self, pages: u32) {
        debug_assert!(pages <= BARRED.unsigned_abs(), "{pages} pages reach another state");
        self.0 += pages as i32;
    }

    /// Lets an open or quarantined zone be a victim from now on.
    pub(crate) fn admit(&mut self) {
        assert!(!self.is_free() && !self.is_sealed(), "only a zone that is filled is sealed");
        self.0 -= BARRED;
    }

    /// Excludes a sealed zone from being a victim from now on.
    pub(crate) fn bar(&mut self) {
        assert!(self.is_sealed(), "only a sealed zone is barred");
        self.0 += BARRED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbage_is_counted_alike_in_every_state_and_only_a_sealed_zone_is_no_less_than_zero() {
        let mut garbage = Garbage::OPENED;
        garbage.increment();
        assert_eq!((garbage.pages(), garbage.is_sealed(), garbage.is_free()), (1, false, false));
        garbage.admit();
        garbage.add(2);
        assert_eq!((garbage.pages(), garbage.is_sealed(), garbage.0), (3, true, 3));
        garbage.bar();
        garbage.increment();
        assert_eq!((garbage.pages(), garbage.is_sealed(), garbage.is_free()), (4, false, false));
        assert_eq!((Garbage::FREE.pages(), Garbage::FREE.is_sealed()), (0, false));
        assert_eq!(garbage.since(Garbage::OPENED), 4);
    }
}
