//! Options of opening a device.

/// Options of opening a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// Files of `file:` are read and written past the page cache, as those of zonefs and block
    /// devices always are.
    pub direct: bool,
    /// Only reads and reports are possible, and nothing on the medium changes: the device may lie
    /// in a directory that can't be written, or on a full disk. Any number of users may have a
    /// device open so at a time, while none has it open for writing.
    pub read_only: bool,
}
