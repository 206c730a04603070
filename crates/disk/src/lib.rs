//! A page store as a disk: bytes at any offset.
//!
//! [`Disk`] is what a network block device and a block device of Linux have in common. The latter
//! is `ublk`, on Linux.

mod disk;
#[cfg(target_os = "linux")]
pub mod ublk;

pub use disk::{Disk, Extent, IDLE, OLDEST, PAGE};
