//! The layout of a log.

use frostline_placement::{RecordKind, Room};

use super::capacity::Capacity;
use super::chunk_shape::ChunkShape;
use crate::{LogError, MAX_LBA};

/// The layout of a log.
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
    /// Largest LBA + 1, at most [`MAX_LBA`] + 1. A driver's map may have more LBAs: the scheme then
    /// sees their lower 31 bits.
    pub space: u32,
    /// Whole pages for which zones have room: as many may be valid at once. A store counts what its
    /// records take by itself, and may have more pages that are shorter.
    pub logical_pages: u64,
    /// The LBA of page 0's delta, if each page may have two records more: the delta of page `p` is
    /// as many above `p`, its tail twice as many.
    pub first_delta: Option<u32>,
    /// The capacity of the log, and the trigger of cleaning.
    pub capacity: Capacity,
    /// Of a replay, zones that it does without, for cleaned ones that wait to be reset on a device:
    /// they are reset together once there are as many, after a sync, which ends all chunks.
    pub spare: u32,
    /// Zones that may be open at once; `None` if there is no limit.
    pub max_open: Option<usize>,
    /// The time at which the log starts; other than 0 only in tests of the clock.
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

    /// Checks that zones hold the pages and that both can be numbered. A log is refused without
    /// that; by this its driver knows before it makes a scheme, whose tables may be as long.
    ///
    /// # Errors
    /// Zones that are too large, too few or too many; LBAs that are too large.
    pub fn check(&self) -> Result<(), LogError> {
        self.most_zones(true).map(drop)
    }

    /// Zones that there may be, whose slots are [numbered](super::Numbering) or not.
    pub(super) fn most_zones(&self, has_numbers: bool) -> Result<usize, LogError> {
        let zone_units = self.zone_pages.saturating_mul(self.page_units);
        if zone_units > 1 << 30 {
            return Err(LogError::ZoneSize { pages: self.zone_pages });
        }
        if self.space > MAX_LBA + 1 {
            return Err(LogError::BadLba { lba: u64::from(self.space) - 1, last: MAX_LBA.into() });
        }
        max_zones(self, has_numbers.then(|| slot_bits(zone_units)))
    }

    /// The LBA of a page's delta, if pages have deltas.
    pub fn delta_of(&self, page: u32) -> Option<u32> {
        self.first_delta.map(|first| page + first)
    }

    /// The LBA of a page's tail, if pages have deltas.
    pub fn tail_of(&self, page: u32) -> Option<u32> {
        self.first_delta.map(|first| page + 2 * first)
    }

    /// True if a record of this LBA is a delta or a tail.
    pub fn is_delta(&self, lba: u64) -> bool {
        self.first_delta.is_some_and(|first| lba >= first.into())
    }

    /// The kind of the record that has this LBA.
    pub fn kind(&self, lba: u64) -> RecordKind {
        RecordKind::of(lba, self.first_delta.unwrap_or(0))
    }

    /// The room for open zones.
    pub fn room(&self) -> Room {
        let filled = self.logical_pages.div_ceil(u64::from(self.zone_pages));
        let spare = |zones: u32| u64::from(zones).saturating_sub(filled) as u32;
        Room {
            spare_zones: self.capacity.zones().map(spare),
            waits_for_zones: matches!(self.capacity, Capacity::Fixed { .. }),
            open_zones: self.max_open.map(|zones| zones as u32),
        }
    }
}

/// Bits of a slot's number that are for the slot in its zone.
pub(super) fn slot_bits(zone_units: u32) -> u32 {
    zone_units.next_power_of_two().trailing_zeros()
}

/// The most zones: as given, or as many as an elastic capacity can ever need. Slots that have
/// numbers have so many bits of them in their zone.
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
