//! Shape, limits and states of zones.

use std::fmt;

use crate::{DeviceError, Size};

/// Shape and limits of a device. Its text has the shape: `32 zones of 256 KiB`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// The number of zones, conventional ones included.
    pub zones: u32,
    /// Unit of appends and reads, in bytes.
    pub block_bytes: u32,
    /// Distance from the start of a zone to that of the next, in bytes.
    pub zone_bytes: u64,
    /// The capacity of a zone, in bytes: at most `zone_bytes`. Single zones may have less
    /// ([`ZoneInfo::capacity`]), but none has more.
    pub zone_capacity: u64,
    /// Zones that may be open at a time; `None` if there is no limit.
    pub max_open: Option<u32>,
    /// Zones that may be active (begun and not full) at a time; `None` if there is no limit.
    pub max_active: Option<u32>,
    /// The zones without a write pointer, ascending. They are not used.
    pub conventional: Vec<u32>,
    /// The number of data zones that each zone of parity protects, if the device keeps parity.
    pub parity: Option<u32>,
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} zones of {}", self.zones, Size(self.zone_bytes))?;
        if self.zone_capacity < self.zone_bytes {
            write!(f, ", which hold {}", Size(self.zone_capacity))?;
        }
        match self.parity {
            Some(data) => write!(f, " with parity ({data}+1)"),
            None => Ok(()),
        }
    }
}

/// The state of a zone: it decides which operations are allowed next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneState {
    /// Nothing is written.
    Empty,
    /// Begun, and open because of a write.
    ImplicitOpen,
    /// Open because of a command (of another program: this crate sends none).
    ExplicitOpen,
    /// Begun, and not open. The next write opens it.
    Closed,
    /// Written up to its capacity, or finished.
    Full,
    /// Readable, but no longer writable or resettable.
    ReadOnly,
    /// Lost.
    Offline,
    /// A zone without a write pointer.
    Conventional,
}

impl ZoneState {
    /// True if the zone counts against [`Geometry::max_active`].
    pub fn is_active(self) -> bool {
        matches!(self, ZoneState::ImplicitOpen | ZoneState::ExplicitOpen | ZoneState::Closed)
    }

    /// True if the zone takes appends.
    pub fn is_writable(self) -> bool {
        self == ZoneState::Empty || self.is_active()
    }
}

/// A zone as a device reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Its state.
    pub state: ZoneState,
    /// The offset of the next append, in bytes; the capacity if the zone is full, 0 if it is
    /// offline or conventional.
    pub write_pointer: u64,
    /// Its capacity, in bytes.
    pub capacity: u64,
}

/// The shape of a device that is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// The capacity of all zones together, in bytes; rounded down to whole zones.
    pub bytes: u64,
    /// Size of a zone in bytes; [`default_zone_bytes`] if `None`.
    pub zone_bytes: Option<u64>,
    /// The capacity of a zone, in bytes; the whole zone if `None`.
    pub zone_capacity: Option<u64>,
    /// Zones that may be open at a time.
    pub max_open: Option<u32>,
    /// Zones that may be active (begun and not full) at a time.
    pub max_active: Option<u32>,
    /// The number of data zones that each zone of parity protects; no parity if `None`. Then a zone
    /// of the device is as many zones on the medium, and one more, and `bytes` includes those of
    /// parity.
    pub parity: Option<u32>,
}

impl Shape {
    /// So many zones of so many bytes, without limits of open zones and without parity.
    pub fn of_zones(zones: u64, zone_bytes: u64) -> Shape {
        Shape { bytes: zones * zone_bytes, zone_bytes: Some(zone_bytes), ..Shape::default() }
    }
}

/// The unit of appends and reads of devices made by this crate, in bytes.
pub(crate) const BLOCK_BYTES: u32 = 4096;

/// The most zones of a device made by this crate: more than the largest drives have.
const MOST_ZONES: u32 = 1 << 17;

/// The largest size of a zone of a device made by this crate, in bytes.
const MOST_ZONE_BYTES: u64 = 1 << 40;
const _: () = {
    assert!(BLOCK_BYTES.is_power_of_two() && MOST_ZONE_BYTES.is_multiple_of(BLOCK_BYTES as u64));
    assert!(
        MOST_ZONE_BYTES.checked_mul(MOST_ZONES as u64).is_some(),
        "the bytes of a device are counted in 64 bits"
    );
    assert!(
        2 * MOST_ZONE_BYTES / BLOCK_BYTES as u64 <= u32::MAX as u64,
        "write pointers are recorded in blocks, as 32 bits"
    );
};

/// The default size of zones: about 1/128 of the device, a power of two from 1 MiB to 1 GiB. With
/// fewer zones, the open zones of all classes would be too large a share of the device; smaller
/// zones cost more requests and more headers.
pub fn default_zone_bytes(device_bytes: u64) -> u64 {
    const LEAST: u64 = 1 << 20;
    const MOST: u64 = 1 << 30;
    const { assert!(LEAST.is_power_of_two() && MOST.is_power_of_two() && MOST <= MOST_ZONE_BYTES) };
    let share = (device_bytes / 128).clamp(LEAST, MOST);
    1 << share.ilog2()
}

impl Shape {
    /// The geometry of a device of this shape.
    ///
    /// # Errors
    /// Numbers are not multiples of blocks, or contradict each other; there is no zone, or more
    /// than 131,072 zones; a zone is larger than 1 TiB; a limit is 0; parity of no zone, or of more
    /// than 32.
    pub fn geometry(&self) -> Result<Geometry, DeviceError> {
        let laid_out = self.laid_out()?;
        match self.parity {
            None => Ok(laid_out),
            Some(data) => above(&laid_out, data),
        }
    }

    /// The geometry of the zones on the medium, those of parity among them.
    pub(crate) fn laid_out(&self) -> Result<Geometry, DeviceError> {
        let Some(data) = self.parity else { return self.plain() };
        check_data_zones(data)?;
        let zone_bytes = self.zone_bytes.unwrap_or_else(|| default_zone_bytes(self.bytes));
        let of_all = |limit: Option<u32>| {
            limit.map(|limit| limit.saturating_mul(data + 1).saturating_add(LOG_ZONES))
        };
        let members = Shape {
            bytes: self.bytes,
            zone_bytes: Some(self.on_medium(zone_bytes)),
            zone_capacity: self.zone_capacity.map(|capacity| self.on_medium(capacity)),
            max_open: of_all(self.max_open),
            max_active: of_all(self.max_active),
            parity: None,
        };
        Ok(Geometry { parity: Some(data), ..members.plain()? })
    }

    /// Bytes of a zone on the medium, if a zone of the device has so many.
    pub(crate) fn on_medium(&self, bytes: u64) -> u64 {
        match self.parity {
            None => bytes,
            Some(data) => {
                let share = bytes.div_ceil(u64::from(data.max(1)));
                share.checked_next_multiple_of(BLOCK_BYTES.into()).unwrap_or(bytes)
            }
        }
    }

    /// The geometry of a device without parity.
    fn plain(&self) -> Result<Geometry, DeviceError> {
        let zone_bytes = self.zone_bytes.unwrap_or_else(|| default_zone_bytes(self.bytes));
        let zone_capacity = self.zone_capacity.unwrap_or(zone_bytes);
        let block = u64::from(BLOCK_BYTES);
        let shape = |what, value, rule| Err(DeviceError::Shape { what, value, rule });
        if zone_bytes == 0 || !zone_bytes.is_multiple_of(block) {
            return shape("zone size", zone_bytes, "must be a multiple of 4096");
        }
        if zone_capacity == 0 || !zone_capacity.is_multiple_of(block) {
            return shape("zone capacity", zone_capacity, "must be a multiple of 4096");
        }
        if zone_capacity > zone_bytes {
            return shape("zone capacity", zone_capacity, "must not exceed the zone size");
        }
        if zone_bytes > MOST_ZONE_BYTES {
            return shape("zone size", zone_bytes, "must not exceed 1 TiB");
        }
        let zones = match u32::try_from(self.bytes / zone_capacity) {
            Ok(0) => return shape("device size", self.bytes, "must hold at least one zone"),
            Ok(zones) if zones <= MOST_ZONES => zones,
            _ => return shape("device size", self.bytes, "must not hold more than 131072 zones"),
        };
        if self.max_open == Some(0) || self.max_active == Some(0) {
            return shape("limit of zones", 0, "must be at least 1");
        }
        Ok(Geometry {
            zones,
            block_bytes: BLOCK_BYTES,
            zone_bytes,
            zone_capacity,
            max_open: self.max_open,
            max_active: self.max_active,
            conventional: Vec::new(),
            parity: None,
        })
    }
}

/// The geometry of a device with parity over the zones of another.
pub(crate) fn above(below: &Geometry, data: u32) -> Result<Geometry, DeviceError> {
    let refuse = |what, value, rule| Err(DeviceError::Shape { what, value, rule });
    check_data_zones(data)?;
    let members = data + 1;
    let zones = below.zones.saturating_sub(LOG_ZONES) / members;
    if zones == 0 {
        return refuse("number of zones", below.zones.into(), "must be enough for data and parity");
    }
    let zone_bytes = below.zone_bytes.saturating_mul(data.into());
    if zone_bytes > MOST_ZONE_BYTES + u64::from(data * BLOCK_BYTES) {
        return refuse("zone size", zone_bytes, "must not exceed 1 TiB");
    }
    if !below.conventional.is_empty() || below.block_bytes != BLOCK_BYTES {
        return refuse("parity", data.into(), "needs zones in blocks of 4096 with write pointers");
    }
    if let Some(of_all) = below.max_open.into_iter().chain(below.max_active).min()
        && of_all < members + LOG_ZONES
    {
        return refuse("limit of zones", of_all.into(), "must be enough for data and parity");
    }
    let limit = |of_all: Option<u32>| of_all.map(|of_all| (of_all - LOG_ZONES) / members);
    assert!(zones * members + LOG_ZONES <= below.zones, "the log lies behind all stripe groups");
    Ok(Geometry {
        zones,
        block_bytes: BLOCK_BYTES,
        zone_bytes,
        zone_capacity: below.zone_capacity * u64::from(data),
        max_open: limit(below.max_open),
        max_active: limit(below.max_active),
        conventional: Vec::new(),
        parity: Some(data),
    })
}

/// Zones of the log that parity keeps.
pub(crate) const LOG_ZONES: u32 = 2;
const _: () = assert!(LOG_ZONES == 2, "the log's zones are written in turn");

/// The most data zones for one of parity: with more of them a lost zone costs too many reads.
const MOST_DATA_ZONES: u32 = 32;

fn check_data_zones(data: u32) -> Result<(), DeviceError> {
    match (1..=MOST_DATA_ZONES).contains(&data) {
        true => Ok(()),
        false => {
            let rule = "must be of 1 to 32 zones";
            Err(DeviceError::Shape { what: "parity", value: data.into(), rule })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_zones_are_a_128th_of_the_device_within_bounds() {
        let sizes = [0, 64 << 20, 128 << 20, 200 << 20, 1 << 30, 4 << 40].map(default_zone_bytes);
        assert_eq!(sizes, [1 << 20, 1 << 20, 1 << 20, 1 << 20, 8 << 20, 1 << 30]);
    }

    #[test]
    fn shapes_that_no_device_can_have_are_refused() {
        let good = Shape { bytes: 1 << 20, zone_bytes: Some(1 << 16), ..Shape::default() };
        assert_eq!(good.geometry().unwrap().zones, 16);
        for bad in [
            Shape { bytes: 0, ..good.clone() },
            Shape { zone_bytes: Some(1000), ..good.clone() },
            Shape { zone_bytes: Some(0), ..good.clone() },
            Shape { zone_capacity: Some(0), ..good.clone() },
            Shape { zone_capacity: Some(1 << 17), ..good.clone() },
            Shape { bytes: u64::MAX, zone_bytes: Some(4096), ..good.clone() },
            Shape { bytes: 4096 * 131_073, zone_bytes: Some(4096), ..good.clone() },
            Shape { bytes: 1 << 60, zone_bytes: None, ..good.clone() },
            Shape { bytes: 1 << 60, zone_bytes: Some(1 << 59), ..good.clone() },
            Shape { max_open: Some(0), ..good.clone() },
            Shape { max_open: Some(3), max_active: Some(0), ..good.clone() },
            Shape { parity: Some(0), ..good.clone() },
            Shape { bytes: 1 << 17, parity: Some(2), ..good.clone() },
            Shape { parity: Some(33), ..good.clone() },
            Shape { parity: Some(2), zone_bytes: Some(u64::MAX), ..good.clone() },
        ] {
            assert!(matches!(bad.geometry(), Err(DeviceError::Shape { .. })), "{bad:?}");
        }
    }

    #[test]
    fn parity_divides_zones_among_those_on_the_medium() {
        let shape = Shape {
            bytes: 1 << 20,
            zone_bytes: Some(64 << 10),
            max_active: Some(3),
            parity: Some(3),
            ..Shape::default()
        };
        let (below, above) = (shape.laid_out().unwrap(), shape.geometry().unwrap());
        assert_eq!((below.zones, below.zone_bytes, below.max_active), (42, 24 << 10, Some(14)));
        assert_eq!((above.zones, above.zone_capacity, above.max_active), (10, 72 << 10, Some(3)));
    }
}
