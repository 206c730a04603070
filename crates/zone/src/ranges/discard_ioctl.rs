//! The kernel's command that discards a range of a block device (`linux/fs.h`).

#![allow(unsafe_code)]

use std::fs::File;

use rustix::io::Result;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

const DISCARD: Opcode = opcode::none(0x12, 119);

/// Discards a range. It must be a multiple of the drive's sectors.
pub(super) fn discard(file: &File, at: u64, bytes: u64) -> Result<()> {
    // SAFETY: the command reads two numbers, and changes the device only.
    unsafe { ioctl(file, Setter::<DISCARD, [u64; 2]>::new([at, bytes])) }
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_number_is_the_kernels() {
        assert_eq!(super::DISCARD, 0x1277);
    }
}
