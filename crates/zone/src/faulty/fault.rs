//! Faults, and the damage that crashes do.

use crate::ZoneState;

/// The damage that a crash may do to the end of a zone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tail {
    /// The zone ends between two blocks.
    Whole,
    /// Its last block may be torn: new sectors of 512 bytes, then garbage.
    #[default]
    Torn,
    /// As torn. In addition, some of the last blocks may be garbage while the write pointer is
    /// behind them, or the zone is finished, as in a file whose length was written before its
    /// content.
    Garbage,
    /// As garbage. In addition, one unflushed block may be lost while blocks behind it are there,
    /// as in a file whose blocks are written in any order. No device promises less.
    Holes,
}

/// The fault that happens instead of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The power is cut in the middle of the operation. Part of it may have been done.
    PowerCut,
    /// The process is killed in the middle of the operation. Part of it may have been done.
    Kill,
    /// The operation fails with an I/O error, and nothing is done.
    Error,
    /// The operation fails with an I/O error. The first blocks of an append may have been written.
    Partial,
    /// The system refuses the operation because memory is short, and nothing is done.
    Refused,
    /// There is no room where the device lies: the system refuses the operation, and nothing is
    /// done.
    Full,
    /// A read returns the bytes at the same place of another zone. Other operations are not
    /// affected.
    Misdirected,
    /// A read returns the bytes that were there before the zone's last reset, if the reset came
    /// after this fault was set. Other operations are not affected.
    Stale,
    /// A zone changes to this state (read-only or offline) just before the operation.
    Wear {
        /// The zone.
        zone: u32,
        /// Its state from now on.
        state: ZoneState,
    },
}
