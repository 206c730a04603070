//! The content of a drive or file before a device is made on it.

use std::io;

use super::disk::Disk;
use crate::AlignedBuf;
use crate::geometry::BLOCK_BYTES;

/// Bytes that are looked at from each end. All that marks partitions, file systems, volumes and
/// arrays lies there.
const LOOKED_AT: u64 = 1 << 20;

/// Offset, bytes and name of marks at the beginning; those that others contain are below these.
const MARKS: [(usize, &[u8], &str); 22] = [
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (512, b"EFI PART", "a partition table (GPT)"),
    (4096, b"EFI PART", "a partition table (GPT)"),
    (0x438, b"\x53\xef", "an ext2, ext3 or ext4 file system"),
    (0, b"XFSB", "an XFS file system"),
    (0x1_0040, b"_BHRfS_M", "a btrfs file system"),
    (0x400, b"\x10\x20\xf5\xf2", "an F2FS file system"),
    (0, b"SFOZ", "a zonefs"),
    (0x1018, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", "a bcache device"),
    (0x1018, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9", "a bcachefs file system"),
    (0xff6, b"SWAPSPACE2", "swap space"),
    (0xff6, b"SWAP-SPACE", "swap space"),
    (0x218, b"LVM2 001", "a volume of LVM"),
    (0x18, b"LVM2 001", "a volume of LVM"),
    (0, b"\xfc\x4e\x2b\xa9", "a member of a RAID (md)"),
    (0x1000, b"\xfc\x4e\x2b\xa9", "a member of a RAID (md)"),
    (3, b"NTFS    ", "an NTFS file system"),
    (3, b"EXFAT   ", "an exFAT file system"),
    (0, b"hsqs", "a squashfs"),
    (0x8001, b"CD001", "an image of a CD"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (510, b"\x55\xaa", "a partition table or a FAT file system"),
];

/// Finds out what the beginning and the end hold; none if all bytes are zero, as on an unused
/// drive.
///
/// # Errors
/// It can't be read.
pub(super) fn found(disk: &dyn Disk, bytes: u64) -> io::Result<Option<&'static str>> {
    let bytes = bytes - bytes % u64::from(BLOCK_BYTES);
    let looked_at = bytes.min(LOOKED_AT);
    let mut ends = AlignedBuf::zeroed(2 * looked_at as usize);
    let (head, tail) = ends.split_at_mut(looked_at as usize);
    disk.read(0, head)?;
    disk.read(bytes - looked_at, tail)?;
    if head.iter().chain(&*tail).all(|&byte| byte == 0) {
        return Ok(None);
    }
    let is_there = |at: usize, mark: &[u8]| head.get(at..).is_some_and(|b| b.starts_with(mark));
    let known = MARKS.iter().find(|(at, mark, _)| is_there(*at, mark));
    Ok(Some(known.map_or("data", |&(_, _, name)| name)))
}
