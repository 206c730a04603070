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
    let memory = MemoryZones { zones: (0..zones).map(|_| RwLock::default()).collect(), capacity };
    parity::as_described(Arc::new(Zoned::new(memory, geometry, vec![empty; zones])), false)
}

/// Bytes of a zone that lie together, at most: a large zone of which little is written takes little
/// memory.
const PIECE: u64 = 64 << 20;

struct MemoryZones {
    /// Of each zone the pieces that were begun, all but the last one full.
    zones: Box<[RwLock<Vec<Vec<u8>>>]>,
    capacity: u64,
}

impl MemoryZones {
    fn piece(&self) -> u64 {
        self.capacity.min(PIECE)
    }
}

/// Bytes of the pieces of a zone.
fn written(pieces: &[Vec<u8>]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

impl Medium for MemoryZones {
    fn write(&self, zone: u32, at: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut pieces = self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(written(&pieces), at, "zone {zone} is written at its write pointer");
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let needed = (at + bytes).div_ceil(self.piece()) as usize;
        assert!(at + bytes <= self.capacity, "zone {zone} is written beyond its end");
        // Memory is reserved, so that a refusal is an error; growing could abort, and would copy
        // the content.
        for number in 0..needed {
            if pieces.len() == number {
                pieces.push(Vec::new());
            }
            if pieces[number].capacity() == 0 {
                pieces[number].try_reserve_exact(self.piece() as usize)?;
            }
        }
        let mut at = at;
        for mut part in parts.iter().map(|part| &part[..]) {
            while !part.is_empty() {
                let piece = &mut pieces[(at / self.piece()) as usize];
                let room = self.piece() as usize - piece.len();
                let (here, rest) = part.split_at(part.len().min(room));
                piece.extend_from_slice(here);
                at += here.len() as u64;
                part = rest;
            }
        }
        assert_eq!(written(&pieces), at, "zone {zone} holds what was appended to it");
        Ok(())
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let pieces = self.zones[zone as usize].read().unwrap_or_else(PoisonError::into_inner);
        let (mut at, mut left) = (offset, buffer);
        assert!(at + left.len() as u64 <= self.capacity, "zone {zone} is read beyond its end");
        while !left.is_empty() {
            let (number, within) = ((at / self.piece()) as usize, (at % self.piece()) as usize);
            let piece = pieces.get(number).and_then(|piece| piece.get(within..));
            let here = left.len().min(self.piece() as usize - within);
            let (read, rest) = left.split_at_mut(here);
            let there = piece.unwrap_or_default();
            let (written, unwritten) = read.split_at_mut(there.len().min(here));
            written.copy_from_slice(&there[..written.len()]);
            unwritten.fill(0);
            at += here as u64;
            left = rest;
        }
        Ok(())
    }

    fn reset(&self, zone: u32) -> io::Result<()> {
        let mut pieces = self.zones[zone as usize].write().unwrap_or_else(PoisonError::into_inner);
        pieces.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    fn finish(&self, _zone: u32) -> io::Result<()> {
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    /// Only a write can fail, because there is no memory for a piece; then it has done nothing.
    fn probe(&self, zone: u32) -> io::Result<ZoneInfo> {
        let pieces = self.zones[zone as usize].read().unwrap_or_else(PoisonError::into_inner);
        let write_pointer = written(&pieces);
        let state = if write_pointer > 0 { ZoneState::ImplicitOpen } else { ZoneState::Empty };
        Ok(ZoneInfo { state, write_pointer, capacity: self.capacity })
    }
}
