//! The second level of the map: leaves of 1,024 pages, in memory as they are needed.
//!
//! A checkpoint takes a leaf by sharing it; whoever changes a shared leaf changes a copy.

use std::sync::Arc;

use bytemuck::Zeroable;
use frostline_log::{Entry, Map};
use frostline_placement::{PageState, Stamp};

use crate::format::PAGE;

/// Pages in a leaf.
pub const LEAF: usize = 1024;

/// A leaf as it can be written down, whatever the scheme remembers of a page.
pub trait Image: Send + Sync {
    /// Its bytes: slots, sums, then what the scheme remembers.
    fn encode(&self) -> Vec<u8>;
}

/// The entries of 1,024 pages and the sums of their contents.
#[derive(Clone)]
pub struct Leaf<P> {
    entries: [Entry<P>; LEAF],
    sums: [u32; LEAF],
}

impl<P: PageState> Image for Leaf<P> {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(leaf_pages(size_of::<P>()) * PAGE);
        self.entries.iter().for_each(|e| bytes.extend_from_slice(&e.slot.to_le_bytes()));
        bytes.extend_from_slice(bytemuck::cast_slice(&self.sums));
        self.entries.iter().for_each(|e| bytes.extend_from_slice(bytemuck::bytes_of(&e.page)));
        bytes.resize(leaf_pages(size_of::<P>()) * PAGE, 0);
        bytes
    }
}

impl<P: PageState> Leaf<P> {
    fn empty() -> Self {
        Leaf { entries: [Entry::zeroed(); LEAF], sums: [0; LEAF] }
    }

    /// The leaf of these bytes.
    fn decode(bytes: &[u8]) -> Self {
        let mut leaf = Self::empty();
        let (slots, rest) = bytes.split_at(4 * LEAF);
        let (sums, pages) = rest.split_at(4 * LEAF);
        let slots = slots.chunks_exact(4).map(bytemuck::pod_read_unaligned);
        let size = size_of::<P>();
        for (i, slot) in slots.enumerate() {
            let page = match size {
                0 => P::zeroed(),
                _ => bytemuck::pod_read_unaligned(&pages[i * size..(i + 1) * size]),
            };
            leaf.entries[i] = Entry { slot, page };
        }
        for (sum, bytes) in leaf.sums.iter_mut().zip(sums.chunks_exact(4)) {
            *sum = bytemuck::pod_read_unaligned(bytes);
        }
        leaf
    }

    /// Clamps stamps as the volume would have done, had the leaf been in memory from `time` to
    /// `now`.
    fn age(&mut self, time: u64, now: u64, clamp: impl Fn(&mut P, u32)) {
        let step = u64::from(Stamp::HORIZON);
        let mut at = time;
        while now.saturating_sub(at) > step {
            at += step;
            self.entries.iter_mut().for_each(|e| clamp(&mut e.page, at as u32));
        }
    }
}

/// Pages of a leaf on the device, if the scheme remembers so many bytes of each page.
pub fn leaf_pages(state: usize) -> usize {
    (LEAF * (8 + state)).div_ceil(PAGE)
}

struct Place<P> {
    leaf: Option<Arc<Leaf<P>>>,
    dirty: bool,
    /// It is being written down, and may not go before that is done.
    held: bool,
    /// It was asked for since the hand of the clock last passed.
    used: bool,
}

/// What became of a wish to have fewer leaves in memory.
pub enum Evicted {
    /// A leaf is gone.
    Gone,
    /// This leaf changed and is to be written down first; it is held until then.
    Changed(u32, Arc<dyn Image>),
    /// All are in use.
    Nothing,
}

/// The leaves, by number.
pub struct Leaves<P> {
    places: Vec<Place<P>>,
    resident: usize,
    hand: usize,
    space: u32,
}

impl<P: PageState> Leaves<P> {
    /// A map of `space` pages, of which no leaf is in memory.
    pub fn new(space: u32) -> Self {
        let leaves = (space as usize).div_ceil(LEAF);
        let place = || Place { leaf: None, dirty: false, held: false, used: false };
        Leaves { places: (0..leaves).map(|_| place()).collect(), resident: 0, hand: 0, space }
    }

    /// Number of leaves in memory.
    pub fn resident(&self) -> usize {
        self.resident
    }

    /// True if the leaf is in memory.
    pub fn has(&self, leaf: u32) -> bool {
        self.places[leaf as usize].leaf.is_some()
    }

    /// Takes a leaf into memory: the bytes that were written at `time`, whose stamps `clamp` keeps
    /// from growing too old, or one that holds nothing.
    pub fn insert(
        &mut self,
        leaf: u32,
        bytes: Option<(&[u8], u64)>,
        now: u64,
        clamp: impl Fn(&mut P, u32),
    ) {
        let mut decoded = bytes.map_or_else(Leaf::empty, |(bytes, _)| Leaf::decode(bytes));
        decoded.age(bytes.map_or(now, |(_, time)| time), now, clamp);
        let place = &mut self.places[leaf as usize];
        place.leaf = Some(Arc::new(decoded));
        place.dirty = false;
        place.used = true;
        self.resident += 1;
    }

    /// Leaves that changed since they were last written down. They count as unchanged from now
    /// on, and stay in memory until [`Leaves::written`].
    pub fn take_dirty(&mut self) -> Vec<(u32, Arc<dyn Image>)> {
        self.take(|place| place.dirty)
    }

    /// The same for all leaves in memory.
    pub fn take_all(&mut self) -> Vec<(u32, Arc<dyn Image>)> {
        self.take(|_| true)
    }

    fn take(&mut self, wanted: impl Fn(&Place<P>) -> bool) -> Vec<(u32, Arc<dyn Image>)> {
        let mut taken = Vec::new();
        for (i, place) in (0u32..).zip(&mut self.places) {
            if let Some(leaf) = place.leaf.clone().filter(|_| wanted(place)) {
                place.dirty = false;
                place.held = true;
                taken.push((i, leaf as Arc<dyn Image>));
            }
        }
        taken
    }

    /// A leaf that was taken is on the device.
    pub fn written(&mut self, leaf: u32) {
        self.places[leaf as usize].held = false;
    }

    /// Drops a leaf that was not used for a while.
    pub fn evict(&mut self) -> Evicted {
        for _ in 0..2 * self.places.len() {
            let at = self.hand;
            self.hand = (self.hand + 1) % self.places.len();
            let place = &mut self.places[at];
            if place.leaf.is_none() || place.held || std::mem::take(&mut place.used) {
                continue;
            }
            if place.dirty {
                place.dirty = false;
                place.held = true;
                if let Some(leaf) = place.leaf.clone() {
                    return Evicted::Changed(at as u32, leaf);
                }
            }
            place.leaf = None;
            self.resident -= 1;
            return Evicted::Gone;
        }
        Evicted::Nothing
    }

    /// Drops up to `most` leaves that did not change.
    pub fn drop_clean(&mut self, most: usize) {
        let clean = |place: &&mut Place<P>| place.leaf.is_some() && !place.dirty && !place.held;
        for place in self.places.iter_mut().filter(clean).take(most) {
            place.leaf = None;
            self.resident -= 1;
        }
    }

    fn leaf(&self, lba: u32) -> &Leaf<P> {
        match &self.places[lba as usize / LEAF].leaf {
            Some(leaf) => leaf,
            None => unreachable!("the store loads a leaf before it asks for a page in it"),
        }
    }

    fn leaf_mut(&mut self, lba: u32) -> &mut Leaf<P> {
        let place = &mut self.places[lba as usize / LEAF];
        place.dirty = true;
        place.used = true;
        match &mut place.leaf {
            Some(leaf) => Arc::make_mut(leaf),
            None => unreachable!("the store loads a leaf before it asks for a page in it"),
        }
    }

    /// The sum of a page's content.
    pub fn sum(&self, lba: u32) -> u32 {
        self.leaf(lba).sums[lba as usize % LEAF]
    }

    /// Sets the sum of a page's content.
    pub fn set_sum(&mut self, lba: u32, sum: u32) {
        self.leaf_mut(lba).sums[lba as usize % LEAF] = sum;
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.resident * size_of::<Leaf<P>>() + self.places.len() * size_of::<Place<P>>()
    }

    /// The slots of a leaf in memory, by page.
    pub fn slots(&self, leaf: u32) -> impl Iterator<Item = u32> + '_ {
        self.leaf(leaf * LEAF as u32).entries.iter().map(|e| e.slot)
    }
}

impl<P: PageState> Map<P> for Leaves<P> {
    fn space(&self) -> u32 {
        self.space
    }

    fn entry(&self, lba: u32) -> &Entry<P> {
        &self.leaf(lba).entries[lba as usize % LEAF]
    }

    fn entry_mut(&mut self, lba: u32) -> &mut Entry<P> {
        &mut self.leaf_mut(lba).entries[lba as usize % LEAF]
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut P)) {
        for leaf in self.places.iter_mut().filter_map(|place| place.leaf.as_mut()) {
            Arc::make_mut(leaf).entries.iter_mut().for_each(|entry| visit(&mut entry.page));
        }
    }
}
