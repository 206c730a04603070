//! A range of a device's zones, as a device.

use std::io::IoSlice;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::Limits;
use crate::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead};

/// A range of another device's zones, as a device of its own: so one device can be shared by users
/// that know nothing of each other.
///
/// Zones are numbered from 0. Errors name the zones of the device below, so that they can be found
/// there; only [`DeviceError::NoSuchZone`] has the number that was asked for. A flush flushes the
/// whole device.
///
/// Each user keeps limits of its own; together they must not exceed those of the device below.
///
/// ```
/// use frostline_zone::{Device, Shape, Span, in_memory};
///
/// let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
/// let log = Span::new(device.clone(), 0, 8, None, None)?;
/// let pages = Span::new(device.clone(), 8, 56, None, None)?;
/// pages.append(0, 0, &[7; 4096])?;
/// assert_eq!((log.geometry().zones, device.zone(8)?.write_pointer), (8, 4096));
/// # Ok::<(), frostline_zone::DeviceError>(())
/// ```
pub struct Span {
    inner: Arc<dyn Device>,
    first: u32,
    geometry: Geometry,
    limits: Limits,
    /// One lock for each zone, held while the zone is changed, so that its state before and after
    /// is known.
    changes: Box<[Mutex<()>]>,
}

impl Span {
    /// The first `zones` of a device; the device itself if it has no more. Those behind a store's
    /// may hold the logs of databases.
    ///
    /// # Errors
    /// An error of the device's report.
    pub fn first(device: Arc<dyn Device>, zones: u32) -> Result<Arc<dyn Device>, DeviceError> {
        let Geometry { zones: all, max_open, max_active, .. } = *device.geometry();
        match zones < all {
            true => Ok(Arc::new(Span::new(device, 0, zones, max_open, max_active)?)),
            false => Ok(device),
        }
    }

    /// The `count` zones of `inner` from `first` on. The limits say how many of them may be open
    /// and active at a time; `None` is only possible if the device below has no limit.
    ///
    /// # Errors
    /// The device has too few zones; a limit is 0, larger than the device's, or missing although
    /// the device has one; `count` is 0; errors of the device's report.
    pub fn new(
        inner: Arc<dyn Device>,
        first: u32,
        count: u32,
        max_open: Option<u32>,
        max_active: Option<u32>,
    ) -> Result<Self, DeviceError> {
        let below = inner.geometry();
        check_zones(below, first, count)?;
        check_limit(max_open, below.max_open)?;
        check_limit(max_active, below.max_active)?;
        let end = first + count;
        let conventional = below.conventional.iter().filter(|zone| (first..end).contains(zone));
        let geometry = Geometry {
            zones: count,
            max_open,
            max_active,
            conventional: conventional.map(|zone| zone - first).collect(),
            ..below.clone()
        };
        let limits = Limits::new(&geometry, &inner.report(first, count)?);
        let changes = (0..count).map(|_| Mutex::new(())).collect();
        Ok(Span { inner, first, geometry, limits, changes })
    }

    /// The zone's number on the device below.
    fn below(&self, zone: u32) -> Result<u32, DeviceError> {
        let zones = self.geometry.zones;
        if zone < zones {
            Ok(self.first + zone)
        } else {
            Err(DeviceError::NoSuchZone { zone, zones })
        }
    }

    /// Makes a change of a zone, after which the zone may no longer be active.
    fn change(
        &self,
        zone: u32,
        begins: bool,
        change: impl FnOnce(u32) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let below = self.below(zone)?;
        let change_of_zone = &self.changes[zone as usize];
        let _alone = change_of_zone.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.inner.zone(below)?.state;
        let enters = begins && before.is_writable();
        if enters {
            self.limits.enter(zone, before)?;
        }
        let result = change(below);
        // If the device can't report the zone, it still counts: it may be active.
        let is_active = self.inner.zone(below).map_or(true, |info| info.state.is_active());
        if (enters || before.is_active()) && !is_active {
            self.limits.leave(zone);
        }
        result
    }
}

impl Device for Span {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        let below = self.below(first)?;
        let mut zones = self.inner.report(below, count.min(self.geometry.zones - first))?;
        for (zone, info) in (first..).zip(&mut zones) {
            info.state = self.limits.seen(zone, info.state);
        }
        Ok(zones)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        // An empty append begins no zone.
        let begins = parts.iter().any(|part| !part.is_empty());
        self.change(zone, begins, |below| self.inner.append_vectored(below, at, parts))
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.read(self.below(zone)?, offset, buffer)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        let mut below = Vec::with_capacity(reads.len());
        for read in reads {
            let zone = self.below(read.zone)?;
            below.push(ZoneRead { zone, offset: read.offset, buffer: read.buffer });
        }
        self.inner.read_all(&mut below)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        self.change(zone, false, |below| self.inner.reset(below))
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        self.change(zone, false, |below| self.inner.finish(below))
    }

    fn read_other(&self, zone: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        self.inner.read_other(self.below(zone)?, at, buffer)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.inner.rebuilt_blocks()
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.inner.flush()
    }
}

fn check_zones(below: &Geometry, first: u32, count: u32) -> Result<(), DeviceError> {
    if count == 0 {
        let rule = "must be at least 1";
        return Err(DeviceError::Shape { what: "number of zones", value: 0, rule });
    }
    match first.checked_add(count - 1) {
        Some(last) if last < below.zones => Ok(()),
        last => {
            let zone = last.unwrap_or(u32::MAX);
            Err(DeviceError::NoSuchZone { zone, zones: below.zones })
        }
    }
}

fn check_limit(limit: Option<u32>, below: Option<u32>) -> Result<(), DeviceError> {
    let refuse = |rule| {
        let value = u64::from(limit.unwrap_or(0));
        Err(DeviceError::Shape { what: "limit of zones", value, rule })
    };
    match (limit, below) {
        (Some(0), _) => refuse("must be at least 1"),
        (None, Some(_)) => refuse("must be given: the device below has one"),
        (Some(limit), Some(below)) if limit > below => {
            refuse("must not exceed that of the device below")
        }
        _ => Ok(()),
    }
}
