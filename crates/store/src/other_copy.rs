//! Content that is not what was written: the device may have another copy of it, made by parity.

use frostline_zone::{AlignedBuf, Device, DeviceError};

use crate::StoreError;
use crate::error::of_zone;
use crate::format::PAGE;
use crate::inner::Inner;
use crate::records::Span;

/// Reads pages. If they are not `sound`, they are taken from another copy that is; without one they
/// stay as they were read.
pub fn read_sound(
    device: &dyn Device,
    zone: u32,
    at: u64,
    pages: &mut [u8],
    sound: &dyn Fn(&[u8]) -> bool,
) -> Result<(), DeviceError> {
    device.read(zone, at, pages)?;
    if !sound(pages) {
        repair(device, zone, at, pages, sound)?;
    }
    Ok(())
}

/// Replaces the one page that is wrong by another copy of it; false if there is none with which the
/// pages are `sound`.
pub fn repair(
    device: &dyn Device,
    zone: u32,
    at: u64,
    pages: &mut [u8],
    sound: &dyn Fn(&[u8]) -> bool,
) -> Result<bool, DeviceError> {
    let mut other = AlignedBuf::zeroed(PAGE);
    for page in 0..pages.len() / PAGE {
        let (place, at) = (page * PAGE..(page + 1) * PAGE, at + (page * PAGE) as u64);
        match device.read_other(zone, at, &mut other) {
            Ok(true) => {}
            Err(error) if !error.is_of_zone() => return Err(error),
            Ok(false) | Err(_) => continue,
        }
        pages[place.clone()].swap_with_slice(&mut other);
        if sound(pages) {
            tracing::warn!(zone, at, "a page was not what was written: its parity had it");
            return Ok(true);
        }
        pages[place].swap_with_slice(&mut other);
    }
    Ok(false)
}

impl Inner {
    /// Fills `record` with the content that has this sum, if another copy of one of its pages has it; false,
    /// and `record` is as it was, if not.
    pub fn repair_record(
        &self,
        zone: u32,
        span: Span,
        sum: u32,
        record: &mut [u8],
    ) -> Result<bool, StoreError> {
        let at = u64::from(span.page) * PAGE as u64;
        let mut pages = AlignedBuf::zeroed(span.pages() * PAGE);
        let within = span.skip..span.skip + span.bytes;
        if of_zone(self.device.read(zone, at, &mut pages))?.is_err() {
            return Ok(false);
        }
        let sound = |pages: &[u8]| crc32c::crc32c(&pages[within.clone()]) == sum;
        let found = repair(&*self.device, zone, at, &mut pages, &sound)?;
        if found {
            record.copy_from_slice(&pages[within]);
            self.counters.count_repaired();
        }
        Ok(found)
    }

    /// True if the device has another copy of one of these pages, and it is not the same.
    pub fn differs(&self, zone: u32, span: Span) -> Result<bool, StoreError> {
        let (mut page, mut other) = (AlignedBuf::zeroed(PAGE), AlignedBuf::zeroed(PAGE));
        for number in span.page..span.end() {
            let at = u64::from(number) * PAGE as u64;
            let has_other = of_zone(self.device.read_other(zone, at, &mut other))?;
            let read = of_zone(self.device.read(zone, at, &mut page))?;
            if matches!(has_other, Ok(true)) && read.is_ok() && page[..] != other[..] {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
