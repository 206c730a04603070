//! Devices by URI: opened, or made with a given shape, and formatted.

use std::sync::Arc;

use frostline_zone::{
    Device, DeviceError, Geometry, OpenOptions, Shape, can_create, can_overwrite, create, filling,
    in_memory, open,
};

use crate::{Error, Result};

/// A device, and the shape that a new one gets, or an existing one must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSpec {
    /// `mem:`, `file:PATH`, `block:PATH`, `fdp:/dev/...`, `dir:DIR`, `zonefs:MOUNT` or
    /// `zbd:/dev/...`
    pub uri: String,
    /// Bytes of all zones; needed to make a device.
    pub bytes: Option<u64>,
    /// Bytes in a zone; [`frostline_zone::default_zone_bytes`] if `None`.
    pub zone_bytes: Option<u64>,
    /// Capacity of a zone in bytes; the whole zone if `None`.
    pub zone_capacity: Option<u64>,
    /// The number of data zones that each zone of parity protects; no parity if `None`.
    pub parity: Option<u32>,
    /// True if a device may be made over what a drive or file of `block:` holds.
    pub overwrite: bool,
    /// True if a device that is there is used although it lost something: a file was cut short, or
    /// synced pages are missing, which are then lost for good.
    pub accept_loss: bool,
}

impl Default for DeviceSpec {
    /// A device in memory, without a size.
    fn default() -> Self {
        let uri = "mem:".to_string();
        let (bytes, zone_bytes, zone_capacity, parity) = (None, None, None, None);
        let (overwrite, accept_loss) = (false, false);
        DeviceSpec { uri, bytes, zone_bytes, zone_capacity, parity, overwrite, accept_loss }
    }
}

impl DeviceSpec {
    /// Opens the device, or makes it if it does not exist, and formats it by `format`.
    ///
    /// A new device is formatted in memory first. So if `format` refuses the options or the size of
    /// the device, nothing is left behind.
    ///
    /// # Errors
    /// The error of `format`; the size of a new device is missing; an existing device has another
    /// shape; an error of the device.
    pub fn formatted(
        &self,
        format: impl Fn(&Arc<dyn Device>) -> Result<()>,
    ) -> Result<Arc<dyn Device>> {
        let is_made = can_create(&self.uri) || self.overwrite && can_overwrite(&self.uri);
        if is_made && self.uri != "mem:" {
            format(&self.make(|_, shape| in_memory(shape))?)?;
        }
        let options = OpenOptions { overwrite: self.overwrite, ..OpenOptions::default() };
        let device = match is_made {
            true => self.make(|uri, shape| create(uri, shape, &options))?,
            false => self.open()?,
        };
        tracing::info!(uri = self.uri, shape = device.geometry().to_string(), "opened a device");
        format(&device)?;
        Ok(device)
    }

    /// Makes the device and formats it, replacing an existing one.
    pub(crate) fn made_anew(
        &self,
        format: impl Fn(&Arc<dyn Device>) -> Result<()>,
    ) -> Result<Arc<dyn Device>> {
        if !can_create(&self.uri) {
            // If `format` refuses, the old device stays unchanged.
            format(&self.make(|_, shape| in_memory(shape))?)?;
            self.remove()?;
        }
        self.formatted(format)
    }

    /// Opens the existing device, which must have the given shape.
    fn open(&self) -> Result<Arc<dyn Device>> {
        let options = OpenOptions { accept_loss: self.accept_loss, ..OpenOptions::default() };
        let device = open(&self.uri, &options);
        let device = device.map_err(Error::device(&self.uri))?;
        match self.is_shape_of(device.geometry()) {
            true => Ok(device),
            false => {
                Err(Error::OtherShape { uri: self.uri.clone(), has: device.geometry().to_string() })
            }
        }
    }

    fn is_shape_of(&self, has: &Geometry) -> bool {
        if self.parity.is_some_and(|data| Some(data) != has.parity) {
            return false;
        }
        let Some(bytes) = self.bytes else { return true };
        let shape = Shape {
            bytes,
            zone_bytes: self.zone_bytes.or(Some(has.zone_bytes)),
            zone_capacity: self.zone_capacity.or(Some(has.zone_capacity)),
            parity: has.parity,
            ..Shape::default()
        };
        let sizes = |g: &Geometry| (g.zones, g.zone_bytes, g.zone_capacity);
        shape.geometry().is_ok_and(|asked| sizes(&asked) == sizes(has))
    }

    fn make(
        &self,
        make: impl Fn(&str, &Shape) -> std::result::Result<Arc<dyn Device>, DeviceError>,
    ) -> Result<Arc<dyn Device>> {
        let &DeviceSpec { ref uri, bytes, zone_bytes, zone_capacity, parity, .. } = self;
        let shape = Shape { zone_bytes, zone_capacity, parity, ..Shape::default() };
        let shape = match bytes {
            Some(bytes) => Shape { bytes, ..shape },
            // A drive is used as a whole.
            None => filling(uri, &shape).ok_or_else(|| Error::NoSize { uri: uri.clone() })?,
        };
        make(uri, &shape).map_err(Error::device(uri))
    }

    /// Removes a device of `file:` that nobody else uses.
    fn remove(&self) -> Result<()> {
        // Opening proves that it is a device, and locks it; its content does not matter.
        let device = open(&self.uri, &OpenOptions::default()).map_err(Error::device(&self.uri))?;
        let Some(file) = self.uri.strip_prefix("file:") else { return Ok(()) };
        std::fs::remove_file(file).map_err(|e| self.failed(e))?;
        tracing::info!(uri = self.uri, "removed a device");
        drop(device);
        Ok(())
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Io { what: self.uri.clone(), source }
    }
}
