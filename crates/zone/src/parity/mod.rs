//! Parity: a device over another one, which reads what one zone of the device below lost.
//!
//! A zone of the device is a *set* of zones below: `data` zones and one of parity. Its blocks are
//! dealt to the data zones in turn, so a *row* has one block of each; block `n` of the parity zone
//! is the XOR of row `n`. Nothing else is written, so a set is described by the write pointers of
//! its zones alone.
//!
//! * **Parity follows data.** The parity of a row is appended only after a flush that covers the
//!   row, and is kept in memory until then, so no crash leaves parity of data that are not there.
//!   What is missing of it after a crash is made anew from the data ([`resync`]).
//! * **The end of a set** is that of its longest zone: a block that an unflushed zone lacks before
//!   that end reads as zeroes, as any unflushed block may.
//! * **The last row** of an open set, which is not whole, has its XOR in a
//!   [log](partial_parity_log) of two zones behind the sets, as of the latest flush.
//! * **A reset** empties the first zone durably before the others, and these before the set is
//!   written again. So a set whose first zone is empty is empty, and zones of two openings are
//!   never mixed.
//! * **A finish** finishes the last data zone durably before the others.
//!
//! A set that lost a zone, or has one that is read-only, is reported as read-only: its blocks can
//! be read, and its user moves them elsewhere. `docs/decisions/0086-parity.md` says why it is so.

mod flushes;
mod medium;
mod partial_parity_log;
mod reading;
mod resync;
mod rows;
mod set;
mod stripe_groups;
mod striped_write;

use std::sync::Arc;

use crate::geometry::above;
use crate::zoned::Zoned;
use crate::{Device, DeviceError, ZoneInfo};
use stripe_groups::StripeGroups;

/// A device that keeps one zone of parity for each `data_zones` zones of `below`, which is empty or
/// was used so before. Two zones hold a log, and zones that are too few for a set are not used.
/// Each zone of the device is as large as `data_zones` of those below. Errors name the zones of the
/// device below.
///
/// Devices that are [made](crate::create) with [`crate::Shape::parity`] remember that they have it.
///
/// ```
/// use frostline_zone::{Device, Shape, in_memory, with_parity};
///
/// let below = in_memory(&Shape { bytes: 10 << 20, ..Shape::default() })?;
/// let device = with_parity(below, 4)?;
/// assert_eq!((device.geometry().zones, device.geometry().zone_capacity), (1, 4 << 20));
/// # Ok::<(), frostline_zone::DeviceError>(())
/// ```
///
/// # Errors
/// `data_zones` is not from 1 to 32; the device has too few zones, or too few may be active; it has
/// conventional zones, or blocks of another size than 4096 bytes; an error of its report.
pub fn with_parity(
    below: Arc<dyn Device>,
    data_zones: u32,
) -> Result<Arc<dyn Device>, DeviceError> {
    over(below, data_zones, false)
}

/// The device itself, or one with parity over it if its description says that it has that.
pub(crate) fn as_described(
    device: Arc<dyn Device>,
    read_only: bool,
) -> Result<Arc<dyn Device>, DeviceError> {
    match device.geometry().parity {
        None => Ok(device),
        Some(data_zones) => over(device, data_zones, read_only),
    }
}

fn over(
    below: Arc<dyn Device>,
    data_zones: u32,
    read_only: bool,
) -> Result<Arc<dyn Device>, DeviceError> {
    let geometry = above(below.geometry(), data_zones)?;
    let sets = StripeGroups::over(below, data_zones, &geometry)?;
    let zones: Vec<ZoneInfo> =
        (0..geometry.zones).map(|set| sets.seen(set)).collect::<Result<_, _>>()?;
    Ok(Arc::new(Zoned::new(sets, geometry, zones).read_only(read_only)))
}
