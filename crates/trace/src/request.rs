//! One request of a trace.

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Reads; ignored by a replay.
    Read,
    /// Writes.
    Write,
    /// Says that the content is no longer needed; ignored by a replay for now.
    Trim,
}

/// One request of a trace, in bytes and microseconds whatever units its format has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Microseconds on the trace's own clock.
    pub time_us: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes; may be 0.
    pub length: u64,
    /// Index into [`Reader::volume_names`](crate::Reader::volume_names).
    pub volume: u32,
    /// What it does.
    pub op: Op,
}

/// The longest request accepted, in bytes: 4 GiB.
///
/// No block device takes nearly as much at once, and without a limit a line of forty bytes could
/// ask for gigabytes of page writes. Trims are exempt: whole devices are trimmed at once.
pub const LONGEST_REQUEST: u64 = 1 << 32;
