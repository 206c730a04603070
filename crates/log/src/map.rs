//! The map from LBAs to slots, as a volume sees it.

use bytemuck::Zeroable;
use frostline_placement::PageState;

use crate::memory::Array;

/// The slot of a page whose content is lost: a driver found it damaged. It lies in zone 0, which
/// does not exist, so to a volume the page is as if it had never been written.
pub const LOST: u32 = 1;

/// The slot of a page and the scheme's state of it. All zeroes: never written.
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C)]
pub struct MapEntry<P> {
    /// Zone shifted, plus offset: see [`Volume::slot_of`](crate::Volume::slot_of). 0 if the page
    /// has none.
    pub slot: u32,
    /// The scheme's state of the page.
    pub page: P,
}

/// A map from LBAs to slots, or so much of it as is in memory. The simulator's is one array; a
/// driver that keeps its own hands the entries of pages to the volume
/// ([`Volume::place_user`](crate::Volume::place_user)).
pub trait Map<P: PageState> {
    /// Largest LBA + 1.
    fn space(&self) -> u32;

    /// Largest LBA that may have been written, and 1.
    fn reach(&self) -> u32 {
        self.space()
    }

    /// The entry of a page within the space, if it is in memory.
    fn peek(&self, lba: u32) -> Option<MapEntry<P>>;

    /// Shows the state of every page in memory that has a slot, and maybe of others, to be changed.
    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P));
}

impl<P: PageState> Map<P> for Array<MapEntry<P>> {
    fn space(&self) -> u32 {
        self.len() as u32
    }

    #[inline(always)]
    fn peek(&self, lba: u32) -> Option<MapEntry<P>> {
        self.get(lba as usize).copied()
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P)) {
        if size_of::<P>() > 0 {
            self.iter_mut().filter(|e| e.slot != 0).for_each(|entry| visit(&mut entry.page));
        }
    }
}
