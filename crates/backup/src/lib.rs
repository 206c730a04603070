//! Backups of zoned devices to a directory or a bucket, while they are in use.
//!
//! A backup is the device as it was at one moment: what a process would find there that opened it
//! after the one before was killed. Stores and databases recover from that by themselves, and have
//! all that was synced or committed before.
//!
//! That costs little, as a zone is only appended to until it is reset. [`Source`] stands between
//! the device and its user. For a moment it lets no change through, makes durable what is there,
//! and notes how far each zone is written. Then all goes on, while the zones are copied up to
//! there; a zone that is to be reset is copied before.
//!
//! A [`Follower`] does so again and again, so that of a machine that is lost no more is lost than
//! what was written in the last second.
//!
//! # At the target
//!
//! `backup.json` tells which zones there were and of what parts their content is. `parts/` has the
//! parts, each named by zone, the opening that it is of, and the first and last byte:
//! `000012-(32 digits)-0-1048576`. An opening is known by the SHA-256 of its first block, which has
//! the numbers of the store, the zone and the opening, or of the log. What the last backup has of
//! an opening is not copied again, but what was appended since becomes one more part. Small parts
//! are joined when they have become many; that copies a byte four times at most.
//!
//! A part begins with a line that has its name, `frostline backup parts/000012-...`, and the bytes
//! of the zone follow. By this line a backup knows the parts of others that were cut short before
//! they were listed. Where anything else is at the target, no backup is made and nothing is changed
//! ([`BackupError::Foreign`]): what is removed was written by backups.
//!
//! A part gets its name when it is whole and durable, and `backup.json` is replaced once all parts
//! are there; only then parts that are not needed any more are removed. So wherever a backup is cut
//! short, the one before is as it was; and what it had copied is not copied again.
//!
//! # Features
//!
//! `s3`: targets in a bucket, `s3://BUCKET/PREFIX`. It brings an asynchronous runtime, HTTP and
//! TLS.
//!
//! ```
//! use std::sync::Arc;
//! use frostline_backup::{Source, Target, restore, shape};
//! use frostline_zone::{Device, Shape, in_memory};
//!
//! # let directory = tempfile::tempdir()?;
//! let source = Source::new(in_memory(&Shape { bytes: 4 << 20, ..Shape::default() })?);
//! source.append(0, 0, &[1; 8192])?; // a store or a database is opened on it
//! let target = Target::new(directory.path())?;
//! let first = source.back_up(&target)?;
//! source.append(0, 8192, &[2; 4096])?;
//! let second = source.back_up(&target)?;
//! assert_eq!((first.copied_bytes, second.copied_bytes, second.bytes), (8192, 4096, 12288));
//!
//! let device = in_memory(&shape(&target)?)?;
//! restore(&target, &*device)?;
//! assert_eq!(device.zone(0)?.write_pointer, 12288);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "s3")]
mod bucket;
#[cfg(feature = "s3")]
mod bucket_error;
mod cut;
mod directory;
mod error;
mod follow;
mod joining;
mod manifest;
mod place;
mod restore;
mod source;
mod target;

pub use error::BackupError;
pub use follow::{Followed, Follower};
pub use restore::{restore, shape};
pub use source::{Backup, Source};
pub use target::Target;
