//! Options of opening a device.

/// Options for opening a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// True if I/O to the files of `file:` and `dir:` bypasses the page cache. For zonefs and block
    /// devices it always does.
    pub direct: bool,
    /// True if only reads and reports are possible, and nothing on the medium changes: the device
    /// may lie in a directory that can't be written, or on a full disk. Any number of users may
    /// have a device open in this way at a time, while nobody has it open for writing.
    pub read_only: bool,
    /// True if a device may be made over what a drive or file of `block:` holds, which is lost. A
    /// device that is there already is opened, and not made.
    pub overwrite: bool,
    /// True if a file of `file:` that was cut short is opened nevertheless, with zones that end
    /// there. What the file had beyond may have told what its beginning no longer holds.
    pub accept_loss: bool,
}
