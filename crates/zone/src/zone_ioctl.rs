//! The kernel's commands for zoned block devices (`linux/blkzoned.h`). Positions and lengths are in
//! sectors of 512 bytes.

#![allow(unsafe_code)]

use std::fs::File;
use std::mem::offset_of;

use rustix::io::Result;
use rustix::ioctl::{Getter, Opcode, Setter, Updater, ioctl, opcode};

const REPORT: Opcode = opcode::read_write::<Header>(0x12, 130);
const RESET: Opcode = opcode::write::<Range>(0x12, 131);
const ZONE_SECTORS: Opcode = opcode::read::<u32>(0x12, 132);
const ZONES: Opcode = opcode::read::<u32>(0x12, 133);
const FINISH: Opcode = opcode::write::<Range>(0x12, 136);

/// Zones per report command.
const MOST: usize = 256;

#[repr(C)]
struct Header {
    sector: u64,
    zones: u32,
    flags: u32,
}

#[repr(C)]
struct Report {
    header: Header,
    zones: [BlkZone; MOST],
}

/// A zone as the kernel reports it (`struct blk_zone`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlkZone {
    pub start: u64,
    pub len: u64,
    pub write_pointer: u64,
    pub kind: u8,
    pub condition: u8,
    pub not_sequential: u8,
    pub reset_recommended: u8,
    reserved: [u8; 4],
    pub capacity: u64,
    reserved_too: [u8; 24],
}

/// A range of whole zones (`struct blk_zone_range`).
#[repr(C)]
pub(crate) struct Range {
    pub sector: u64,
    pub sectors: u64,
}
// The layouts are the kernel's.
const _: () = {
    assert!(size_of::<Header>() == 16 && offset_of!(Report, zones) == 16);
    assert!(size_of::<BlkZone>() == 64 && offset_of!(BlkZone, capacity) == 32);
    assert!(size_of::<Range>() == 16);
};

/// Reports up to 256 zones from the one that begins at `sector`; none at the end of the device. The
/// flag says whether their capacities are valid.
pub(crate) fn report(file: &File, sector: u64) -> Result<(Vec<BlkZone>, bool)> {
    let header = Header { sector, zones: MOST as u32, flags: 0 };
    let mut report = Box::new(Report { header, zones: [BlkZone::default(); MOST] });
    // SAFETY: the command takes a header and as many zones behind it as the header says, which
    // is how many `Report` has, and fills them with numbers, for which any bits are valid.
    unsafe { ioctl(file, Updater::<REPORT, Report>::new(&mut report)) }?;
    let found = (report.header.zones as usize).min(MOST);
    Ok((report.zones[..found].to_vec(), report.header.flags & 1 != 0))
}

/// Empties zones.
pub(crate) fn reset(file: &File, range: Range) -> Result<()> {
    // SAFETY: the command reads a range, and changes the device only.
    unsafe { ioctl(file, Setter::<RESET, Range>::new(range)) }
}

/// Makes zones full.
pub(crate) fn finish(file: &File, range: Range) -> Result<()> {
    // SAFETY: as for `reset`.
    unsafe { ioctl(file, Setter::<FINISH, Range>::new(range)) }
}

/// The size of zones; 0 if the device has none.
pub(crate) fn zone_sectors(file: &File) -> Result<u32> {
    // SAFETY: the command writes a `u32`.
    unsafe { ioctl(file, Getter::<ZONE_SECTORS, u32>::new()) }
}

/// The number of zones.
pub(crate) fn zones(file: &File) -> Result<u32> {
    // SAFETY: the command writes a `u32`.
    unsafe { ioctl(file, Getter::<ZONES, u32>::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_kernels() {
        #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
        assert_eq!(
            [REPORT, RESET, ZONE_SECTORS, ZONES, FINISH],
            [0xc010_1282, 0x4010_1283, 0x8004_1284, 0x8004_1285, 0x4010_1288]
        );
    }
}
