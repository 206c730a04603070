//! Errors of devices, each one line: operation, zone, offset, cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::open_files::is_out_of_files;

/// An operation of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// [`crate::Device::report`]
    Report,
    /// [`crate::Device::append`]
    Append,
    /// [`crate::Device::read`]
    Read,
    /// [`crate::Device::reset`]
    Reset,
    /// [`crate::Device::finish`]
    Finish,
    /// [`crate::Device::flush`]
    Flush,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 6] = [
        Operation::Report,
        Operation::Append,
        Operation::Read,
        Operation::Reset,
        Operation::Finish,
        Operation::Flush,
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operation::Report => "report",
            Operation::Append => "append",
            Operation::Read => "read",
            Operation::Reset => "reset",
            Operation::Finish => "finish",
            Operation::Flush => "flush",
        })
    }
}

/// An error of a device. Offsets, pointers and lengths are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A zone number beyond the device.
    #[error("no zone {zone}: the device has {zones}")]
    NoSuchZone {
        /// The zone asked for.
        zone: u32,
        /// Zones of the device.
        zones: u32,
    },
    /// An offset or length that is not a multiple of the block size.
    #[error("{operation} of {bytes} bytes at {offset} in zone {zone}: not in blocks of {block}")]
    Unaligned {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
        /// Offset asked for.
        offset: u64,
        /// Length asked for.
        bytes: u64,
        /// The block size.
        block: u32,
    },
    /// An append elsewhere than at the write pointer.
    #[error("append at {at} in zone {zone}, whose write pointer is at {pointer}")]
    NotAtWritePointer {
        /// Zone.
        zone: u32,
        /// The offset of the append.
        at: u64,
        /// The write pointer of the zone.
        pointer: u64,
    },
    /// An append to a full zone.
    #[error("append to zone {zone}: it is full")]
    ZoneFull {
        /// Zone.
        zone: u32,
    },
    /// An append that does not fit.
    #[error("append of {bytes} bytes at {at} in zone {zone}, whose capacity is {capacity}")]
    BeyondCapacity {
        /// Zone.
        zone: u32,
        /// The offset of the append.
        at: u64,
        /// Its length.
        bytes: u64,
        /// The capacity of the zone.
        capacity: u64,
    },
    /// The zone can be read, but no longer written or reset.
    #[error("{operation} of zone {zone}: it is read-only")]
    ReadOnlyZone {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
    },
    /// The device was opened for reading only ([`crate::OpenOptions::read_only`]), so the change is
    /// refused.
    #[error("{operation}: the device is open for reading only")]
    ReadOnlyDevice {
        /// The change.
        operation: Operation,
    },
    /// The zone is lost.
    #[error("{operation} of zone {zone}: it is offline")]
    OfflineZone {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
    },
    /// The zone has no write pointer; this crate does not use such zones.
    #[error("{operation} of zone {zone}: it is conventional")]
    ConventionalZone {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
    },
    /// The device can't open another zone.
    #[error("append to zone {zone}: no more than {limit} zones may be open")]
    TooManyOpen {
        /// Zone.
        zone: u32,
        /// The limit.
        limit: u32,
    },
    /// The device can't begin another zone before an active one is finished or reset.
    #[error("append to zone {zone}: no more than {limit} zones may be begun and not full")]
    TooManyActive {
        /// Zone.
        zone: u32,
        /// The limit.
        limit: u32,
    },
    /// The bytes to read were not written.
    #[error("read of {bytes} bytes at {offset} in zone {zone}, written up to {pointer}")]
    ReadBeyondPointer {
        /// Zone.
        zone: u32,
        /// Offset asked for.
        offset: u64,
        /// Length asked for.
        bytes: u64,
        /// The write pointer of the zone.
        pointer: u64,
    },
    /// The process, or the system, has too many open files. Nothing is wrong with the zone.
    #[error("{operation} in zone {zone}: too many files are open")]
    TooManyFiles {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
    },
    /// The medium failed at a zone.
    #[error("{operation} at {offset} in zone {zone}: {source}")]
    Io {
        /// The operation.
        operation: Operation,
        /// Zone.
        zone: u32,
        /// Offset asked for.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The medium failed to make appends durable.
    #[error("flush: {source}")]
    Flush {
        /// The system's error.
        source: io::Error,
    },
    /// An earlier flush failed; data that it could not write may be lost.
    #[error("flush: an earlier flush failed, reopen the device to see what is left")]
    FlushFailedBefore,
    /// No device can have this shape.
    #[error("{what} of {value}: {rule}")]
    Shape {
        /// The name of the number.
        what: &'static str,
        /// The value given.
        value: u64,
        /// The rule that it breaks.
        rule: &'static str,
    },
    /// The URI names no device.
    #[error("{uri}: {why}")]
    Uri {
        /// The name.
        uri: String,
        /// The fault.
        why: &'static str,
    },
    /// The system could not open or make something.
    #[error("{}: {source}", path.display())]
    Open {
        /// The path or URI that was to be opened.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file or directory is a link, or of another kind than it should be: it is not followed.
    #[error("{}: is not a plain file or directory", path.display())]
    NotPlain {
        /// The path or URI that was to be opened.
        path: PathBuf,
    },
    /// Another user has the device open, in this process or another.
    #[error("{}: is in use", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
    },
    /// The place for a new device is not empty.
    #[error("{}: is not empty", path.display())]
    Exists {
        /// The directory, drive or file.
        path: PathBuf,
    },
    /// The drive or file holds what is not of this crate, and what would be lost.
    #[error("{}: holds {what}", path.display())]
    Foreign {
        /// The drive or file.
        path: PathBuf,
        /// The content that was found, in words.
        what: &'static str,
    },
    /// The file is shorter than what a flush had made durable
    /// ([`accept_loss`](crate::OpenOptions::accept_loss)).
    #[error("{}: was cut short: it lacks bytes of zone {zone}", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
        /// The first zone that is shorter than it was.
        zone: u32,
    },
    /// Zones are to be written in streams, which there are none of.
    #[error("{}: no write streams: {why}", path.display())]
    NoStreams {
        /// The drive or file.
        path: PathBuf,
        /// What is missing.
        why: String,
    },
    /// A drive or file has too little room for the zones of a new device.
    #[error("{}: has room for {room} bytes of zones, and not for {asked}", path.display())]
    TooSmall {
        /// The drive or file.
        path: PathBuf,
        /// Bytes of all zones that were asked for.
        asked: u64,
        /// The most that there is room for with zones of this size.
        room: u64,
    },
    /// The file or device opened is not a zoned device, or its description is damaged.
    #[error("{}: is not a zoned device: {why}", path.display())]
    NotADevice {
        /// The path that was opened.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The simulated power is cut: see [`crate::Faulty`].
    #[error("the device has lost its power")]
    Crashed,
}

impl DeviceError {
    /// True if the error belongs to one zone, which may be given up while other zones stay in use.
    /// False if it belongs to the process, the system or the whole device: too many open files, no
    /// memory, a full disk, a file system that became read-only, a lost drive, a limit of zones.
    /// Then the operation may succeed later, and giving up the zone would lose it for nothing.
    pub fn is_of_zone(&self) -> bool {
        match self {
            DeviceError::ZoneFull { .. }
            | DeviceError::BeyondCapacity { .. }
            | DeviceError::ReadOnlyZone { .. }
            | DeviceError::OfflineZone { .. }
            | DeviceError::ConventionalZone { .. }
            | DeviceError::ReadBeyondPointer { .. } => true,
            DeviceError::Io { source, .. } => !is_of_system(source),
            _ => false,
        }
    }

    /// True if there is no room where the device lies: its file system is full, or this user's
    /// share.
    pub fn is_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        match self {
            DeviceError::Io { source, .. }
            | DeviceError::Flush { source }
            | DeviceError::Open { source, .. } => {
                matches!(source.kind(), StorageFull | QuotaExceeded)
            }
            _ => false,
        }
    }

    /// The error of an operation on a zone.
    pub(crate) fn io(operation: Operation, zone: u32, offset: u64, source: io::Error) -> Self {
        let of_system = |source| match is_out_of_files(&source) {
            true => DeviceError::TooManyFiles { operation, zone },
            false => DeviceError::Io { operation, zone, offset, source },
        };
        DeviceError::of_below(source).unwrap_or_else(of_system)
    }

    /// The error of a flush.
    pub(crate) fn flush(source: io::Error) -> Self {
        DeviceError::of_below(source).unwrap_or_else(|source| DeviceError::Flush { source })
    }

    /// The error of a device below, if an error of the system wraps one.
    fn of_below(source: io::Error) -> Result<Self, io::Error> {
        source.downcast::<DeviceError>()
    }

    /// The error of a file that could not be opened, inspected or made.
    pub(crate) fn open(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match Errno::from_io_error(&source) {
            Some(Errno::LOOP) => DeviceError::NotPlain { path },
            Some(Errno::BUSY) => DeviceError::InUse { path },
            _ => DeviceError::Open { path, source },
        }
    }
}

/// True if the system failed, and not the medium.
fn is_of_system(error: &io::Error) -> bool {
    use io::ErrorKind::{
        FileTooLarge, Interrupted, OutOfMemory, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        WouldBlock,
    };
    // Errors without a kind of their own in the standard library.
    const NUMBERS: [Errno; 5] =
        [Errno::MFILE, Errno::NFILE, Errno::NODEV, Errno::NXIO, Errno::BADF];
    let number = Errno::from_io_error(error);
    number.is_some_and(|number| NUMBERS.contains(&number))
        || matches!(
            error.kind(),
            FileTooLarge
                | Interrupted
                | OutOfMemory
                | QuotaExceeded
                | ReadOnlyFilesystem
                | StorageFull
                | WouldBlock
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_told_from_those_of_a_zone() {
        let io = |number: Errno| DeviceError::Io {
            operation: Operation::Append,
            zone: 1,
            offset: 0,
            source: number.into(),
        };
        for number in [Errno::IO, Errno::REMOTEIO, Errno::ACCESS, Errno::PERM] {
            assert!(io(number).is_of_zone(), "{number}");
        }
        for number in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOMEM,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::INTR,
            Errno::AGAIN,
            Errno::FBIG,
            Errno::NXIO,
            Errno::NODEV,
        ] {
            assert!(!io(number).is_of_zone(), "{number}");
        }
        assert!(DeviceError::OfflineZone { operation: Operation::Read, zone: 1 }.is_of_zone());
        assert!(!DeviceError::Crashed.is_of_zone());
        assert!(!DeviceError::TooManyActive { zone: 1, limit: 2 }.is_of_zone());
    }
}
