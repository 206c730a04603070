//! The map from LBAs to slots, as a volume sees it.

use bytemuck::Zeroable;
use frostline_placement::PageState;

use crate::memory::Array;
use crate::places::Slot;

/// The slot of a page and the scheme's state of it, in a map that is one array. All zeroes stand
/// for a page that was never written.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C)]
pub struct MapEntry<P> {
    /// The slot's number: zone, shifted, plus offset; see
    /// [`Replay::slot_of`](crate::Replay::slot_of). 0 if the page has no slot.
    pub slot: u32,
    /// The scheme's state of the page.
    pub page: P,
}

/// The same in the map of a driver, which numbers slots as it likes. All zeroes stand for a page
/// that was never written.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C)]
pub struct PageEntry<P> {
    /// The slot; in zone 0 if the page has none.
    pub slot: Slot,
    /// The scheme's state of the page.
    pub page: P,
}

/// A map from LBAs to slots, or the part of it that is in memory. The simulator's map is one array.
/// A driver that keeps the map itself hands the entries of pages to the volume
/// ([`Steps::place_user`](crate::Steps::place_user)).
pub trait Map<P: PageState> {
    /// Largest LBA + 1.
    fn space(&self) -> u64;

    /// Largest LBA that may have been written, plus 1.
    fn reach(&self) -> u64 {
        self.space()
    }

    /// The state of a page that has a slot; `None` if it has none, or is not in memory.
    fn peek(&self, lba: u64) -> Option<P>;

    /// Passes the state of every page in memory that has a slot, and maybe of others, to `visit`,
    /// which may change it.
    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P));
}

impl<P: PageState> Map<P> for Array<MapEntry<P>> {
    fn space(&self) -> u64 {
        self.len() as u64
    }

    #[inline(always)]
    fn peek(&self, lba: u64) -> Option<P> {
        self.get(lba as usize).filter(|entry| entry.slot != 0).map(|entry| entry.page)
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P)) {
        if size_of::<P>() > 0 {
            self.iter_mut().filter(|e| e.slot != 0).for_each(|entry| visit(&mut entry.page));
        }
    }
}
