//! A page whose entries of the map are in memory: only such a page can be read, written or moved.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use frostline_log::{Extent, Given, MergeUnits, PageEntry, Placed, Slot, Units, takes_delta};
use frostline_placement::Hotness;

use crate::StoreError;
use crate::format::delta::{LONGEST, set_time};
use crate::format::layout::BESIDE_DELTA;
use crate::format::leaf::{LeafPlace, LeafRow, StoredState};
use crate::format::packing::{PackedPage, Told};
use crate::format::records::{Record, RecordKind, Span};
use crate::state::State;
use crate::state::map_cache::Position;
use crate::state::observer::StoreEvent;
use crate::state::room::ChangeUnits;

/// The records that a page has besides its image.
const CHANGES: [RecordKind; 2] = [RecordKind::Delta, RecordKind::Tail];

/// The places of a page's image, delta and tail, and their sums.
pub(crate) type Places = [Option<(Extent, u32)>; 3];

/// An LBA and the locked state. The leaf of the map that has the entries of its page stays in
/// memory while this exists: no leaf is dropped without the state.
pub(crate) struct MappedPage<G> {
    state: G,
    lba: u64,
    /// The page.
    page: Position,
    /// The page's delta and its tail, in a store with deltas.
    changes: Option<[Position; 2]>,
    /// The entry of the LBA: one of these.
    at: Position,
}

/// The place of a record's content.
pub(crate) enum RecordLookup {
    /// In memory: so many bytes were copied.
    Copied(usize),
    /// On the device.
    At(RecordAt),
}

/// A record on the device.
pub(crate) struct RecordAt {
    /// Zone of the device.
    pub zone: u32,
    /// Where the record lies in it.
    pub span: Span,
    /// Sum of the record.
    pub sum: u32,
    /// Keeps the zone from being reset.
    pub pin: Arc<()>,
}

/// A copy of a record that cleaning is to place.
pub(crate) struct RecordCopy<'a> {
    /// Where the record lies.
    pub from: Extent,
    /// The class that the scheme gave it when it saw the whole victim, if it gave one.
    pub class: Option<u8>,
    /// The copy's row.
    pub record: Record,
    /// Its hotness record.
    pub hotness: Hotness,
    /// Its content.
    pub bytes: &'a [u8],
}

impl<G: Deref<Target = State>> MappedPage<G> {
    /// The page of an LBA, if its leaf is in memory; otherwise the state comes back.
    pub(crate) fn of(state: G, lba: u64) -> Result<Self, G> {
        match state.volume.map().position(state.layout.sizes.page_of(lba)) {
            Some(page) => Ok(Self::at(state, lba, page)),
            None => Err(state),
        }
    }

    /// The page of an LBA, if its leaf is still where it was when the page had this position.
    pub(crate) fn again(state: G, lba: u64, page: Position) -> Result<Self, G> {
        match state.volume.map().is_there(page) {
            true => Ok(Self::at(state, lba, page)),
            false => Err(state),
        }
    }

    fn at(state: G, lba: u64, page: Position) -> Self {
        let sizes = state.layout.sizes;
        let has_changes = sizes.delta_of(sizes.page_of(lba)).is_some();
        let changes = has_changes.then(|| CHANGES.map(|kind| page.of_kind(kind)));
        let mut mapped = MappedPage { state, lba, page, changes, at: page };
        mapped.at = mapped.at_of(sizes.kind(lba)).unwrap_or(page);
        mapped
    }

    /// The position of the page, which saves a look-up later.
    pub(crate) fn position(&self) -> Position {
        self.page
    }

    /// The state, whose leaves may be dropped again.
    pub(crate) fn into_state(self) -> G {
        self.state
    }

    /// The place of the LBA's record and its sum; zone 0 if the content is lost.
    pub(crate) fn place(&self) -> Option<(Extent, u32)> {
        self.place_at(self.at)
    }

    /// The same of the page's record of this kind.
    pub(crate) fn place_of(&self, kind: RecordKind) -> Option<(Extent, u32)> {
        self.at_of(kind).and_then(|at| self.place_at(at))
    }

    /// The entry of the page's record of this kind.
    fn at_of(&self, kind: RecordKind) -> Option<Position> {
        match kind {
            RecordKind::Image => Some(self.page),
            RecordKind::Delta => self.changes.map(|[delta, _]| delta),
            RecordKind::Tail => self.changes.map(|[_, tail]| tail),
        }
    }

    /// The places of the page's image, delta and tail, and their sums. They are found at once, in
    /// less time than two of them by themselves.
    pub(crate) fn places(&self) -> Places {
        self.state.volume.map().places_of_page(self.page).map(place)
    }

    /// Those of the delta and the tail.
    pub(crate) fn changes(&self) -> [Option<(Extent, u32)>; 2] {
        let [_, delta, tail] = self.places();
        [delta, tail]
    }

    /// The units of the page's image, delta and tail; 0 of one that is not there, or lost.
    pub(crate) fn units(&self) -> [u32; 3] {
        units(self.places())
    }

    /// The units of the page's delta and tail.
    pub(crate) fn change_units(&self) -> ChangeUnits {
        match self.changes {
            Some(_) => self.change_units_of(self.units()),
            None => ChangeUnits::default(),
        }
    }

    /// The same if its image, delta and tail have so many units.
    pub(crate) fn change_units_of(&self, units: [u32; 3]) -> ChangeUnits {
        match self.changes {
            Some(_) => self.state.layout.change_units(units),
            None => ChangeUnits::default(),
        }
    }

    fn place_at(&self, at: Position) -> Option<(Extent, u32)> {
        place(self.state.volume.map().place(at))
    }

    /// User writes so far.
    pub(crate) fn time(&self) -> u64 {
        self.state.time()
    }

    /// True if cleaning may merge a base with its delta and tail.
    pub(crate) fn may_merge(&self) -> bool {
        self.state.volume.may_merge()
    }

    /// True if a group is on its way to the device.
    pub(crate) fn has_group(&self) -> bool {
        self.state.chunks.has_group()
    }

    /// True if the LBA's record lies there.
    pub(crate) fn is_at(&self, place: Extent) -> bool {
        self.place().is_some_and(|(at, _)| at == place)
    }

    /// The state that the scheme keeps of the LBA.
    pub(crate) fn page_state(&self) -> StoredState {
        self.state.volume.map().row(self.at).entry.page
    }

    /// Finds the LBA's record: copies it if it is in memory, in whole units. None if there is none.
    pub(crate) fn find(&self, into: &mut [u8]) -> Result<Option<RecordLookup>, StoreError> {
        self.find_at(self.place(), into)
    }

    /// Finds in the same way the record at one of the page's [places](Self::places).
    pub(crate) fn find_at(
        &self,
        place: Option<(Extent, u32)>,
        into: &mut [u8],
    ) -> Result<Option<RecordLookup>, StoreError> {
        let Some((place, sum)) = place else { return Ok(None) };
        if place.slot.zone == 0 {
            return Err(StoreError::Lost { lba: self.state.layout.sizes.page_of(self.lba) });
        }
        if let Some(content) = self.state.chunks.content(place) {
            into[..content.len()].copy_from_slice(content);
            return Ok(Some(RecordLookup::Copied(content.len())));
        }
        let zone = self.state.zones.get(place.slot.zone);
        let (span, pin) = (zone.span_of(place, self.state.layout.sizes), zone.pin.clone());
        Ok(Some(RecordLookup::At(RecordAt { zone: zone.device_zone, span, sum, pin })))
    }

    /// True if the page with these records may be written as a delta of so many bytes: it has a
    /// base, which is longer.
    fn takes_delta(&self, places: Places, bytes: usize) -> bool {
        let [Some((base, _)), ..] = places else { return false };
        !places.into_iter().flatten().any(|(at, _)| at.slot.zone == 0)
            && takes_delta(base.units, self.state.layout.sizes.units_of(bytes as u32))
    }

    /// True if the page, which takes a delta, may be written as a tail of so many bytes: it has a
    /// delta, and room is kept for both.
    fn takes_tail(&self, [_, delta, _]: Places, bytes: usize) -> bool {
        let units_of = |bytes: usize| self.state.layout.sizes.units_of(bytes as u32);
        // Each of both may take a part of a unit, which is not more than what is kept beside one.
        let most = units_of(LONGEST + BESIDE_DELTA);
        delta.is_some_and(|(delta, _)| delta.units + units_of(bytes) <= most)
    }
}

/// The place that a leaf has of a record, and its sum; none if the record is not there.
fn place(LeafPlace { slot, units, sum }: LeafPlace) -> Option<(Extent, u32)> {
    (slot != Slot::NONE).then_some((Extent { slot, units }, sum))
}

/// The units of records; 0 of one that is not there, or lost.
fn units(places: Places) -> [u32; 3] {
    places.map(|place| match place {
        Some((at, _)) if at.slot.zone != 0 => at.units,
        _ => 0,
    })
}

impl<G: DerefMut<Target = State>> MappedPage<G> {
    /// Writes the page by the user: as the tail or delta that it is packed as, if it takes it, or
    /// as its image.
    pub(crate) fn write(&mut self, mut packed: PackedPage<'_>) -> Result<(), StoreError> {
        let (lba, told) = (self.lba, packed.told);
        let (sizes, is_short) = (self.state.layout.sizes, self.state.is_short());
        for kind in [RecordKind::Tail, RecordKind::Delta] {
            let Some(bytes) = packed.take(kind) else { continue };
            let most = match is_short {
                true => {
                    let image = sizes.units_of(packed.image(sizes).bytes.len() as u32);
                    self.state.layout.bytes_of([image, 0, 0])
                }
                false => u64::MAX,
            };
            if self.place_part(kind, bytes, told, most)? {
                return Ok(());
            }
        }
        let time = self.state.time() + 1;
        let image = packed.image(sizes);
        let bytes = image.bytes.len() as u16;
        let record = Record { lba, sum: image.sum, time, bytes, other: 0 };
        let before = self.units();
        self.state.check_room(before, [sizes.units_of(bytes.into()), 0, 0])?;
        self.append(RecordKind::Image, record, told, &image.bytes, before)?;
        self.forget(&CHANGES)?;
        debug_assert_eq!(self.changes(), [None; 2], "an image has all words of its page");
        Ok(())
    }

    /// Writes the page by the user as a delta or a tail; false if the page does not take it. A tail
    /// of a page that has no delta is its delta: cleaning has merged what it had.
    pub(crate) fn write_part(
        &mut self,
        kind: RecordKind,
        bytes: Vec<u8>,
        told: Told,
    ) -> Result<bool, StoreError> {
        let most = match self.state.is_short() {
            true => self.state.layout.bytes_of(self.units()),
            false => u64::MAX,
        };
        self.place_part(kind, bytes, told, most)
    }

    /// The same, unless all records of the page would take more than so many bytes then.
    fn place_part(
        &mut self,
        kind: RecordKind,
        mut bytes: Vec<u8>,
        told: Told,
        most: u64,
    ) -> Result<bool, StoreError> {
        let (sizes, time) = (self.state.layout.sizes, self.state.time() + 1);
        let (page, places) = (sizes.page_of(self.lba), self.places());
        let (lba, base) = match (kind, places) {
            (RecordKind::Tail, [_, Some(delta), _]) => (sizes.tail_of(page), Some(delta)),
            (_, [image, ..]) => (sizes.delta_of(page), image),
        };
        let (Some(lba), Some((_, base))) = (lba, base) else { return Ok(false) };
        let kind = sizes.kind(lba);
        let takes = self.takes_delta(places, bytes.len())
            && (kind == RecordKind::Delta || self.takes_tail(places, bytes.len()));
        if !takes {
            return Ok(false);
        }
        let (before, units) = (units(places), sizes.units_of(bytes.len() as u32));
        let after = match (before, kind) {
            ([image, delta, _], RecordKind::Tail) => [image, delta, units],
            ([image, ..], _) => [image, units, 0],
        };
        let layout = &self.state.layout;
        if layout.bytes_of(after) > most || !self.state.has_room_for_change(before, after) {
            return Ok(false);
        }
        self.state.check_room(before, after)?;
        debug_assert!(kind == RecordKind::Delta || before[1] > 0, "a tail is of a delta");
        set_time(&mut bytes, time);
        let record =
            Record { lba, sum: sizes.sum(&bytes), time, bytes: bytes.len() as u16, other: base };
        let is_first = places[kind as usize].is_none();
        self.append(kind, record, told, &bytes, before)?;
        if is_first {
            self.state.delta_begun();
        }
        if kind == RecordKind::Delta {
            self.forget(&[RecordKind::Tail])?;
        }
        Ok(true)
    }

    /// Places a record of the user, and appends it to its chunk. The page's records had so many
    /// units.
    fn append(
        &mut self,
        kind: RecordKind,
        record: Record,
        told: Told,
        bytes: &[u8],
        page_had: [u32; 3],
    ) -> Result<(), StoreError> {
        debug_assert_eq!(page_had, self.units(), "nothing was placed in between");
        let at = self.at_of(kind).expect("a store with deltas has their entries");
        let state = &mut *self.state;
        let LeafRow { mut entry, units: had, .. } = state.volume.map().row(at);
        let known = state.layout.has_hotness().then_some(&told.hotness);
        let after = state.layout.sizes.units_of(record.bytes.into());
        let units = Units { before: had, after };
        let placed =
            state.volume.place_user(record.lba, &mut entry, units, told.following, known)?;
        assert_eq!(entry.slot, placed.slot, "the map names what was placed");
        state.volume.map_mut().set(at, &LeafRow { entry, units: after, sum: record.sum });
        state.user_page_placed(placed, record, told, bytes)?;
        let mut page_has = page_had;
        page_has[kind as usize] = after;
        debug_assert_eq!(page_has, self.units(), "the record has its units");
        self.note_changes(self.change_units_of(page_had), self.change_units_of(page_has));
        Ok(())
    }

    /// The units of the page's delta and tail changed.
    fn note_changes(&mut self, before: ChangeUnits, after: ChangeUnits) {
        if after != before {
            self.state.changes_changed(before, after);
        }
    }

    /// Places a copy of the LBA's record. Nothing happens if the record no longer lies there.
    pub(crate) fn relocate(&mut self, copy: &RecordCopy<'_>) -> Result<(), StoreError> {
        let &RecordCopy { from, class, record, .. } = copy;
        let given = Given { class, ..Given::default() };
        let state = &mut *self.state;
        let mut entry = state.volume.map().row(self.at).entry;
        let units = state.layout.sizes.units_of(record.bytes.into());
        match state.volume.place_relocation(self.lba, &mut entry, from, units, given)? {
            None => Ok(()),
            Some(placed) => self.relocated(copy, entry, placed),
        }
    }

    /// Places a copy of the page's image that is merged with its delta and tail, where that fits.
    /// False if not.
    pub(crate) fn merge(&mut self, copy: &RecordCopy<'_>) -> Result<bool, StoreError> {
        let &RecordCopy { from, class, record, .. } = copy;
        let given = Given { class, ..Given::default() };
        let before = self.change_units();
        let places = self.changes();
        let ended = places.iter().flatten().count();
        let state = &mut *self.state;
        let sizes = state.layout.sizes;
        let page = sizes.page_of(self.lba);
        let lbas = sizes.delta_of(page).zip(sizes.tail_of(page));
        let (Some([delta, tail]), Some(lbas)) = (self.changes, lbas) else { return Ok(false) };
        let [of_delta, of_tail] = places.map(|place| place.map_or(0, |(at, _)| at.units));
        let units = MergeUnits {
            base: from.units,
            delta: of_delta,
            tail: of_tail,
            merged: sizes.units_of(record.bytes.into()),
        };
        state.observe(StoreEvent::Merged { lba: page, bytes: record.bytes });
        if !units.fit() {
            return Ok(false);
        }
        let map = state.volume.map();
        let [mut base_entry, mut delta_entry, mut tail_entry] =
            [self.page, delta, tail].map(|at| map.row(at).entry);
        let base = (self.lba, &mut base_entry);
        let changes = [(lbas.0, &mut delta_entry), (lbas.1, &mut tail_entry)];
        let placed = state.volume.place_merged(base, changes, from, units, given)?;
        if let Some(placed) = placed {
            let map = state.volume.map_mut();
            for (at, entry) in [(delta, delta_entry), (tail, tail_entry)] {
                map.set(at, &LeafRow { entry, ..LeafRow::none() });
            }
            (0..ended).try_for_each(|_| state.delta_ended())?;
            state.deltas.merged += 1;
            self.relocated(copy, base_entry, placed)?;
            self.note_changes(before, self.change_units());
            debug_assert_eq!(self.changes(), [None; 2], "the merged image has them");
        }
        Ok(true)
    }

    /// A copy of the LBA's record was placed, and its entry is this one now.
    fn relocated(
        &mut self,
        copy: &RecordCopy<'_>,
        entry: PageEntry<StoredState>,
        placed: Placed,
    ) -> Result<(), StoreError> {
        let &RecordCopy { record, hotness, bytes, .. } = copy;
        let state = &mut *self.state;
        let units = state.layout.sizes.units_of(record.bytes.into());
        assert_eq!(entry.slot, placed.slot, "the map names what was placed");
        state.volume.map_mut().set(self.at, &LeafRow { entry, units, sum: record.sum });
        state.relocation_placed(placed, record, hotness, bytes)
    }

    /// Forgets the page's tail, or delta and tail, as a newer record makes them garbage.
    pub(crate) fn forget(&mut self, kinds: &[RecordKind]) -> Result<(), StoreError> {
        let sizes = self.state.layout.sizes;
        let page = sizes.page_of(self.lba);
        let places = self.places();
        for &kind in kinds {
            let Some((found, _)) = places[kind as usize] else { continue };
            let lba =
                if kind == RecordKind::Tail { sizes.tail_of(page) } else { sizes.delta_of(page) };
            let (Some(at), Some(lba)) = (self.at_of(kind), lba) else { return Ok(()) };
            if self.clear(at, lba)? && found.slot.zone != 0 {
                self.state.delta_ended()?;
            }
        }
        Ok(())
    }

    /// Makes the record of an entry garbage; true if there was one.
    fn clear(&mut self, at: Position, lba: u64) -> Result<bool, StoreError> {
        let before = self.change_units();
        let volume = &mut self.state.volume;
        let LeafRow { mut entry, units, .. } = volume.map().row(at);
        let had = volume.trim_entry(lba, &mut entry, units)?;
        volume.map_mut().set(at, &LeafRow { entry, ..LeafRow::none() });
        self.note_changes(before, self.change_units());
        Ok(had)
    }

    /// Forgets the page; true if there was one.
    pub(crate) fn trim(&mut self) -> Result<bool, StoreError> {
        self.forget(&CHANGES)?;
        let had = self.clear(self.page, self.lba)?;
        if had {
            let page = self.state.layout.sizes.page_of(self.lba);
            self.state.page_trimmed(page);
        }
        debug_assert_eq!(self.units(), [0; 3], "nothing of a trimmed page is left");
        Ok(had)
    }

    /// Points the page's record of this kind to a place and its sum, or to nothing, before the
    /// volume is restored.
    pub(crate) fn point(&mut self, kind: RecordKind, to: Option<(Extent, u32)>) {
        let Some(at) = self.at_of(kind) else { return };
        let map = self.state.volume.map_mut();
        let mut row = LeafRow::none();
        if let Some((Extent { slot, units }, sum)) = to {
            let page = map.row(at).entry.page;
            row = LeafRow { entry: PageEntry { slot, page }, units, sum };
        }
        map.set(at, &row);
    }

    /// Marks the LBA's record as lost.
    pub(crate) fn lose(&mut self) {
        let map = self.state.volume.map_mut();
        let mut row = map.row(self.at);
        row.entry.slot = Slot::LOST;
        map.set(self.at, &row);
    }
}
