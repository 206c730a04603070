//! Opens devices by URI, and the stores on them, for inspection.

use std::sync::Arc;

use frostline_store::{Cleaning, Open, Store};
use frostline_zone::{Device, OpenOptions, Span, open};

use crate::cause::{device_failure, store_failure};
use crate::failure::Failure;

/// Opens a device for inspection. Others may inspect it at the same time, and it may be a device
/// that can't be written.
pub(crate) fn open_to_look(uri: &str) -> Result<Arc<dyn Device>, Failure> {
    let options = OpenOptions { read_only: true, ..OpenOptions::default() };
    open(uri, &options).map_err(|error| device_failure(uri, &error))
}

/// Opens a store for inspection: nothing on the device changes.
pub(crate) fn open_store(uri: &str) -> Result<Store, Failure> {
    let device = zones_of_store(uri, open_to_look(uri)?)?;
    Store::inspect(device).map_err(|error| store_failure(uri, error))
}

/// Opens a store that is to be repaired.
pub(crate) fn open_store_to_repair(uri: &str) -> Result<Store, Failure> {
    let device = open(uri, &OpenOptions::default());
    let device = zones_of_store(uri, device.map_err(|error| device_failure(uri, &error))?)?;
    let inline = Open { cleaning: Cleaning::Inline, ..Open::default() };
    Store::open(device, inline).map_err(|error| store_failure(uri, error))
}

/// The zones of a device that a store was formatted with.
fn zones_of_store(uri: &str, device: Arc<dyn Device>) -> Result<Arc<dyn Device>, Failure> {
    let zones = Store::zones_on(&*device).map_err(|error| store_failure(uri, error))?;
    Span::first(device, zones).map_err(|error| device_failure(uri, &error))
}
