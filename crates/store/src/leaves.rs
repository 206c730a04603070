//! The second level of the map: leaves of 1,024 pages, in memory as they are needed.
//!
//! A leaf lies in memory as it lies on the device: the slots of its pages, the sums of their
//! contents, then what the scheme remembers of each. A checkpoint takes a leaf by sharing it; a
//! shared leaf is copied before it is changed.

use std::sync::Arc;

use bytemuck::Zeroable;
use frostline_log::{Entry, Map};
use frostline_placement::registry::SCHEMES;
use frostline_placement::{AnyState, Stamp};

use crate::format::PAGE;

/// Pages in a leaf.
pub const LEAF: usize = 1024;

/// Pages of a leaf on the device, if the scheme remembers so many bytes of each page.
pub fn leaf_pages(state: usize) -> usize {
    (LEAF * (8 + state)).div_ceil(PAGE)
}

/// Words that the page state of every scheme fits into.
pub const WORDS: usize = 5;

const _: () = assert!(widest() <= size_of::<State>());

/// Bytes that the schemes of the registry remember of a page at most.
const fn widest() -> usize {
    let (mut most, mut i) = (0, 0);
    while i < SCHEMES.len() {
        if SCHEMES[i].page_bytes > most {
            most = SCHEMES[i].page_bytes;
        }
        i += 1;
    }
    most
}

/// What the scheme remembers of a page.
pub type State = AnyState<WORDS>;

/// The bytes of a leaf.
pub type Leaf = Arc<[u8]>;

struct Place {
    leaf: Option<Leaf>,
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
    Changed(u32, Leaf),
    /// All are in use.
    Nothing,
}

/// The leaves, by number.
pub struct Leaves {
    places: Vec<Place>,
    resident: usize,
    hand: usize,
    space: u32,
    /// Bytes that the scheme remembers of a page.
    state: usize,
}

impl Leaves {
    /// A map of `space` pages, of which no leaf is in memory, and of each of which the scheme
    /// remembers `state` bytes.
    pub fn new(space: u32, state: usize) -> Self {
        let leaves = (space as usize).div_ceil(LEAF);
        let place = || Place { leaf: None, dirty: false, held: false, used: false };
        let places = (0..leaves).map(|_| place()).collect();
        Leaves { places, resident: 0, hand: 0, space, state }
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
        clamp: impl Fn(&mut State, u32),
    ) {
        let (mut bytes, mut at): (Leaf, u64) = match bytes {
            Some((bytes, time)) => (bytes.into(), time),
            None => (vec![0; leaf_pages(self.state) * PAGE].into(), now),
        };
        // As the volume would have done, had the leaf been in memory all the time.
        let step = u64::from(Stamp::HORIZON);
        while now.saturating_sub(at) > step {
            at += step;
            self.each_state(&mut bytes, &mut |state| clamp(state, at as u32));
        }
        let place = &mut self.places[leaf as usize];
        place.leaf = Some(bytes);
        place.dirty = false;
        place.used = true;
        self.resident += 1;
    }

    /// Leaves that changed since they were last taken, or `all` in memory. They count as unchanged
    /// from now on, and stay in memory until [`Leaves::written`].
    pub fn take(&mut self, all: bool) -> Vec<(u32, Leaf)> {
        let mut taken = Vec::new();
        for (i, place) in (0u32..).zip(&mut self.places) {
            if let Some(leaf) = place.leaf.clone().filter(|_| all || place.dirty) {
                place.dirty = false;
                place.held = true;
                taken.push((i, leaf));
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
        let clean = |place: &&mut Place| place.leaf.is_some() && !place.dirty && !place.held;
        for place in self.places.iter_mut().filter(clean).take(most) {
            place.leaf = None;
            self.resident -= 1;
        }
    }

    fn leaf(&self, lba: u32) -> &[u8] {
        match &self.places[lba as usize / LEAF].leaf {
            Some(leaf) => leaf,
            None => unreachable!("the store loads a leaf before it asks for a page in it"),
        }
    }

    fn leaf_mut(&mut self, lba: u32) -> &mut [u8] {
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
        word(self.leaf(lba), LEAF + lba as usize % LEAF)
    }

    /// Sets the sum of a page's content.
    pub fn set_sum(&mut self, lba: u32, sum: u32) {
        set_word(self.leaf_mut(lba), LEAF + lba as usize % LEAF, sum);
    }

    /// Points a page to a slot.
    pub fn set_slot(&mut self, lba: u32, slot: u32) {
        set_word(self.leaf_mut(lba), lba as usize % LEAF, slot);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.resident * leaf_pages(self.state) * PAGE + self.places.len() * size_of::<Place>()
    }

    /// The slots of a leaf in memory, by page.
    pub fn slots(&self, leaf: u32) -> impl Iterator<Item = u32> + '_ {
        let bytes = self.leaf(leaf * LEAF as u32);
        (0..LEAF).map(|i| word(bytes, i))
    }

    /// Where the scheme's bytes of a page lie in its leaf.
    fn state_at(&self, lba: u32) -> std::ops::Range<usize> {
        let first = 8 * LEAF + lba as usize % LEAF * self.state;
        first..first + self.state
    }

    /// Shows the states of a leaf's pages, to be changed.
    fn each_state(&self, leaf: &mut Leaf, visit: &mut dyn FnMut(&mut State)) {
        if self.state > 0 {
            let states = &mut Arc::make_mut(leaf)[8 * LEAF..][..self.state * LEAF];
            for bytes in states.chunks_exact_mut(self.state) {
                let mut state = State::zeroed();
                let known = &mut bytemuck::bytes_of_mut(&mut state)[..bytes.len()];
                known.copy_from_slice(bytes);
                visit(&mut state);
                bytes.copy_from_slice(&bytemuck::bytes_of(&state)[..bytes.len()]);
            }
        }
    }
}

/// The `i`-th word of a leaf.
fn word(leaf: &[u8], i: usize) -> u32 {
    bytemuck::pod_read_unaligned(&leaf[4 * i..4 * i + 4])
}

fn set_word(leaf: &mut [u8], i: usize, word: u32) {
    leaf[4 * i..4 * i + 4].copy_from_slice(&word.to_le_bytes());
}

impl Map<State> for Leaves {
    fn space(&self) -> u32 {
        self.space
    }

    fn entry(&self, lba: u32) -> Entry<State> {
        let leaf = self.leaf(lba);
        let mut page = State::zeroed();
        bytemuck::bytes_of_mut(&mut page)[..self.state].copy_from_slice(&leaf[self.state_at(lba)]);
        Entry { slot: word(leaf, lba as usize % LEAF), page }
    }

    fn set(&mut self, lba: u32, entry: Entry<State>) {
        let at = self.state_at(lba);
        let leaf = self.leaf_mut(lba);
        set_word(leaf, lba as usize % LEAF, entry.slot);
        let known = at.len();
        leaf[at].copy_from_slice(&bytemuck::bytes_of(&entry.page)[..known]);
    }

    fn each_page(&mut self, visit: &mut dyn FnMut(&mut State)) {
        for i in 0..self.places.len() {
            if let Some(mut leaf) = self.places[i].leaf.take() {
                self.each_state(&mut leaf, visit);
                self.places[i].leaf = Some(leaf);
            }
        }
    }
}
