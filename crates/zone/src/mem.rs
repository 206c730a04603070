//! Zones in memory, for tests and simulation.

use std::io::{self, IoSlice};
use std::sync::{Arc, PoisonError, RwLock};

use crate::parity;
use crate::zoned::{Medium, Zoned};
use crate::{Device, DeviceError, Shape, ZoneInfo, ZoneState};

/// An empty device in memory. It keeps every rule of zones; its content is gone when it is dropped.
/// Memory is taken when zones are written, and kept when they are reset.
///
/// # Errors
/// Those of [`Shape::geometry`].
pub fn in_memory(shape: &Shape) -> Result<Arc<dyn Device>, DeviceError> {
    let geometry = shape.laid_out()?;
    let zones = geometry.zones as usize;
    let capacity = geometry.zone_capacity;
    let empty = ZoneInfo { state: ZoneState::Empty, write_pointer: 0, capacity };
    let memory = MemoryZones {
        zones: (0..zones).map(|_| RwLock::default()).collect(),
        capacity: capacity as usize,
    };
    parity::as_described(Arc::new(Zoned::new(memory, geometry, vec![empty; zones])), false)
}

struct MemoryZones {
    zones: Box<[RwLock<Vec<u8>>]>,
    capacity: usize,
}

impl Medium for MemoryZones {
    fn write(&self, zone: u32, _at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut bytes = self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner);
        // Memory is reserved, so that a refusal is an error; growing could abort, and would copy
        // the content.
        if bytes.capacity() == 0 {
            bytes.try_reserve_exact(self.capacity)?;
        }
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.zones[zone as usize].read().unwrap_or_else(PoisonError::into_inner);
        let there = bytes.get(offset as usize..).unwrap_or_default();
        let there = &there[..there.len().min(buffer.len())];
        let (written, rest) = buffer.split_at_mut(there.len());
        written.copy_from_slice(there);
        rest.fill(0);
        Ok(())
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }

    fn finish(&self, _zone: u32) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Only a write can fail, because there is no memory to begin a zone; then it has done nothing.
    fn probe(&self, _zone: u32) -> io::Result<ZoneInfo> {
        let capacity = self.capacity as u64;
        Ok(ZoneInfo { state: ZoneState::Empty, write_pointer: 0, capacity })
    }
}
