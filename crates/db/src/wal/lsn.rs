//! Positions in the log.

/// The position of a record: the byte of the log's stream at which it ends. It is above 0, and
/// greater than that of the record before.
pub type Lsn = u64;
