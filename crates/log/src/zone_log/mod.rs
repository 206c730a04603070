//! Zones, classes, garbage and victims: the part of a log that needs no map.
//!
//! A driver over it knows which page lies in which slot. Here is how zones open, fill, close and
//! become free, and what is counted of that.

mod append;
mod capacity;
mod chunk_shape;
mod chunks;
mod counts;
mod cursor;
mod early;
mod garbage;
mod image;
mod inspect;
mod of_scheme;
mod options;
mod room;
mod runs;
mod stale;
mod victims;
mod zones;

use frostline_placement::{Choice, Victim, VictimPolicy, Watch, ZoneEvent, ZoneScheme};

pub use self::append::Placed;
pub use self::capacity::Capacity;
pub use self::chunk_shape::{ChunkFill, ChunkShape};
pub use self::counts::{ClassCounts, Counts};
pub(crate) use self::cursor::Cursor;
pub use self::image::ZoneImage;
pub use self::options::Options;
pub(crate) use self::runs::Run;
pub use self::zones::ZoneTable;

use self::capacity::Trigger;
use self::chunk_shape::ZoneChunks;
use crate::LogError;
use crate::places::Slot;

/// User writes between two sweeps that clamp old stamps (see [`Scheme::clamp`](frostline_placement::Scheme::clamp)).
const SWEEP: u32 = 1 << 30;

/// The zones of a log whose pages `S` places.
///
/// What asks the scheme nothing of pages is a method of `ZoneLog` without a parameter, and compiled
/// once. A log of any scheme has these methods as well.
pub struct ZoneLog<S: ?Sized = dyn ZoneScheme> {
    policy: Box<dyn VictimPolicy>,
    /// Reports of zones to the policy.
    watch: Watch,
    options: Options,
    trigger: Trigger,
    /// Units in a zone, without those for the scheme's state.
    zone_units: u32,
    /// Pages at the tail of each zone for the scheme's state, in addition to
    /// [`Options::zone_pages`].
    meta_pages: u32,
    /// A slot's number shifted by this is the number of its zone.
    shift: u32,
    max_zones: usize,
    zones: ZoneTable,
    /// By zone, what pads its chunks.
    padding: Vec<Padding>,
    free: Vec<u32>,
    /// By class.
    open: Vec<Cursor>,
    /// The open zone of each class, 0 if it has none.
    open_zones: Vec<u32>,
    /// The chunks of each class's open zone.
    chunks: Vec<ZoneChunks>,
    /// User writes so far, modulo 2^32.
    now: u32,
    next_sweep: u32,
    /// Units of live zones that were written, valid or garbage.
    written: u64,
    /// Garbage units in live zones.
    garbage: u64,
    /// The number of valid pages.
    valid: u64,
    /// True while runs of pages are being relocated.
    cleaning: bool,
    counts: Counts,
    choice: Choice,
    most_zones: usize,
    scheme: S,
}

/// Units of a zone that pad its chunks.
#[derive(Clone, Copy, Debug, Default)]
struct Padding {
    units: u32,
    /// Of these, units of chunks that were ended before they were full, or may have been.
    early: u32,
}

/// What a driver does with the numbers of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbering {
    /// It keeps them in its map, with the scheme's state in each zone: they fit into 32 bits.
    Kept,
    /// It names slots by zone and offset, and keeps the scheme's state elsewhere.
    None,
}

impl ZoneLog {
    /// Adds the zones that the log has from the beginning.
    fn begin(&mut self) {
        self.watch.cover(self.zones.len());
        if let Some(zones) = self.options.capacity.zones() {
            self.grow(zones as usize);
        }
    }

    /// Adds zones until there are `zones` besides zone 0.
    fn grow(&mut self, zones: usize) {
        let first = self.zones.len() as u32;
        while self.zones.len() <= zones {
            self.zones.add();
        }
        self.padding.resize(self.zones.len(), Padding::default());
        self.watch.cover(self.zones.len());
        // Zones are taken from the end: low numbers first.
        self.free.splice(0..0, (first..self.zones.len() as u32).rev());
    }

    /// A free zone; adds one if there is none and one more is allowed.
    fn take_free(&mut self) -> Option<u32> {
        if self.free.is_empty() && self.options.capacity.zones().is_none() {
            let zones = self.zones.len() - 1;
            if zones < self.max_zones {
                self.grow((zones + zones / 8 + 16).min(self.max_zones));
            }
        }
        self.free.pop()
    }

    /// Opens a zone for `class`. False if no zone is free.
    fn open_zone(&mut self, class: usize) -> bool {
        let Some(zone) = self.take_free() else {
            return false;
        };
        assert!(zone as usize <= self.max_zones, "zone {zone} is one too many");
        self.zones.open(zone, class, self.now);
        self.most_zones = self.most_zones.max(self.zones.live() as usize);
        self.begin_zone(class, zone, 0);
        let event = self.event(zone);
        self.scheme.on_opened(&event);
        true
    }

    /// The class goes on in a zone of which so many units are used.
    fn begin_zone(&mut self, class: usize, zone: u32, used: u32) {
        assert_eq!(self.open_zones[class], 0, "class {class} has an open zone");
        assert!(used < self.zone_units, "zone {zone} has no slot left");
        let first = zone << self.shift;
        let gap = zone.wrapping_mul((1 << self.shift) - self.zone_units);
        let (slot, end) = (first.wrapping_add(used), first.wrapping_add(self.zone_units));
        self.open[class] = Cursor { slot, end, counted: slot, gap };
        self.open_zones[class] = zone;
    }

    /// Closes and seals the full open zone of `class`.
    pub(crate) fn close_zone(&mut self, class: usize) {
        let zone = self.leave_zone(class);
        self.seal_zone(zone, self.now);
    }

    /// The class has no open zone any more. Returns the one that it had.
    fn leave_zone(&mut self, class: usize) -> u32 {
        self.update_counts(class);
        self.open[class] = Cursor::CLOSED;
        self.chunks[class] = ZoneChunks::default();
        let zone = std::mem::take(&mut self.open_zones[class]);
        debug_assert!(!self.open_zones.contains(&zone), "zone {zone} is open for two classes");
        assert_ne!(zone, 0, "class {class} has no open zone");
        zone
    }

    /// Updates the counts of a class up to its cursor: all pages appended since the last update
    /// were written by the user, or all by cleaning.
    fn update_counts(&mut self, class: usize) {
        let cursor = &mut self.open[class];
        let pages = u64::from(cursor.slot.wrapping_sub(cursor.counted));
        cursor.counted = cursor.slot;
        let counts = &mut self.counts.classes[class];
        match self.cleaning {
            true => counts.relocations += pages,
            false => counts.user_writes += pages,
        }
    }

    fn update_all_counts(&mut self) {
        (0..self.open.len()).for_each(|class| self.update_counts(class));
    }

    /// Seals a zone, whose age counts from `since`.
    fn seal_zone(&mut self, zone: u32, since: u32) {
        self.zones.seal(zone, since);
        self.watch.seal(zone);
        self.counts.meta_pages += u64::from(self.meta_pages);
        let event = self.event(zone);
        self.scheme.on_sealed(&event, &self.zones.view(self.now));
    }

    /// Checks, in builds for tests, that every slot of a live zone up to its write position is
    /// counted once, and holds a valid page or garbage.
    #[inline]
    fn check_totals(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let room: u64 = self.open.iter().map(|cursor| u64::from(cursor.left())).sum();
        let slots = self.zones.live() * u64::from(self.zone_units);
        let padding: u64 = self.padding.iter().map(|padding| u64::from(padding.units)).sum();
        assert_eq!(slots - room - padding, self.written, "slots used");
        if self.options.page_units == 1 {
            assert_eq!(self.valid + self.garbage, self.written, "pages in slots");
        }
    }

    /// True if the trigger asks for cleaning.
    #[inline(always)]
    pub fn cleaning_due(&self) -> bool {
        self.trigger.is_due(self.garbage, self.written, self.free.len())
    }

    /// From now on cleaning is due above this garbage proportion.
    ///
    /// # Errors
    /// The proportion is not above 0 and below 1.
    pub fn set_gp(&mut self, gp: f64) -> Result<(), LogError> {
        self.trigger = self.trigger.with_gp(gp)?;
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn event(&self, zone: u32) -> ZoneEvent {
        self.zones.event(zone, self.now)
    }

    pub(crate) fn victim(&self, zone: u32) -> Victim {
        let ZoneEvent { zone, class, now } = self.event(zone);
        Victim { zone, class, now, valid: self.valid }
    }

    /// A page is being written.
    pub(crate) fn tick(&mut self) {
        self.now = self.now.wrapping_add(1);
    }

    /// Clamps the times of zones if it is time for that, so that ages of 32 bits never wrap.
    /// Returns true if it did: the driver must then clamp the states of pages.
    #[inline]
    pub(crate) fn sweep_if_due(&mut self) -> bool {
        let is_due = self.next_sweep.wrapping_sub(self.now) as i32 <= 0;
        if is_due {
            self.next_sweep = self.now.wrapping_add(SWEEP);
            self.zones.clamp(self.now);
        }
        is_due
    }

    /// The slot with this number.
    #[inline(always)]
    pub(crate) fn slot(&self, number: u32) -> Slot {
        let slot = Slot { zone: number >> self.shift, offset: number & ((1 << self.shift) - 1) };
        debug_assert!(slot.offset < self.zone_units, "slot {number} is in the gap behind a zone");
        slot
    }

    /// The number of a slot.
    pub(crate) fn number(&self, slot: Slot) -> u32 {
        debug_assert!(slot.offset < self.zone_units, "{slot:?} is behind its zone");
        (slot.zone << self.shift) + slot.offset
    }

    /// The bits of a slot's number that are for its place in the zone.
    #[inline(always)]
    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// Index of a slot in a reverse map.
    #[inline(always)]
    pub(crate) fn place(&self, slot: Slot) -> usize {
        debug_assert!(slot.offset < self.zone_units, "{slot:?} is behind its zone");
        slot.zone as usize * self.zone_units as usize + slot.offset as usize
    }

    /// Slots that a reverse map must have, and the most that it will ever need.
    pub(crate) fn slots(&self) -> (usize, usize) {
        let zone_units = self.zone_units as usize;
        (self.zones.len() * zone_units, (self.max_zones + 1) * zone_units)
    }
}
