//! A volume: its parts, and how zones open and close.

use std::ops::Range;

use frostline_placement::{Choice, Hotness, Pages, Room, Scheme, Victim, VictimPolicy, ZoneEvent};

use crate::LogError;
use crate::capacity::{Capacity, Trigger};
use crate::chunk_shape::{ChunkShape, ZoneChunks};
use crate::counts::Counts;
use crate::map::{Map, MapEntry};
use crate::memory::Array;
use crate::places::Extent;
use crate::survey::Survey;
use crate::writes::Writes;
use crate::zones::ZoneTable;

/// The largest LBA: the top bit of a page's word has another meaning ([`WORD_LAST`]).
pub const MAX_LBA: u32 = WORD_LAST - 1;

/// Marks, in the word of a written page, a frozen version: the trace neither writes nor trims its
/// LBA again. The mark is counted when the version is relocated, and has no other effect.
pub const WORD_LAST: u32 = 1 << 31;

/// User writes between two sweeps that clamp old stamps (see [`Scheme::clamp`]).
const SWEEP: u32 = 1 << 30;

/// The layout of a volume.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Pages in a zone, 16 or more.
    pub zone_pages: u32,
    /// Units in a whole page, at most [`Options::MOST_UNITS`]. If more than 1, records of pages are
    /// as long as their drivers say, and slots, room and garbage are counted in units. 1 if every
    /// page takes one slot.
    pub page_units: u32,
    /// The chunks in which a store on a device writes records; `None` if there is no device.
    pub chunks: Option<ChunkShape>,
    /// Largest LBA + 1, at most [`MAX_LBA`] + 1. A volume over a driver's map may have more LBAs:
    /// its scheme then sees their lower 31 bits.
    pub space: u32,
    /// Whole pages for which zones have room: as many may be valid at once. A driver that keeps the
    /// map counts what its records take by itself, and may have more pages that are shorter.
    pub logical_pages: u64,
    /// The LBA of page 0's delta, if each page may have two records more: the delta of page `p` is
    /// as many above `p`, its tail twice as many.
    pub first_delta: Option<u32>,
    /// The capacity of the volume, and the trigger of cleaning.
    pub capacity: Capacity,
    /// Of a volume that keeps its whole map, zones that it does without, for cleaned ones that wait
    /// to be reset on a device: they are reset together once there are as many, after a sync, which
    /// ends all chunks.
    pub spare: u32,
    /// Zones that may be open at once; `None` if there is no limit.
    pub max_open: Option<usize>,
    /// The time at which the volume starts; other than 0 only in tests of the clock.
    pub start: u32,
}

impl Options {
    /// The most units that a page may take.
    pub const MOST_UNITS: u32 = 255;

    /// An elastic volume of `space` pages, cleaned at a garbage proportion of `gp`.
    pub fn elastic(zone_pages: u32, space: u32, gp: f64) -> Self {
        Options {
            zone_pages,
            page_units: 1,
            chunks: None,
            space,
            logical_pages: u64::from(space),
            first_delta: None,
            spare: 0,
            capacity: Capacity::Elastic { gp },
            max_open: None,
            start: 0,
        }
    }

    /// Records that may be valid at once.
    pub(crate) fn records(&self) -> u64 {
        match self.first_delta {
            Some(_) => self.space.into(),
            None => self.logical_pages,
        }
    }

    /// True if records are placed one by one, not whole pages in runs.
    pub fn in_records(&self) -> bool {
        self.page_units > 1 || self.chunks.is_some()
    }

    /// Checks that zones hold the pages and that both can be numbered. A volume is refused without
    /// that; by this its driver knows before it makes a scheme, whose tables may be as long as the
    /// volume.
    ///
    /// # Errors
    /// Zones that are too large, too few or too many; LBAs that are too large.
    pub fn check(&self) -> Result<(), LogError> {
        self.most_zones(true).map(drop)
    }

    /// Zones that the volume may have, whose slots are numbered in 32 bits if it keeps the map.
    fn most_zones(&self, keeps_map: bool) -> Result<usize, LogError> {
        let zone_units = self.zone_pages.saturating_mul(self.page_units);
        if zone_units > 1 << 30 {
            return Err(LogError::ZoneSize { pages: self.zone_pages });
        }
        if self.space > MAX_LBA + 1 {
            return Err(LogError::BadLba { lba: u64::from(self.space) - 1, last: MAX_LBA.into() });
        }
        max_zones(self, keeps_map.then(|| slot_bits(zone_units)))
    }

    /// The room for open zones.
    pub fn room(&self) -> Room {
        let filled = self.logical_pages.div_ceil(u64::from(self.zone_pages));
        let spare = |zones: u32| u64::from(zones).saturating_sub(filled) as u32;
        Room {
            spare_zones: self.capacity.zones().map(spare),
            open_zones: self.max_open.map(|zones| zones as u32),
        }
    }
}

/// The open zone of a class: its next slot, and the slot behind its last. Both are equal if no zone
/// is open. Slots have their numbers in the map that the volume keeps; over a driver's map, in the
/// zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub slot: u32,
    pub end: u32,
    /// The first slot whose page is not yet in the counts.
    pub counted: u32,
    /// Slot numbers leave a gap behind each zone whose size is not a power of two; the reverse map
    /// has no gaps: index = slot - gap.
    pub gap: u32,
}

impl Cursor {
    /// A class without an open zone. Its place is beyond any reverse map, so that one comparison
    /// finds both a bad index and a closed class.
    pub(crate) const CLOSED: Cursor = Cursor { slot: 0, end: 0, counted: 0, gap: 1 };

    /// Index of the next slot in the reverse map.
    #[inline(always)]
    pub(crate) fn place(&self) -> usize {
        self.slot.wrapping_sub(self.gap) as usize
    }

    /// True if no zone is open, or it is full.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        self.slot == self.end
    }
}

/// A log-structured volume whose pages `S` places. Its map is all in memory, or belongs to a
/// driver.
pub struct Volume<S: Scheme, M = Array<MapEntry<<S as Scheme>::Page>>> {
    pub(crate) scheme: S,
    pub(crate) policy: Box<dyn VictimPolicy>,
    pub(crate) zones: ZoneTable,
    /// The map, by LBA.
    pub(crate) map: M,
    /// The reverse map, by slot: the word of the page that was written there. Empty if the driver
    /// has it.
    pub(crate) words: Array<u32>,
    /// The units of each record, by the slot where the record begins; 0 if none was written there
    /// before the zone was sealed. Empty if pages take one unit, or if the driver has them.
    pub(crate) lengths: Array<u8>,
    /// Units of each zone that pad its chunks; empty if pages take one unit.
    pub(crate) padding: Vec<u32>,
    /// Of these, units of chunks that were ended before they were full, or may have been.
    pub(crate) early: Vec<u32>,
    /// Zones that were cleaned since the last sync for resets.
    pub(crate) unreset: u32,
    /// For each page, the next of the merges that the trace has of its present version, counted
    /// from 1; 0 if there is none. Empty if the trace has no merges.
    pub(crate) merges: Array<u32>,
    /// The chunks of each class's open zone.
    pub(crate) chunks: Vec<ZoneChunks>,
    reverse: bool,
    /// Pages at the tail of each zone for the scheme's state, in addition to
    /// [`Options::zone_pages`].
    meta_pages: u32,
    /// Units in a zone, without those for the scheme's state.
    pub(crate) zone_units: u32,
    pub(crate) open: Vec<Cursor>,
    /// The zone of each class that has an open one.
    pub(crate) open_zones: Vec<u32>,
    pub(crate) free: Vec<u32>,
    /// A slot's number shifted by this is the number of its zone.
    pub(crate) shift: u32,
    pub(crate) options: Options,
    pub(crate) trigger: Trigger,
    pub(crate) max_zones: usize,
    /// User writes so far, modulo 2^32.
    pub(crate) now: u32,
    pub(crate) next_sweep: u32,
    /// Units of live zones that were written, valid or garbage.
    pub(crate) written: u64,
    /// Garbage units in live zones.
    pub(crate) garbage: u64,
    /// The number of valid pages.
    pub(crate) valid: u64,
    /// True while pages are being relocated.
    pub(crate) cleaning: bool,
    pub(crate) counts: Counts,
    pub(crate) choice: Choice,
    /// The valid records of the victim that was cleaned last.
    pub(crate) records: Vec<(u32, Extent)>,
    /// The pages of the present victim, for a scheme that places batches.
    pub(crate) batch: Batch<S::Page>,
    pub(crate) survey: Survey,
    /// The hotness record of each LBA's last write, by LBA. Empty if the engine gives none, the
    /// scheme does not use them, or the driver has them.
    pub(crate) hotness: Array<Hotness>,
    pub(crate) most_zones: usize,
    /// How records are written; `None` if pages are written in runs.
    pub(crate) write_records: Option<WriteRecords<S, M>>,
}

/// Writes a range of records, cleaning when the trigger asks. A pointer, so that this code is
/// compiled only for schemes whose volumes are made for records.
pub(crate) type WriteRecords<S, M> =
    fn(&mut Volume<S, M>, &Writes<'_>, Range<usize>) -> Result<(), LogError>;

/// The valid pages of a victim, and the classes that the scheme gave them at once.
pub(crate) struct Batch<P> {
    /// LBAs with their marks, in slot order; empty if a driver has the reverse map.
    pub words: Vec<u32>,
    pub lbas: Vec<u32>,
    pub states: Vec<P>,
    /// True for the pages with the mark [`WORD_LAST`].
    pub last: Vec<bool>,
    /// The hotness record of each page; empty if there are none.
    pub hotness: Vec<Hotness>,
    pub classes: Vec<Option<u8>>,
}

impl<P> Default for Batch<P> {
    fn default() -> Self {
        let (words, lbas, states, last, hotness, classes) = Default::default();
        Batch { words, lbas, states, last, hotness, classes }
    }
}

impl<P> Batch<P> {
    pub(crate) fn clear(&mut self) {
        self.words.clear();
        self.lbas.clear();
        self.states.clear();
        self.last.clear();
        self.hotness.clear();
    }

    /// Lets the scheme place all pages of the batch.
    pub(crate) fn ask<S: Scheme<Page = P>>(&mut self, scheme: &mut S, victim: &Victim) {
        let Batch { lbas, states, last, hotness, classes, .. } = self;
        classes.clear();
        classes.resize(lbas.len(), None);
        let hotness = (!hotness.is_empty()).then_some(&hotness[..]);
        scheme.place_batch(victim, &Pages { lbas, states, hotness, last }, classes);
    }
}

impl<S: Scheme> Volume<S> {
    /// An empty volume with its whole map in memory, whose pages take one slot each and are written
    /// in runs.
    ///
    /// # Errors
    /// The options are not valid or [of records](Options::in_records), the scheme has more classes
    /// than zones may be open, or memory is short.
    pub fn new(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        if options.in_records() {
            return Err(LogError::InRecords);
        }
        Volume::with_map(options, scheme, policy)
    }

    /// The same for any options. A program that makes volumes for many types of schemes makes those
    /// of records for one type ([`AnyScheme`](frostline_placement::AnyScheme)): a record costs so
    /// much that calls of its scheme do not matter, but to compile all for each type does.
    ///
    /// # Errors
    /// Those of [`Volume::new`].
    pub fn in_records(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        let mut volume = Volume::with_map(options, scheme, policy)?;
        if options.in_records() {
            volume.write_records = Some(Volume::write_all_records);
        }
        Ok(volume)
    }

    fn with_map(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
    ) -> Result<Self, LogError> {
        let map = Array::zeroed(options.space as usize)?;
        let mut volume = Volume::build(options, scheme, policy, map, true)?;
        let mut missing = options.spare;
        while missing > 0 && volume.retire() {
            missing -= 1;
        }
        Ok(volume)
    }
}

impl<S: Scheme, M: Map<S::Page>> Volume<S, M> {
    /// An empty volume over the driver's map, which must be empty. The volume has no reverse map:
    /// the driver knows the pages in each zone.
    ///
    /// # Errors
    /// Those of [`Volume::new`].
    pub fn over(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
        map: M,
    ) -> Result<Self, LogError> {
        Volume::build(options, scheme, policy, map, false)
    }

    fn build(
        options: Options,
        scheme: S,
        policy: Box<dyn VictimPolicy>,
        map: M,
        reverse: bool,
    ) -> Result<Self, LogError> {
        // A driver that keeps the map also keeps the scheme's state.
        let meta_pages = if reverse { scheme.meta_pages() } else { 0 };
        if !(16..=1 << 30).contains(&options.zone_pages) || meta_pages >= options.zone_pages {
            return Err(LogError::ZoneSize { pages: options.zone_pages });
        }
        let options = Options { zone_pages: options.zone_pages - meta_pages, ..options };
        let Options { zone_pages, page_units, capacity, max_open, .. } = options;
        if !(1..=Options::MOST_UNITS).contains(&page_units) {
            return Err(LogError::Units { units: page_units, most: Options::MOST_UNITS });
        }
        debug_assert!(options.chunks.is_none_or(|shape| shape.page_units == page_units));
        if page_units > 1 && (meta_pages > 0 || scheme.whole_pages_only()) {
            return Err(LogError::WholePages);
        }
        let classes = scheme.classes().max(1);
        if let Some(limit) = max_open.filter(|&limit| classes > limit) {
            return Err(LogError::TooManyClasses { classes, limit });
        }
        let max_zones = options.most_zones(reverse)?;
        let zone_units = zone_pages * page_units;
        let shift = slot_bits(zone_units);
        let trigger = Trigger::new(capacity)?;
        let mut volume = Volume {
            policy,
            zones: ZoneTable::new(zone_units),
            map,
            words: Array::default(),
            lengths: Array::default(),
            padding: Vec::new(),
            early: Vec::new(),
            unreset: 0,
            merges: Array::default(),
            chunks: vec![ZoneChunks::default(); classes],
            reverse,
            meta_pages,
            zone_units,
            open: vec![Cursor::CLOSED; classes],
            open_zones: vec![0; classes],
            free: Vec::new(),
            shift,
            trigger,
            max_zones,
            now: options.start,
            next_sweep: (options.start | (2 * SWEEP - 1)).wrapping_add(1),
            written: 0,
            garbage: 0,
            valid: 0,
            cleaning: false,
            counts: Counts::new(zone_units, classes),
            choice: Choice::default(),
            records: Vec::new(),
            batch: Batch::default(),
            survey: Survey::default(),
            hotness: Array::default(),
            most_zones: 0,
            write_records: None,
            scheme,
            options,
        };
        if let Some(zones) = capacity.zones() {
            volume.grow(zones as usize)?;
        }
        Ok(volume)
    }

    /// Adds zones until there are `zones` besides zone 0.
    fn grow(&mut self, zones: usize) -> Result<(), LogError> {
        let slots = (zones + 1) * self.zone_units as usize;
        if self.reverse && slots > self.words.len() {
            // The arrays double, so that growing costs a constant per page; untouched memory costs
            // nothing.
            let most = (self.max_zones + 1) * self.zone_units as usize;
            let len = (slots * 2).min(most).max(slots);
            self.words = self.words.grown(len)?;
            if self.options.in_records() {
                self.lengths = self.lengths.grown(len)?;
            }
        }
        let first = self.zones.len() as u32;
        while self.zones.len() <= zones {
            self.zones.add();
        }
        if self.options.page_units > 1 {
            self.padding.resize(self.zones.len(), 0);
            self.early.resize(self.zones.len(), 0);
        }
        // Zones are taken from the end: low numbers first.
        self.free.splice(0..0, (first..self.zones.len() as u32).rev());
        Ok(())
    }

    /// A free zone; adds one if there is none and one more is allowed.
    fn take_free(&mut self) -> Result<Option<u32>, LogError> {
        if self.free.is_empty() && self.options.capacity.zones().is_none() {
            let zones = self.zones.len() - 1;
            if zones < self.max_zones {
                self.grow((zones + zones / 8 + 16).min(self.max_zones))?;
            }
        }
        Ok(self.free.pop())
    }

    /// Opens a zone for `class`. False if no zone is free.
    pub(crate) fn open_zone(&mut self, class: usize) -> Result<bool, LogError> {
        debug_assert!(self.open[class].is_closed(), "class {class} has an open zone");
        let Some(zone) = self.take_free()? else {
            return Ok(false);
        };
        self.zones.open(zone, class, self.now);
        self.most_zones = self.most_zones.max(self.zones.live() as usize);
        self.begin_zone(class, zone, 0);
        let event = self.event(zone);
        self.scheme.on_opened(&event);
        Ok(true)
    }

    /// The class goes on in a zone of which so many units are used.
    pub(crate) fn begin_zone(&mut self, class: usize, zone: u32, used: u32) {
        let first = self.first_slot(zone);
        let gap = if self.reverse { zone * ((1 << self.shift) - self.zone_units) } else { 0 };
        let (slot, end) = (first + used, first + self.zone_units);
        self.open[class] = Cursor { slot, end, counted: slot, gap };
        self.open_zones[class] = zone;
    }

    /// The number that a cursor has for the first slot of a zone.
    #[inline(always)]
    pub(crate) fn first_slot(&self, zone: u32) -> u32 {
        if self.reverse { zone << self.shift } else { 0 }
    }

    /// Closes and seals the full open zone of `class`.
    pub(crate) fn close_zone(&mut self, class: usize) {
        let zone = self.open_zones[class];
        self.settle(class);
        self.leave_zone(class);
        self.seal_zone(zone);
    }

    /// The class has no open zone any more.
    pub(crate) fn leave_zone(&mut self, class: usize) {
        self.open[class] = Cursor::CLOSED;
        self.chunks[class] = ZoneChunks::default();
    }

    /// Updates the counts of a class up to its cursor: all pages appended since the last update
    /// were written by the user, or all by cleaning.
    pub(crate) fn settle(&mut self, class: usize) {
        let cursor = &mut self.open[class];
        let pages = u64::from(cursor.slot - cursor.counted);
        cursor.counted = cursor.slot;
        let counts = &mut self.counts.classes[class];
        match self.cleaning {
            true => counts.relocations += pages,
            false => counts.user_writes += pages,
        }
    }

    pub(crate) fn seal_zone(&mut self, zone: u32) {
        self.zones.seal(zone, self.now);
        self.counts.meta_pages += u64::from(self.meta_pages);
        let event = self.event(zone);
        self.scheme.on_sealed(&event, &self.zones.view(self.now));
    }

    /// Checks, in builds for tests, that every slot of a live zone up to its write position is
    /// counted once, and holds a valid page or garbage.
    pub(crate) fn check_totals(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let room: u64 = self.open.iter().map(|cursor| u64::from(cursor.end - cursor.slot)).sum();
        let slots = self.zones.live() * u64::from(self.zone_units);
        let padding: u64 = self.padding.iter().map(|&units| u64::from(units)).sum();
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

    /// First index of the reverse map for a zone.
    #[inline(always)]
    pub(crate) fn base(&self, zone: u32) -> usize {
        zone as usize * self.zone_units as usize
    }

    /// Clamps old stamps if it is time for that, so that ages of 32 bits never wrap. Returns true
    /// if it did.
    pub(crate) fn sweep_if_due(&mut self) -> bool {
        if self.next_sweep.wrapping_sub(self.now) as i32 > 0 {
            return false;
        }
        self.next_sweep = self.now.wrapping_add(SWEEP);
        self.zones.clamp(self.now);
        let (scheme, now) = (&self.scheme, self.now);
        self.map.each_page(&mut |page| scheme.clamp(page, now));
        true
    }
}

/// Bits of a slot's number that are for the slot in its zone.
fn slot_bits(zone_units: u32) -> u32 {
    zone_units.next_power_of_two().trailing_zeros()
}

/// The most zones of a volume: as given, or as many as an elastic volume can ever need. If it keeps
/// the map, slots have so many bits of their number in their zone.
fn max_zones(options: &Options, slot_bits: Option<u32>) -> Result<usize, LogError> {
    let zone_units = options.zone_pages * options.page_units;
    // The number after a zone's last slot must also fit into 32 bits.
    let numbered = slot_bits.map_or(u32::MAX - 1, |bits| (u32::MAX - zone_units) >> bits);
    let numbered = u64::from(numbered);
    // Records of variable length may leave almost a page of each zone unused.
    let zone_pages = u64::from(options.zone_pages - u32::from(options.page_units > 1));
    let too_large = |zones| LogError::TooLarge { zones, zone_units };
    match options.capacity {
        // The bound from the options would be pages / (1 - gp) and the open zones. A trigger that
        // can't be met for a while may exceed it, but not the number of slots.
        Capacity::Elastic { .. } => {
            let least = u64::from(options.space).div_ceil(zone_pages) + 256;
            if least > numbered { Err(too_large(least)) } else { Ok(numbered as usize) }
        }
        Capacity::Fixed { zones, reserve } | Capacity::Bounded { zones, reserve, .. } => {
            let physical = u64::from(zones);
            let logical = options.logical_pages.div_ceil(zone_pages);
            let spare = u64::from(reserve.max(Capacity::RESERVE)) + 1;
            if physical > numbered {
                return Err(too_large(physical));
            }
            if physical < logical + spare {
                return Err(LogError::TooSmall { physical, logical, spare });
            }
            Ok(zones as usize)
        }
    }
}
