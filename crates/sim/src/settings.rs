//! Settings of a replay.

use std::ops::RangeInclusive;
use std::sync::Arc;

use frostline_learn::Model;
use frostline_log::{Capacity, Options};
use frostline_placement::SchemeSpec;
use frostline_placement::registry::Registry;
use frostline_placement::{BuildError, Semantics};

use crate::{SimError, TraceVolume};

/// Pages that a zone may have.
const ZONE_PAGES: RangeInclusive<u32> = 16..=1 << 30;

/// The capacity of a volume, and the trigger of cleaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Space {
    /// As many zones as needed; cleaned while the garbage proportion exceeds this.
    Gp(f64),
    /// Over-provisioned by this share of the logical pages; cleaned when free zones run out.
    Op(f64),
    /// A fixed number of zones; cleaned while the garbage proportion exceeds `gp` and when free
    /// zones run out, like a store on a device.
    Bounded {
        /// The threshold.
        gp: f64,
        /// Zones.
        zones: u32,
    },
}

/// Bytes in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneSize {
    /// About 1/128 of the largest volume, a power of two from 1 MiB to 1 GiB: a small volume then
    /// behaves like a small drive, not like three zones.
    Auto,
    /// This number of bytes.
    Bytes(u64),
}

/// Settings of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes in a page.
    pub page_size: u32,
    /// The unit in bytes, if pages are not written whole. A record then takes as many whole units
    /// as its bytes in the trace need.
    pub unit: Option<u32>,
    /// Records in a chunk of a store, behind which the rest of the last page stays unused, if pages are not
    /// written whole; 0 if there are no chunks.
    pub chunk_records: u32,
    /// Bytes in a zone.
    pub zone_size: ZoneSize,
    /// The capacity of a volume, and the trigger of cleaning.
    pub space: Space,
    /// Zones that may be open at once; `None` if there is no limit.
    pub max_open: Option<usize>,
    /// Free zones that are kept with a fixed capacity.
    pub reserve: u32,
    /// The reading of the papers to follow.
    pub semantics: Semantics,
    /// Seed of the random numbers of schemes and victim policies.
    pub seed: u64,
    /// The registry of schemes by name.
    pub schemes: Registry,
    /// The model that recognises frozen pages, for schemes that need one.
    pub model: Option<Arc<Model>>,
    /// User writes after the preload that are not counted.
    pub warmup: u64,
    /// User writes in a window of the report; no windows if 0.
    pub window: u64,
    /// Count a sample of the user writes by class and lifespan, of a trace that was read with lifespans.
    pub lifespans: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            page_size: 4096,
            unit: None,
            chunk_records: 0,
            zone_size: ZoneSize::Auto,
            space: Space::Gp(0.15),
            max_open: None,
            reserve: Capacity::RESERVE,
            semantics: Semantics::Published,
            seed: 1,
            schemes: Registry::published(),
            model: None,
            warmup: 0,
            window: 0,
            lifespans: false,
        }
    }
}

impl Settings {
    /// Checks the sizes before a trace is read.
    ///
    /// # Errors
    /// The page size is not valid, a unit does not divide it, or a zone is not 16 or more whole
    /// pages.
    pub fn check(&self) -> Result<(), SimError> {
        let page = self.page_size;
        if page < 512 || !page.is_power_of_two() {
            return Err(SimError::PageSize { bytes: page });
        }
        let unit = self.unit();
        let fits = unit > 0 && page.is_multiple_of(unit) && page / unit <= Options::MOST_UNITS;
        if !fits {
            return Err(SimError::Unit { unit, page });
        }
        if self.unit.is_some() && self.semantics == Semantics::SepbitFast22 {
            return Err(SimError::UnitInSemantics);
        }
        match self.zone_size {
            ZoneSize::Bytes(zone) => whole_pages(zone, page).map(drop),
            ZoneSize::Auto => Ok(()),
        }
    }

    /// Bytes in a unit; if pages are written whole, bytes in a page.
    pub fn unit(&self) -> u32 {
        self.unit.unwrap_or(self.page_size)
    }

    /// Pages in a zone, for a sweep over these volumes.
    ///
    /// # Errors
    /// Those of [`Settings::check`].
    pub fn zone_pages(&self, volumes: &[TraceVolume]) -> Result<u32, SimError> {
        self.check()?;
        let page = u64::from(self.page_size);
        let zone = match self.zone_size {
            ZoneSize::Bytes(bytes) => bytes,
            ZoneSize::Auto => {
                let pages = volumes.iter().map(|v| u64::from(v.unique_pages())).max();
                let share = pages.unwrap_or(0) * page / 128;
                let floor = if share == 0 { 1 } else { 1 << share.ilog2() };
                floor.clamp(1 << 20, 1 << 30).max(16 * page)
            }
        };
        whole_pages(zone, self.page_size)
    }

    /// The layout of a volume.
    pub(crate) fn options(&self, volume: &TraceVolume, zone_pages: u32) -> Options {
        let logical_pages = u64::from(volume.unique_pages());
        let capacity = match self.space {
            Space::Gp(gp) => Capacity::Elastic { gp },
            Space::Op(op) => Capacity::Fixed {
                zones: zones(logical_pages, zone_pages, op),
                reserve: self.reserve,
            },
            Space::Bounded { gp, zones } => Capacity::Bounded { gp, zones, reserve: self.reserve },
        };
        Options {
            deltas: false,
            zone_pages,
            page_units: self.page_size / self.unit(),
            chunk_records: self.chunk_records,
            space: volume.space(),
            logical_pages,
            capacity,
            max_open: self.max_open,
            start: 0,
        }
    }
}

/// The number of zones of a volume whose pages are over-provisioned by `op`.
pub(crate) fn zones(logical_pages: u64, zone_pages: u32, op: f64) -> u32 {
    Capacity::over_provisioned(logical_pages, zone_pages, op).zones().unwrap_or(0)
}

/// The least over-provisioning that gives a volume `zones` zones, rounded up to four digits after
/// the point.
pub(crate) fn least_op(logical_pages: u64, zone_pages: u32, zones: u64) -> f64 {
    let op = zones as f64 * f64::from(zone_pages) / logical_pages as f64 - 1.0;
    (op * 1e4).ceil() / 1e4
}

/// Pages in a zone of `zone` bytes.
fn whole_pages(zone: u64, page: u32) -> Result<u32, SimError> {
    let pages = zone / u64::from(page);
    if !zone.is_multiple_of(u64::from(page)) {
        return Err(SimError::ZoneSize { zone, page });
    }
    let fits = u32::try_from(pages).ok().filter(|pages| ZONE_PAGES.contains(pages));
    fits.ok_or(SimError::ZonePages { zone, pages })
}

/// A scheme with a victim policy.
#[derive(Clone, Debug)]
pub struct Combination {
    /// The scheme.
    pub scheme: SchemeSpec,
    /// The victim policy; the name of the scheme's own victim side if it has one.
    pub victim: String,
}

impl Combination {
    /// A scheme of these settings with a victim policy, or with its own victim side if it has one.
    ///
    /// # Errors
    /// Those of [`Registry::parse`].
    pub fn new(scheme: &str, victim: &str, settings: &Settings) -> Result<Self, BuildError> {
        let scheme = settings.schemes.parse(scheme)?;
        let victim = scheme.victim.unwrap_or(victim).to_string();
        Ok(Combination { scheme, victim })
    }

    /// True if both combinations place and clean in the same way, whatever their names.
    pub fn is_same_run(&self, other: &Combination) -> bool {
        let method = |run: &Combination| (run.scheme.entry.info.name, run.scheme.parameters());
        self.victim == other.victim && method(self) == method(other)
    }

    /// Every scheme with every victim policy; a scheme with its own victim side only once.
    pub fn cross(schemes: &[SchemeSpec], victims: &[String]) -> Vec<Combination> {
        let with = |scheme: &SchemeSpec, victim: &str| Combination {
            scheme: scheme.clone(),
            victim: victim.to_string(),
        };
        let each = schemes.iter().flat_map(|scheme| match scheme.victim {
            Some(own) => vec![with(scheme, own)],
            None => victims.iter().map(|v| with(scheme, v)).collect(),
        });
        each.collect()
    }
}
