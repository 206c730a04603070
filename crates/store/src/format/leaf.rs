//! Leaves of the map: the place of each page's image, and behind them those of the deltas and tails
//! that there are.
//!
//! Every page has a row for its image, so that its place is found without a search. Few pages have
//! a delta, and fewer a tail: each of these has a row behind those of the images, in order of
//! pages, looked for from where it would be if they were spread evenly. A row is as short as the places of the device allow ([`LeafShape`]).
//!
//! A leaf lies in memory as on the device, where zeroes fill its last page up.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use frostline_log::{PageEntry, Slot};
use frostline_placement::{AnyState, MOST_WORDS};

use crate::format::PAGE;
use crate::format::records::RecordKind;

/// Pages whose places are in one leaf, at most.
const MOST_PAGES: u32 = 1024;

/// Pages that a leaf takes on the device, at most: what the smallest zones have room for.
const MOST_ON_DEVICE: usize = 13;

/// Bytes of a record's sum.
const SUM: usize = 4;

/// Bytes that say which page's delta or tail a row is of.
const KEY: usize = 2;

/// Deltas and tails for which a leaf gets room when it has none left.
const GROWTH: usize = 32;

/// The state that a scheme keeps of a page.
pub(crate) type StoredState = AnyState<MOST_WORDS>;

/// The bytes of a leaf's rows.
///
/// A place is one number: zone of the volume, offset in it and units of the record less one, each
/// with as many bits as the device needs. So it has 4 bytes on a device of 1 GiB with units of 64
/// bytes, 5 on one of 1 TiB and 6 on one of 16 TiB. 0 stands for no record, 1 for one that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeafShape {
    /// Pages of a leaf, a power of two.
    pages: u32,
    /// Bits of an offset.
    offset_bits: u32,
    /// Bits of a number of units less one.
    unit_bits: u32,
    /// Bytes of a place.
    place: usize,
    /// Bytes of state that the scheme keeps of a page.
    state: usize,
    /// True if pages may have deltas and tails.
    has_changes: bool,
}

/// Bits of the numbers below `count`.
fn bits_below(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
}

impl LeafShape {
    /// The rows of a store on a device of so many zones, of which each has so many units, as has a
    /// page; the scheme keeps `state` bytes of each page. None if there are more places than a
    /// number has.
    pub(crate) fn new(
        zones: u32,
        zone_units: u32,
        page_units: u32,
        state: usize,
    ) -> Option<LeafShape> {
        let (offset_bits, unit_bits) = (bits_below(zone_units), bits_below(page_units));
        let bits = bits_below(zones) + offset_bits + unit_bits;
        // With the sum, at least the eight bytes that are read at once.
        let place = bits.div_ceil(8).max(4) as usize;
        let has_changes = page_units > 1;
        let pages = MOST_PAGES;
        let mut shape = LeafShape { pages, offset_bits, unit_bits, place, state, has_changes };
        while shape.most_pages() > MOST_ON_DEVICE && shape.pages > 1 {
            shape.pages /= 2;
        }
        (bits <= u64::BITS).then_some(shape)
    }

    /// Pages whose places are in one leaf.
    pub(crate) fn pages(self) -> u32 {
        self.pages
    }

    /// Leaves of a store of so many pages.
    pub(crate) fn leaves_of(self, pages: u64) -> u32 {
        pages.div_ceil(self.pages.into()) as u32
    }

    /// The leaf that has a page's row, and which of its rows that is.
    pub(crate) fn place_in_leaf(self, page: u32) -> (u32, usize) {
        (page / self.pages, (page % self.pages) as usize)
    }

    /// The pages of a leaf.
    pub(crate) fn pages_of_leaf(self, leaf: u32) -> Range<u64> {
        let first = u64::from(leaf) * u64::from(self.pages);
        first..first + u64::from(self.pages)
    }

    /// A sentence that names the pages whose places a leaf has.
    pub(crate) fn tells(self, leaf: u32) -> String {
        let (first, others) = (self.pages_of_leaf(leaf).start, self.pages - 1);
        format!("it tells where LBA {first} and the next {others} are")
    }

    /// Bytes of a place.
    pub(crate) fn place(self) -> usize {
        self.place
    }

    /// Bytes of a row: place, sum, state.
    pub(crate) fn row(self) -> usize {
        self.place + SUM + self.state
    }

    /// Bytes of the rows of all images.
    pub(crate) fn images(self) -> usize {
        self.pages as usize * self.row()
    }

    /// Bytes of the row of a delta or tail.
    fn change(self) -> usize {
        KEY + self.row()
    }

    /// Deltas and tails in a leaf, at most.
    fn most_changes(self) -> usize {
        if self.has_changes { 2 * self.pages as usize } else { 0 }
    }

    /// Pages of a leaf on the device, at most.
    pub(crate) fn most_pages(self) -> usize {
        (self.images() + self.most_changes() * self.change()).div_ceil(PAGE)
    }

    /// The number of a place.
    fn encode(self, Slot { zone, offset }: Slot, units: u32) -> u64 {
        match zone {
            0 => offset.into(),
            _ => {
                let slot = u64::from(zone) << self.offset_bits | u64::from(offset);
                slot << self.unit_bits | u64::from(units.saturating_sub(1))
            }
        }
    }

    /// The slot and the units of a place.
    fn decode(self, place: u64) -> (Slot, u32) {
        if place <= 1 {
            return (Slot { zone: 0, offset: place as u32 }, 0);
        }
        let slot = place >> self.unit_bits;
        let zone = (slot >> self.offset_bits) as u32;
        let offset = (slot & ((1 << self.offset_bits) - 1)) as u32;
        (Slot { zone, offset }, (place & ((1 << self.unit_bits) - 1)) as u32 + 1)
    }
}

/// What a leaf has of a record.
#[derive(Clone, Copy)]
pub(crate) struct LeafRow {
    /// Its slot, and the scheme's state of it.
    pub entry: PageEntry<StoredState>,
    /// Its units.
    pub units: u32,
    /// Its sum.
    pub sum: u32,
}

/// Where a record is. A [`LeafRow`] has the scheme's state as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeafPlace {
    /// Its slot.
    pub slot: Slot,
    /// Its units.
    pub units: u32,
    /// Its sum.
    pub sum: u32,
}

impl LeafPlace {
    /// That of a record that is not there.
    const NONE: LeafPlace = LeafPlace { slot: Slot::NONE, units: 0, sum: 0 };
}

impl LeafRow {
    /// That of a record that is not there.
    pub(crate) fn none() -> LeafRow {
        LeafRow { entry: PageEntry::zeroed(), units: 0, sum: 0 }
    }
}

/// A leaf: the rows of its images, and behind them those of its deltas and tails. A copy shares the
/// bytes until one of both changes.
#[derive(Clone)]
pub(crate) struct Leaf(Arc<Vec<u8>>);

/// What the row of a delta or tail is of, in the order of these rows; other than the zeroes behind
/// them.
fn key(index: usize, kind: RecordKind) -> u16 {
    1 + 2 * index as u16 + u16::from(kind == RecordKind::Tail)
}

impl Leaf {
    /// A leaf without any record.
    pub(crate) fn new(shape: LeafShape) -> Leaf {
        Leaf(Arc::new(vec![0; shape.images()]))
    }

    /// The leaf that lies on the device in these pages; none if they are no leaf.
    pub(crate) fn of_pages(shape: LeafShape, pages: &[u8]) -> Option<Leaf> {
        let (_, changes) = pages.split_at_checked(shape.images())?;
        let is_one = |row: &&[u8]| row[..KEY] != [0; KEY];
        let changes = changes.chunks_exact(shape.change()).take_while(is_one).count();
        let leaf = Leaf(Arc::new(pages[..shape.images() + changes * shape.change()].to_vec()));
        let in_order = (1..changes).all(|i| leaf.key_at(shape, i - 1) < leaf.key_at(shape, i));
        let most = shape.most_changes();
        let last = changes.checked_sub(1).map_or(0, |last| leaf.key_at(shape, last).into());
        (in_order && last <= most).then_some(leaf)
    }

    /// Appends the leaf as it lies on the device, in whole pages; returns their number.
    pub(crate) fn append_pages(&self, into: &mut Vec<u8>) -> u16 {
        let begin = into.len();
        into.extend_from_slice(&self.0);
        let pages = (into.len() - begin).div_ceil(PAGE);
        into.resize(begin + pages * PAGE, 0);
        pages as u16
    }

    /// Bytes of its rows.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Deltas and tails in it.
    fn changes(&self, shape: LeafShape) -> usize {
        (self.0.len() - shape.images()) / shape.change()
    }

    fn key_at(&self, shape: LeafShape, i: usize) -> u16 {
        let at = shape.images() + i * shape.change();
        u16::from_le_bytes([self.0[at], self.0[at + 1]])
    }

    /// Where the row of a record begins; of a delta or tail that has none, where its key would
    /// begin.
    fn find(&self, shape: LeafShape, index: usize, kind: RecordKind) -> Result<usize, usize> {
        if kind == RecordKind::Image {
            return Ok(index * shape.row());
        }
        let before = self.first_from(shape, index, key(index, kind));
        let at = shape.images() + before * shape.change();
        if self.is_of(at, index, kind) { Ok(at + KEY) } else { Err(at) }
    }

    /// The first row of a delta or tail whose key is not smaller than this one, of a page of this
    /// index: looked for in growing steps from where it would be if they were spread evenly.
    fn first_from(&self, shape: LeafShape, index: usize, wanted: u16) -> usize {
        let is_below = |i: usize| self.key_at(shape, i) < wanted;
        let count = self.changes(shape);
        let guess = (index * count) >> shape.pages.trailing_zeros();
        let (mut begin, mut end, mut step) = (0, count, 4);
        if guess < count && is_below(guess) {
            begin = guess + 1;
            while begin + step < count {
                if !is_below(begin + step) {
                    end = begin + step;
                    break;
                }
                begin += step + 1;
                step *= 2;
            }
        } else {
            end = guess;
            while end > step {
                if is_below(end - step) {
                    begin = end - step + 1;
                    break;
                }
                end -= step;
                step *= 2;
            }
        }
        while begin < end {
            let middle = begin.midpoint(end);
            match is_below(middle) {
                true => begin = middle + 1,
                false => end = middle,
            }
        }
        begin
    }

    /// True if the row that begins there is of this record.
    fn is_of(&self, at: usize, index: usize, kind: RecordKind) -> bool {
        self.0.get(at..at + KEY) == Some(&key(index, kind).to_le_bytes())
    }

    /// The places of a page's image, delta and tail; no slot if it is not there.
    pub(crate) fn records_of(&self, shape: LeafShape, index: usize) -> [LeafPlace; 3] {
        let image = self.record_at(shape, index * shape.row());
        let mut places = [image, LeafPlace::NONE, LeafPlace::NONE];
        let before = self.first_from(shape, index, key(index, RecordKind::Delta));
        let mut next = shape.images() + before * shape.change();
        for (place, kind) in places[1..].iter_mut().zip([RecordKind::Delta, RecordKind::Tail]) {
            if self.is_of(next, index, kind) {
                *place = self.record_at(shape, next + KEY);
                next += shape.change();
            }
        }
        places
    }

    /// The place of a record; no slot if it is not there.
    pub(crate) fn place(&self, shape: LeafShape, index: usize, kind: RecordKind) -> LeafPlace {
        self.find(shape, index, kind).map_or(LeafPlace::NONE, |at| self.record_at(shape, at))
    }

    /// The row of a record.
    pub(crate) fn row(&self, shape: LeafShape, index: usize, kind: RecordKind) -> LeafRow {
        self.find(shape, index, kind).map_or_else(|_| LeafRow::none(), |at| self.row_at(shape, at))
    }

    fn row_at(&self, shape: LeafShape, at: usize) -> LeafRow {
        let LeafPlace { slot, units, sum } = self.record_at(shape, at);
        let state = &self.0[at + shape.place + SUM..at + shape.row()];
        let mut page = StoredState::zeroed();
        bytemuck::bytes_of_mut(&mut page)[..shape.state].copy_from_slice(state);
        LeafRow { entry: PageEntry { slot, page }, units, sum }
    }

    fn record_at(&self, shape: LeafShape, at: usize) -> LeafPlace {
        let (slot, units) = shape.decode(self.place_at(shape, at));
        let sum = bytemuck::pod_read_unaligned(&self.0[at + shape.place..][..SUM]);
        LeafPlace { slot, units, sum }
    }

    fn place_at(&self, shape: LeafShape, at: usize) -> u64 {
        let eight: u64 = bytemuck::pod_read_unaligned(&self.0[at..at + 8]);
        eight & (u64::MAX >> (u64::BITS - 8 * shape.place as u32))
    }

    /// Changes the row of a record. That of a delta or tail without a slot is left out.
    pub(crate) fn set(&mut self, shape: LeafShape, index: usize, kind: RecordKind, row: &LeafRow) {
        let is_there = row.entry.slot != Slot::NONE;
        let found = self.find(shape, index, kind);
        let bytes = Arc::make_mut(&mut self.0);
        let at = match found {
            Ok(at) if is_there || kind == RecordKind::Image => at,
            Ok(at) => {
                bytes.drain(at - KEY..at + shape.row());
                return;
            }
            Err(_) if !is_there => return,
            Err(at) => {
                let len = bytes.len();
                if bytes.capacity() - len < shape.change() {
                    // A vector of its own accord would grow to twice its length.
                    bytes.reserve_exact(GROWTH * shape.change());
                }
                bytes.resize(len + shape.change(), 0);
                bytes.copy_within(at..len, at + shape.change());
                bytes[at..at + KEY].copy_from_slice(&key(index, kind).to_le_bytes());
                at + KEY
            }
        };
        let place = shape.encode(row.entry.slot, row.units).to_le_bytes();
        let row_bytes = &mut bytes[at..at + shape.row()];
        let (of_place, rest) = row_bytes.split_at_mut(shape.place);
        of_place.copy_from_slice(&place[..shape.place]);
        let (of_sum, of_state) = rest.split_at_mut(SUM);
        of_sum.copy_from_slice(&row.sum.to_le_bytes());
        of_state.copy_from_slice(&bytemuck::bytes_of(&row.entry.page)[..shape.state]);
    }

    /// Where the rows begin, of which record each is.
    fn places(&self, shape: LeafShape) -> impl Iterator<Item = (usize, usize, RecordKind)> + '_ {
        let images =
            (0..shape.pages as usize).map(move |i| (i * shape.row(), i, RecordKind::Image));
        let change = move |i| {
            let key = usize::from(self.key_at(shape, i)) - 1;
            let kind = if key % 2 == 0 { RecordKind::Delta } else { RecordKind::Tail };
            (shape.images() + i * shape.change() + KEY, key / 2, kind)
        };
        images.chain((0..self.changes(shape)).map(change))
    }

    /// The records that are there: first images, then the others.
    pub(crate) fn records(
        &self,
        shape: LeafShape,
    ) -> impl Iterator<Item = (usize, RecordKind, LeafPlace)> + '_ {
        let there = self.places(shape).filter(move |&(at, ..)| self.place_at(shape, at) != 0);
        there.map(move |(at, index, kind)| (index, kind, self.record_at(shape, at)))
    }

    /// The pages whose image is there.
    pub(crate) fn pages(&self, shape: LeafShape) -> impl Iterator<Item = usize> + '_ {
        (0..shape.pages as usize).filter(move |i| self.place_at(shape, i * shape.row()) != 0)
    }

    /// Shows the states of the records that are there, to be changed.
    pub(crate) fn each_state(&mut self, shape: LeafShape, visit: &mut dyn FnMut(&mut StoredState)) {
        if shape.state == 0 {
            return;
        }
        let there = self.places(shape).filter(|&(at, ..)| self.place_at(shape, at) != 0);
        let there: Vec<usize> = there.map(|(at, ..)| at + shape.place + SUM).collect();
        let bytes = Arc::make_mut(&mut self.0);
        for at in there {
            let of_row = &mut bytes[at..at + shape.state];
            let mut state = StoredState::zeroed();
            bytemuck::bytes_of_mut(&mut state)[..shape.state].copy_from_slice(of_row);
            visit(&mut state);
            of_row.copy_from_slice(&bytemuck::bytes_of(&state)[..shape.state]);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Devices of 1 GiB to 16 TiB, whole pages, the most places there can be, and schemes with much
    /// state.
    fn shapes() -> impl Iterator<Item = LeafShape> {
        let devices = [(128, 130_000, 64), (1024, 16_000_000, 64), (16_384, 16_700_000, 64)];
        let others = [(24, 40, 1), (40, 512, 8), (1 << 17, 1 << 30, 128)];
        let all = devices
            .into_iter()
            .chain(others)
            .flat_map(|device| [0, 4, 20].map(|state| (device, state)));
        all.map(|((zones, units, of_page), state)| {
            LeafShape::new(zones, units, of_page, state).unwrap()
        })
    }

    fn random_row(rng: &mut SmallRng, shape: LeafShape) -> LeafRow {
        let mut page = StoredState::zeroed();
        rng.fill(&mut bytemuck::bytes_of_mut(&mut page)[..shape.state]);
        let zone_bits = (8 * shape.place as u32 - shape.offset_bits - shape.unit_bits).min(17);
        let slot = match rng.random_range(0..10) {
            0 => Slot::LOST,
            _ => Slot {
                zone: rng.random_range(1..1 << zone_bits),
                offset: rng.random_range(0..1 << shape.offset_bits),
            },
        };
        let units = if slot.zone == 0 { 0 } else { rng.random_range(1..=1 << shape.unit_bits) };
        LeafRow { entry: PageEntry { slot, page }, units, sum: rng.random() }
    }

    fn bits(row: &LeafRow) -> (Slot, Vec<u8>, u32, u32) {
        let LeafRow { entry: PageEntry { slot, page }, units, sum } = row;
        (*slot, bytemuck::bytes_of(page).to_vec(), *units, *sum)
    }

    /// A leaf has the rows of a map of all records, also after it was written and read.
    #[test]
    fn a_leaf_has_what_a_map_of_its_records_has() {
        use RecordKind::{Delta, Image, Tail};
        for (seed, shape) in (0..).zip(shapes()) {
            let mut rng = SmallRng::seed_from_u64(seed);
            let (mut leaf, mut model) = (Leaf::new(shape), BTreeMap::new());
            // Few pages at first, then all, then fewer again.
            for (pages, add) in
                [(20, 0.7), (shape.pages as usize, 0.8), (shape.pages as usize, 0.2)]
            {
                for _ in 0..3000 {
                    let index = rng.random_range(0..pages);
                    let kind = match shape.has_changes {
                        true => [Image, Delta, Tail][rng.random_range(0..3)],
                        false => Image,
                    };
                    let shared = leaf.clone();
                    let before = bits(&shared.row(shape, index, kind));
                    let row = match rng.random_bool(add) {
                        true => random_row(&mut rng, shape),
                        false => LeafRow::none(),
                    };
                    leaf.set(shape, index, kind, &row);
                    match row.entry.slot == Slot::NONE {
                        true => _ = model.remove(&(index, kind)),
                        false => _ = model.insert((index, kind), bits(&row)),
                    }
                    assert_eq!(bits(&leaf.row(shape, index, kind)), bits(&row));
                    assert_eq!(bits(&shared.row(shape, index, kind)), before, "a copy changed");
                }
                let mut pages = Vec::new();
                let count = leaf.append_pages(&mut pages) as usize;
                assert!(count * PAGE == pages.len() && count <= shape.most_pages());
                leaf = Leaf::of_pages(shape, &pages).unwrap();
                let records: BTreeMap<_, _> =
                    leaf.records(shape).map(|(i, kind, place)| ((i, kind), place)).collect();
                let of_row = |&(slot, _, units, sum): &_| LeafPlace { slot, units, sum };
                let expected = model.iter().map(|(of, row)| (*of, of_row(row))).collect();
                assert!(records == expected, "{shape:?}");
                let images = model.keys().filter(|(_, kind)| *kind == Image).map(|&(i, _)| i);
                assert!(leaf.pages(shape).eq(images), "{shape:?}");
                for index in 0..shape.pages as usize {
                    for kind in [Image, Delta, Tail] {
                        let known = model.get(&(index, kind)).cloned();
                        let found = bits(&leaf.row(shape, index, kind));
                        assert_eq!(found, known.unwrap_or_else(|| bits(&LeafRow::none())));
                        let place = leaf.place(shape, index, kind);
                        assert_eq!(place, of_row(&found));
                        assert_eq!(leaf.records_of(shape, index)[kind as usize], place);
                    }
                }
            }
        }
    }

    #[test]
    fn all_records_have_room_in_the_most_pages_and_a_place_takes_four_to_six_bytes_up_to_16_tib() {
        for shape in shapes() {
            let (mut leaf, mut rng) = (Leaf::new(shape), SmallRng::seed_from_u64(7));
            for index in 0..shape.pages as usize {
                for kind in [RecordKind::Tail, RecordKind::Image, RecordKind::Delta] {
                    if kind == RecordKind::Image || shape.has_changes {
                        leaf.set(shape, index, kind, &random_row(&mut rng, shape));
                    }
                }
            }
            let mut pages = Vec::new();
            assert_eq!(leaf.append_pages(&mut pages) as usize, shape.most_pages());
            assert!(Leaf::of_pages(shape, &pages).is_some());
        }
        let places = [1u64 << 30, 64 << 30, 1 << 40, 16 << 40].map(|bytes| {
            let zone_bytes = frostline_zone::default_zone_bytes(bytes);
            let zones = (bytes / zone_bytes) as u32;
            LeafShape::new(zones, (zone_bytes / 64) as u32, 64, 4).unwrap().place
        });
        assert_eq!(places, [4, 5, 5, 6]);
    }

    #[test]
    fn pages_that_are_no_leaf_are_none_or_a_leaf_and_never_a_panic() {
        for shape in shapes() {
            let mut rng = SmallRng::seed_from_u64(9);
            for len in [0, PAGE, 2 * PAGE, 3 * PAGE, 11 * PAGE, 40 * PAGE] {
                let mut pages = vec![0; len];
                let zeroes = Leaf::of_pages(shape, &pages);
                assert_eq!(zeroes.is_some(), len >= shape.images());
                rng.fill(&mut pages[..]);
                if let Some(leaf) = Leaf::of_pages(shape, &pages) {
                    leaf.records(shape).for_each(drop);
                }
            }
        }
    }

    #[test]
    fn the_states_of_all_records_that_are_there_are_shown() {
        let shape = LeafShape::new(128, 130_000, 64, 4).unwrap();
        let (mut leaf, mut rng) = (Leaf::new(shape), SmallRng::seed_from_u64(3));
        for (index, kind) in
            [(5, RecordKind::Image), (5, RecordKind::Tail), (900, RecordKind::Delta)]
        {
            leaf.set(shape, index, kind, &random_row(&mut rng, shape));
        }
        let mut shown = 0;
        leaf.each_state(shape, &mut |state| {
            bytemuck::bytes_of_mut(state)[..4].copy_from_slice(&[7; 4]);
            shown += 1;
        });
        assert_eq!(shown, 3);
        let state = |(index, kind, _)| bits(&leaf.row(shape, index, kind)).1;
        assert!(leaf.records(shape).map(state).all(|state| state[..5] == [7, 7, 7, 7, 0]));
    }
}
