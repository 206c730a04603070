//! Zoned devices: storage whose zones are written in order and reset as a whole.
//!
//! A [`Device`] is shared by threads and used through `Arc<dyn Device>`. [`in_memory`] makes
//! one that lives in memory; [`Faulty`] wraps any device and loses what a crash may lose, from a
//! seed.
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

mod buffer;
mod chance;
mod device;
mod error;
mod faulty;
mod file_dir;
mod files;
mod geometry;
mod limits;
mod mem;
mod positional;
#[cfg(target_os = "linux")]
mod queue;
mod uri;
#[cfg(target_os = "linux")]
mod zbd;
#[cfg(target_os = "linux")]
mod zone_ioctl;
mod zoned;
#[cfg(target_os = "linux")]
mod zonefs;

pub use buffer::{ALIGNMENT, AlignedBuf};
pub use device::Device;
pub use error::{DeviceError, Operation};
pub use faulty::{Fault, Faulty, Tail};
pub use geometry::{Geometry, Shape, ZoneInfo, ZoneState, default_zone_bytes};
pub use mem::in_memory;
pub use uri::{OpenOptions, create, open};
