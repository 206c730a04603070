//! Fresh databases on a device; a missing device is made.

use std::sync::Arc;

use frostline_db::{Create, Databases, Options};
use frostline_store::Format;
use frostline_zone::{Device, can_create, default_zone_bytes};

use super::DatabaseBench;
use super::benchmark::Benchmark;
use super::room::{Room, Sizes};
use crate::device::DeviceSpec;
use crate::{Error, Result};

/// The default length of a run, in seconds.
const SECONDS: u64 = 30;

/// The fewest zones of a device whose size is given, if it is large enough for them.
const FEWEST_ZONES: u64 = 64;

/// Bytes of a zone of a device that has too few zones otherwise.
fn zone_of_small(bytes: u64) -> Option<u64> {
    let zone = 1 << (bytes / FEWEST_ZONES).checked_ilog2()?;
    (zone < default_zone_bytes(bytes)).then_some(zone)
}

impl DatabaseBench {
    /// The time after which the runs end, in seconds, if time ends them.
    pub(super) fn run_seconds(&self) -> Option<u64> {
        self.seconds.or(self.transactions.is_none().then_some(SECONDS))
    }

    /// True if changed pages are written from memory where cleaning would copy them.
    pub(super) fn rewrites(&self) -> bool {
        self.rewriting && self.record.is_none()
    }

    /// The device, with fresh databases on it unless the existing ones are to be kept. `is_ours` is
    /// true if an earlier run of the same bench made its content.
    pub(super) fn prepare(
        &self,
        workload: &dyn Benchmark,
        scheme: &str,
        is_ours: bool,
    ) -> Result<Arc<dyn Device>> {
        let sizes = self.room(workload).device();
        let is_anew = self.anew && !self.keep && !is_ours;
        let is_made = is_anew || can_create(&self.device.uri);
        let create = self.create(scheme, sizes, is_ours, is_made);
        let spec = match is_made {
            true => self.made(sizes)?,
            false if is_ours => DeviceSpec { uri: self.device.uri.clone(), ..Default::default() },
            false => self.found()?,
        };
        let format = |device: &Arc<dyn Device>| {
            if !is_ours {
                self.check_room(sizes, &**device)?;
            }
            let device = self.speed.of(device.clone())?;
            if self.keep {
                return Ok(());
            }
            Databases::create(&device, &create).map_err(Error::database(&self.device.uri))
        };
        let device = match is_anew {
            true => spec.made_anew(format),
            false => spec.formatted(format),
        }?;
        self.speed.of(device)
    }

    fn create(&self, scheme: &str, sizes: Sizes, is_ours: bool, is_made: bool) -> Create {
        let store = Format {
            scheme: scheme.to_string(),
            victim: self.victim.clone(),
            gp: self.gp,
            unit: self.unit,
            seed: self.seed,
            spare: self.spare,
            force: self.force || is_ours,
            ..Format::default()
        };
        // If the size of the device was given, or it is a drive, the log has its default share.
        let is_sized_here = self.device.bytes.is_none() && (is_ours || is_made);
        let log_bytes = self.log_bytes.or(is_sized_here.then_some(sizes.log));
        Create { store, log_bytes, instances: self.tenants }
    }

    /// The specification of the device, if it must be made.
    fn made(&self, sizes: Sizes) -> Result<DeviceSpec> {
        let DeviceSpec { uri, bytes, zone_bytes, .. } = &self.device;
        if self.keep {
            return Err(Error::NothingToKeep { uri: uri.clone() });
        }
        let zone = match bytes {
            None => Some(sizes.zone),
            Some(bytes) => zone_of_small(*bytes),
        };
        Ok(DeviceSpec {
            zone_bytes: zone_bytes.or(zone),
            bytes: bytes.or(Some(self.with_parity(sizes.device))),
            ..self.device.clone()
        })
    }

    /// Bytes of a device whose data take so many.
    fn with_parity(&self, data: u64) -> u64 {
        self.device.parity.map_or(data, |zones| data + data.div_ceil(u64::from(zones.max(1))))
    }

    /// The specification of the device, if it exists.
    fn found(&self) -> Result<DeviceSpec> {
        match &self.device {
            DeviceSpec { uri, bytes: None, zone_bytes: Some(_), .. } => {
                Err(Error::OwnZones { uri: uri.clone() })
            }
            device => Ok(device.clone()),
        }
    }

    /// Refuses a small device, which may be left from a smaller bench.
    fn check_room(&self, sizes: Sizes, device: &dyn Device) -> Result<()> {
        let DeviceSpec { uri, bytes, .. } = &self.device;
        let geometry = device.geometry();
        let has = u64::from(geometry.zones) * geometry.zone_capacity;
        // A given size is intended, and a drive has the size it has.
        let is_doubtful =
            self.force && bytes.is_none() && (uri.starts_with("file:") || uri.starts_with("dir:"));
        if !is_doubtful || has >= sizes.device {
            return Ok(());
        }
        let wanted = sizes.device.div_ceil(1 << 20);
        Err(Error::SmallDevice { uri: uri.clone(), has: device.geometry().to_string(), wanted })
    }

    fn room(&self, workload: &dyn Benchmark) -> Room {
        Room {
            tenants: u64::from(self.tenants),
            loaded: workload.loaded_bytes(),
            grown: workload.grown_bytes(),
            rate: workload.rate(),
            transactions: self.transactions,
            seconds: self.run_seconds(),
            threads: u64::from(self.threads),
            gp: self.gp,
            zone: self.device.zone_bytes,
            log: self.log_bytes,
            // Half of a log is for what recovery may redo.
            least_log: 2 * self.options().recovery_bytes(),
        }
    }

    /// Opens the databases of a device.
    pub(super) fn open(&self, device: &Arc<dyn Device>) -> Result<Databases> {
        Databases::open(device, &self.options()).map_err(Error::database(&self.device.uri))
    }

    fn options(&self) -> Options {
        Options {
            buffer_bytes: self.buffer_bytes as usize,
            replacement: self.replacement,
            hotness: self.hotness,
            rewriting: self.rewrites(),
            compression: self.compression,
            recovery_bytes: self.recovery_bytes,
            fill: self.fill,
            background: !self.in_order,
            cleaning: self.cleaning,
            accept_loss: self.device.accept_loss,
            space: self.space,
            ..Options::default()
        }
    }
}
