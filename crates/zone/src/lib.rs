//! Zoned devices: storage whose zones are written in order and reset as a whole.
//!
//! A [`Device`] is shared by threads and used through `Arc<dyn Device>`. It is [made](create) or
//! [opened](open) by URI:
//!
//! | URI | |
//! |---|---|
//! | `mem:` | zones in memory, for tests and simulation: also [`in_memory`] |
//! | `file:PATH` | zones in one ordinary file, which grows and shrinks with them |
//! | `block:PATH` | zones that are ranges of a plain block device, or of a file |
//! | `fdp:DEVICE` | the same on a drive with write streams, which zones are written in |
//! | `dir:DIR` | a directory with a file for each zone, as zonefs shows a drive |
//! | `zonefs:MOUNT` | a zoned drive under a mounted zonefs |
//! | `zbd:/dev/...` | a zoned block device, as NVMe ZNS drives and host-managed disks are |
//!
//! Writes of a process that was killed count as unflushed when the device is opened again: the
//! first flush makes them durable. A device can be opened [for reading
//! only](OpenOptions::read_only).
//!
//! Wrappers compose: [`Faulty`] loses what a crash may lose, from a seed; [`Timed`] takes as long
//! as a named drive; [`Counted`] counts operations; [`Span`] is a range of a device's zones;
//! [`Overlay`] keeps changes in memory, and leaves the device below unchanged; [`with_parity`] has
//! a zone of parity for each few zones of data, and reads what one of them lost.
//!
//! ```
//! use frostline_zone::{Shape, in_memory};
//!
//! let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
//! device.append(0, 0, &[7; 4096])?;
//! device.flush()?;
//! let mut page = [0; 4096];
//! device.read(0, 0, &mut page)?;
//! assert_eq!((page, device.zone(0)?.write_pointer), ([7; 4096], 4096));
//! # Ok::<(), frostline_zone::DeviceError>(())
//! ```
//!
//! # On a real drive
//!
//! One suite checks every kind of device. On a drive **whose content may be lost**:
//!
//! ```text
//! cargo build -p frostline-zone --example device-suite
//! sudo target/debug/examples/device-suite zbd:/dev/nvme0n1
//! sudo mkzonefs /dev/nvme0n1 && sudo mount -t zonefs /dev/nvme0n1 /mnt
//! sudo target/debug/examples/device-suite zonefs:/mnt
//! ```
//!
//! It prints one line for each check, and its exit status is 0 if all passed. Zones must hold 160
//! KiB or more, and four of them must be usable. A virtual machine with an emulated ZNS namespace
//! (QEMU: `-device nvme-ns,zoned=on,...`) serves as well as a drive, with Linux 6.12: on 6.1 the
//! first append to its zonefs fails.

mod buffer;
mod counted;
mod device;
mod error;
mod fault_rng;
mod faulty;
mod file_dir;
mod files;
mod geometry;
mod geometry_file;
mod limits;
mod mem;
mod open_files;
mod open_options;
mod overlay;
mod parity;
mod positional;
#[cfg(target_os = "linux")]
mod queue;
mod ranges;
mod side_by_side;
mod size;
mod span;
mod timed;
mod uri;
mod waiting;
#[cfg(target_os = "linux")]
mod zbd;
#[cfg(target_os = "linux")]
mod zone_ioctl;
mod zoned;
#[cfg(target_os = "linux")]
mod zonefs;

pub use buffer::{ALIGNMENT, AlignedBuf};
pub use counted::{Counted, DeviceCounts};
pub use device::{Device, ZoneRead};
pub use error::{DeviceError, Operation};
pub use faulty::{Fault, Faulty, Tail};
pub use geometry::{Geometry, Shape, ZoneInfo, ZoneState, default_zone_bytes};
pub use mem::in_memory;
pub use open_options::OpenOptions;
pub use overlay::Overlay;
pub use parity::with_parity;
pub use ranges::create_whole;
pub use size::{ParseSizeError, Size};
pub use span::Span;
pub use timed::{Clock, Drive, Timed};
pub use uri::{can_create, can_overwrite, create, filling, open};
