//! Settings of a replay.

use std::ops::RangeInclusive;
use std::sync::Arc;

use frostline_learn::Model;
use frostline_log::{Capacity, ChunkShape, Options};
use frostline_placement::SchemeSpec;
use frostline_placement::registry::Registry;
use frostline_placement::{BuildError, Semantics};

use crate::{SimError, TraceVolume, share};

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

/// The parts of a store's format that decide where it places records, besides scheme and capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreShape {
    /// Pages that it can hold.
    pub pages: u32,
    /// Pages that it can hold if all are whole.
    pub whole: u32,
    /// Zones that it keeps back for those that wait to be reset, besides those of
    /// [`Space::Bounded`].
    pub spare: u32,
    /// How records lie in the zones of its device.
    pub chunks: ChunkShape,
}

/// Settings of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Bytes in a page.
    pub page_size: u32,
    /// The unit in bytes, if pages are not written whole. A record then takes as many whole units
    /// as its bytes in the trace need.
    pub unit: Option<u32>,
    /// The store whose decisions are to be made again, with its chunks; none for a log without a
    /// device.
    pub store: Option<StoreShape>,
    /// User writes after the preload at which the scheme begins anew, as it does when a store is
    /// closed and opened; none if it does not.
    pub reopened: Option<u64>,
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
    /// Guess what follows in the requests of a trace that has none: the LBAs that come next. If
    /// false, no page follows another there.
    pub guess: bool,
    /// Count a sample of the user writes by class and lifespan, of a trace that was read with
    /// lifespans.
    pub lifespans: bool,
}

impl Space {
    /// The garbage proportions that a volume can have: beyond them the log rounds to no page or all
    /// pages.
    pub const GP: RangeInclusive<f64> = 0.0001..=0.9999;
    /// The over-provisioning that a volume can have.
    pub const OP: RangeInclusive<f64> = 0.0001..=1.0;

    fn check(self) -> Result<(), SimError> {
        let (name, value, bounds) = match self {
            Space::Gp(gp) | Space::Bounded { gp, .. } => ("gp", gp, Space::GP),
            Space::Op(op) => ("op", op, Space::OP),
        };
        share(value, bounds).map_err(|error| SimError::Share { name, value, error })?;
        Ok(())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            page_size: 4096,
            unit: None,
            store: None,
            reopened: None,
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
            guess: true,
            lifespans: false,
        }
    }
}

impl Settings {
    /// These settings with each size of zones and each capacity, every combination once.
    pub fn crossed(&self, zone_sizes: &[ZoneSize], spaces: &[Space]) -> Vec<Settings> {
        let mut all: Vec<Settings> = Vec::new();
        for &zone_size in zone_sizes {
            for &space in spaces {
                if !all.iter().any(|one| one.zone_size == zone_size && one.space == space) {
                    all.push(Settings { zone_size, space, ..self.clone() });
                }
            }
        }
        all
    }

    /// Checks the sizes and the capacity before a trace is read.
    ///
    /// # Errors
    /// The page size is not valid, a unit does not divide it, a zone is not 16 or more whole pages,
    /// or the garbage proportion or over-provisioning is out of its bounds.
    pub fn check(&self) -> Result<(), SimError> {
        self.space.check()?;
        let page = self.page_size;
        if page < 512 || !page.is_power_of_two() {
            return Err(SimError::PageSize { bytes: page });
        }
        let unit = self.unit();
        let fits = unit > 0 && page.is_multiple_of(unit) && page / unit <= Options::MOST_UNITS;
        if !fits {
            return Err(SimError::Unit { unit, page });
        }
        let like_store = self.store.is_some() || self.reopened.is_some();
        if (self.unit.is_some() || like_store) && self.semantics == Semantics::SepbitFast22 {
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

    /// True if schemes hear of hotness records: a store without room for them drops those that it
    /// gets.
    pub(crate) fn hears_hotness(&self) -> bool {
        self.store.is_none_or(|store| store.chunks.hotness > 0)
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
        debug_assert!(self.page_size.is_multiple_of(self.unit()), "a page has whole units");
        let spare = self.store.map_or(0, |store| store.spare);
        let (space, logical_pages) = match self.store {
            Some(store) => (store.pages, u64::from(store.whole)),
            None => (volume.space(), u64::from(volume.unique_pages())),
        };
        let has_deltas =
            self.unit() < self.page_size && (self.store.is_some() || volume.has_deltas());
        let capacity = match self.space {
            Space::Gp(gp) => Capacity::Elastic { gp },
            Space::Op(op) => Capacity::Fixed {
                zones: zones(logical_pages, zone_pages, op),
                reserve: self.reserve,
            },
            Space::Bounded { gp, zones } => {
                Capacity::Bounded { gp, zones: zones.saturating_add(spare), reserve: self.reserve }
            }
        };
        Options {
            zone_pages,
            page_units: self.page_size / self.unit(),
            chunks: self.store.map(|store| store.chunks),
            space: if has_deltas { space.saturating_mul(3) } else { space },
            logical_pages,
            first_delta: has_deltas.then_some(space),
            capacity,
            spare,
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
    /// A scheme of these settings with a victim policy: with its own victim side if it has one,
    /// with its default if no policy is named.
    ///
    /// # Errors
    /// Those of [`Registry::parse`].
    pub fn new<'a>(
        scheme: &str,
        victim: impl Into<Option<&'a str>>,
        settings: &Settings,
    ) -> Result<Self, BuildError> {
        let scheme = settings.schemes.parse(scheme)?;
        let named = scheme.victim.or(victim.into());
        let victim = named.unwrap_or(scheme.default_victim).to_string();
        Ok(Combination { scheme, victim })
    }

    /// True if both combinations place and clean in the same way, whatever their names.
    pub fn is_same_run(&self, other: &Combination) -> bool {
        let method = |run: &Combination| (run.scheme.entry.info.name, run.scheme.parameters());
        self.victim == other.victim && method(self) == method(other)
    }

    /// Every scheme with every victim policy, or with its default if there is none; a scheme with
    /// its own victim side only once.
    pub fn cross(schemes: &[SchemeSpec], victims: &[String]) -> Vec<Combination> {
        let with = |scheme: &SchemeSpec, victim: &str| Combination {
            scheme: scheme.clone(),
            victim: victim.to_string(),
        };
        let each = schemes.iter().flat_map(|scheme| match scheme.victim {
            Some(own) => vec![with(scheme, own)],
            None if victims.is_empty() => vec![with(scheme, scheme.default_victim)],
            None => victims.iter().map(|v| with(scheme, v)).collect(),
        });
        each.collect()
    }
}
