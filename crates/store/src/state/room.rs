//! The room of a store: what its records take, and what they may take yet.
//!
//! Zones hold as many records as have room beside the headers of their chunks. So each record
//! counts with its units and its share of a chunk's header and last page ([`Layout::beside_image`],
//! [`BESIDE_DELTA`]). *Whole pages* are those that fit if none is shorter, beside the garbage that
//! the store may have: [`Super::whole_pages`].
//!
//! A store has two promises to choose from:
//!
//! * Each of its pages can be written whole at any time. It has LBAs for as many as fit whole. What
//!   a page takes with its delta and tail beyond a whole page is its *excess*. All excess together
//!   is bounded; a page that would exceed it is written as an image, which has none.
//! * A [thin](crate::Format::thin) store has more LBAs, and takes what fits. What an engine has yet
//!   to write is [promised](crate::Store::promise) to it, whole. A write that does not fit is
//!   refused before it changes anything.
//!
//! Cleaning takes no room: a merged image is no longer than what it replaces.
//!
//! [`Super::whole_pages`]: crate::format::Super::whole_pages

use frostline_log::{LogError, Slot};

use crate::StoreError;
use crate::format::PAGE;
use crate::format::layout::{BESIDE_DELTA, Layout, sure_images};
use crate::format::packing::PackedPage;
use crate::state::State;

/// A thin store writes no delta or tail that makes a page longer than a whole one once less than
/// one in so many parts of its room is left.
const TIGHT: u64 = 16;

/// Of room that an engine does not need yet, it is promised one in so many parts.
const AHEAD: u64 = 8;

/// It writes each page in the form that takes least once less than one in so many parts is left.
const SHORT: u64 = 64;

/// What a store takes of its device, as `df` shows a file system. Bytes of zones for pages: those
/// for metadata are not in it. `used`, `reclaimable` and `free` together are `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Space {
    /// Bytes of all zones for pages.
    pub total: u64,
    /// Bytes of valid records, with their headers.
    pub used: u64,
    /// Bytes of garbage and padding, which cleaning makes free.
    pub reclaimable: u64,
    /// Bytes that were not written since their zones were reset.
    pub free: u64,
    /// Bytes of the images of all pages, each as it was last written whole: the data, without
    /// deltas, headers and garbage.
    pub data: u64,
    /// More pages that it will hold whatever is in them.
    pub whole_pages: u64,
    /// More pages that it will hold if they take as much as those that it has.
    pub like_pages: u64,
}

impl Space {
    /// Bytes that are used or reclaimable, for each byte of data; 0 if there are no data.
    pub fn over_data(&self) -> f64 {
        match self.data {
            0 => 0.0,
            data => (self.used + self.reclaimable) as f64 / data as f64,
        }
    }
}

/// Units of deltas and tails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeUnits {
    /// Of all.
    pub all: i64,
    /// By which their pages are longer than whole ones.
    pub excess: i64,
}

impl ChangeUnits {
    /// A page has so many, and had as many `before`.
    pub(crate) fn update(&mut self, before: ChangeUnits, after: ChangeUnits) {
        self.all += after.all - before.all;
        self.excess += after.excess - before.excess;
    }

    /// The same, but none where records that were lost make it less.
    pub(crate) fn at_least_none(self) -> ChangeUnits {
        ChangeUnits { all: self.all.max(0), excess: self.excess.max(0) }
    }
}

/// What an engine asks a promise for. The room behind the usual limit is kept for what hardly needs
/// any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomFor {
    /// Any change.
    Any,
    /// Changes that leave what pages hold as long as it is. They may use a quarter of what is kept:
    /// pages that compress less take more room even so.
    NoLonger,
    /// Changes that make pages shorter. They may use half of what is kept.
    Last,
}

/// What records may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes as long as there is a choice.
    usual: u64,
    /// Bytes of a thin store in any case.
    last: u64,
    /// Units of excess of a store that is not thin.
    excess: u64,
}

impl Limits {
    /// Bytes up to which room is promised.
    fn promised(&self, room: RoomFor) -> u64 {
        let half = self.usual.midpoint(self.last);
        match room {
            RoomFor::Any => self.usual,
            RoomFor::NoLonger => self.usual.midpoint(half),
            RoomFor::Last => half,
        }
    }
}

impl Layout {
    /// Bytes that an image takes beside its own, of the header and the last page of its chunk.
    pub(crate) fn beside_image(&self) -> u64 {
        (2 * PAGE as u64).div_ceil(self.chunk_shape().pages.into())
    }

    /// Bytes that a whole page takes.
    fn whole_bytes(&self) -> u64 {
        PAGE as u64 + self.beside_image()
    }

    /// True if it has LBAs for more pages than fit whole.
    pub(crate) fn is_thin(&self) -> bool {
        self.fixed.logical_pages > self.fixed.whole_pages
    }

    /// What records may take.
    pub(crate) fn limits(&self) -> Limits {
        let fixed = &self.fixed;
        let zones = self.data.len() as u64;
        let zones = zones.saturating_sub(u64::from(fixed.spare) + u64::from(fixed.reserve) + 1);
        let most = zones * u64::from(sure_images(fixed, self.sizes));
        // Half of what is left for garbage in any case.
        let last = fixed.whole_pages.max(fixed.whole_pages.midpoint(most));
        Limits {
            usual: fixed.whole_pages * self.whole_bytes(),
            last: last * self.whole_bytes(),
            excess: (last - fixed.whole_pages) * u64::from(self.sizes.page_units()),
        }
    }

    /// Units by which a page with an image, a delta and a tail of so many is longer than a whole
    /// one; 0 units if one of these is not there.
    pub(crate) fn excess(&self, units: [u32; 3]) -> u32 {
        let beside = self.sizes.units_of(BESIDE_DELTA as u32);
        let parts = units[1..].iter().filter(|&&units| units > 0).count() as u32;
        let all: u32 = units.iter().sum();
        (all + parts * beside).saturating_sub(self.sizes.page_units())
    }

    /// The units of the delta and the tail of such a page.
    pub(crate) fn change_units(&self, units: [u32; 3]) -> ChangeUnits {
        let [_, delta, tail] = units;
        ChangeUnits { all: (delta + tail).into(), excess: self.excess(units).into() }
    }

    /// Bytes that a page with an image, a delta and a tail of so many units takes.
    pub(crate) fn bytes_of(&self, units: [u32; 3]) -> u64 {
        let all: u64 = units.iter().map(|&units| u64::from(units)).sum();
        let parts = units[1..].iter().filter(|&&units| units > 0).count();
        let image = if units[0] > 0 { self.beside_image() } else { 0 };
        all * u64::from(self.sizes.unit()) + image + (parts * BESIDE_DELTA) as u64
    }
}

impl State {
    /// Bytes that all records take.
    fn used_bytes(&self) -> u64 {
        let layout = &self.layout;
        self.volume.log().valid_units() * u64::from(layout.sizes.unit())
            + self.valid_pages() * layout.beside_image()
            + self.valid_deltas() * BESIDE_DELTA as u64
    }

    /// True if pages are to take as little as they can.
    pub(crate) fn is_short(&self) -> bool {
        let usual = self.layout.limits().usual;
        self.layout.is_thin() && self.used_bytes() > usual - usual / SHORT
    }

    /// True if a page may get a delta or tail: its records have as many units before, and would
    /// have as many after.
    pub(crate) fn has_room_for_change(&self, before: [u32; 3], after: [u32; 3]) -> bool {
        let layout = &self.layout;
        let (had, has) = (layout.excess(before), layout.excess(after));
        if has <= had {
            return true;
        }
        let limits = layout.limits();
        if layout.is_thin() {
            let more = layout.bytes_of(after).saturating_sub(layout.bytes_of(before));
            self.used_bytes() + more <= limits.usual - limits.usual / TIGHT
        } else {
            self.changes().excess as u64 + u64::from(has - had) <= limits.excess
        }
    }

    /// Refuses a write of the user by which a page's records become too many for a thin store.
    pub(crate) fn check_room(&self, before: [u32; 3], after: [u32; 3]) -> Result<(), StoreError> {
        let layout = &self.layout;
        let (had, has) = (layout.bytes_of(before), layout.bytes_of(after));
        if has <= had || !layout.is_thin() {
            return Ok(());
        }
        self.check_bytes(has - had)
    }

    /// Refuses more pages, whole, than a thin store has room for.
    pub(crate) fn check_pages(&self, pages: usize) -> Result<(), StoreError> {
        match self.layout.is_thin() {
            true => self.check_bytes(pages as u64 * self.layout.whole_bytes()),
            false => Ok(()),
        }
    }

    fn check_bytes(&self, more: u64) -> Result<(), StoreError> {
        match self.used_bytes() + more <= self.layout.limits().last {
            true => Ok(()),
            false => {
                let (valid, slots) = (self.valid_pages(), self.layout.fixed.logical_pages);
                Err(LogError::Full { valid, slots }.into())
            }
        }
    }

    /// Whole pages that fit, but for those that other engines than this one were promised.
    fn whole_pages(&self, engine: u32, limit: u64) -> u64 {
        let room = limit.saturating_sub(self.used_bytes()) / self.layout.whole_bytes();
        room.saturating_sub(self.promises.of_others(engine))
    }

    /// Promises an engine so many pages: see [`Store::promise`](crate::Store::promise).
    pub(crate) fn promise(
        &mut self,
        engine: u32,
        needs: u64,
        wishes: u64,
        room: RoomFor,
    ) -> Option<u64> {
        if !self.layout.is_thin() {
            return Some(wishes.max(needs));
        }
        let limits = self.layout.limits();
        let room = self.whole_pages(engine, limits.promised(room));
        if room < needs {
            return None;
        }
        // Most of the room stays for other engines.
        let granted = wishes.clamp(needs, needs + (room - needs) / AHEAD);
        self.promises.make(engine, granted);
        Some(granted)
    }

    /// Bytes of the images of all pages.
    pub(crate) fn data_bytes(&self) -> u64 {
        let images = self.volume.log().valid_units().saturating_sub(self.changes().all as u64);
        images * u64::from(self.layout.sizes.unit())
    }

    /// Bytes of zones for pages, and of them those that are written.
    pub(crate) fn written_bytes(&self) -> (u64, u64) {
        let zone = u64::from(self.layout.fixed.device_pages) * PAGE as u64;
        let total = self.zones.len().saturating_sub(1) as u64 * zone;
        // Sealed zones count whole, as nothing more is written to them.
        let log = self.volume.log();
        let (mut sealed, mut open_pages) = (log.zones().live(), 0);
        for open in log.open_zones() {
            sealed -= 1;
            open_pages += u64::from(self.zones.get(open).pages);
        }
        debug_assert!(open_pages * PAGE as u64 <= log.open_zones().count() as u64 * zone);
        let written = sealed * zone + open_pages * PAGE as u64;
        (total, written.min(total))
    }

    /// What the store takes of its device.
    pub(crate) fn space(&self) -> Space {
        let layout = &self.layout;
        let (total, written) = self.written_bytes();
        debug_assert!(written <= total, "more is written than the zones have");
        let used = self.used_bytes().min(written);
        let (valid, limits) = (self.valid_pages(), layout.limits());
        let unused = layout.fixed.logical_pages.saturating_sub(valid);
        let whole_pages = match layout.is_thin() {
            true => self.whole_pages(u32::MAX, limits.usual),
            false => unused,
        };
        let each = self.used_bytes().checked_div(valid).unwrap_or(layout.whole_bytes()).max(1);
        let like_pages = limits.usual.saturating_sub(self.used_bytes()) / each;
        Space {
            total,
            used,
            reclaimable: written - used,
            free: total - written,
            data: self.data_bytes(),
            whole_pages: whole_pages.min(unused),
            like_pages: like_pages.min(unused).max(whole_pages.min(unused)),
        }
    }

    /// Pages that a group may have: what fits into the free zones but one, which is cleaning's.
    pub(crate) fn group_room(&self) -> u64 {
        let zones = self.volume.log().free_zones().saturating_sub(1) as u64;
        zones * u64::from(sure_images(&self.layout.fixed, self.layout.sizes))
    }

    /// Checks that the store may hold these pages.
    pub(crate) fn check_new(&self, pages: &[PackedPage<'_>]) -> Result<(), StoreError> {
        let map = self.volume.map();
        let is_new =
            |lba: u32| map.position(lba).is_none_or(|at| map.row(at).entry.slot == Slot::NONE);
        let new = pages.iter().filter(|page| is_new(page.lba)).count() as u64;
        let (valid, slots) = (self.valid_pages(), self.layout.fixed.logical_pages);
        match valid + new > slots {
            true => Err(LogError::Full { valid, slots }.into()),
            false => self.check_pages(pages.len()),
        }
    }
}
