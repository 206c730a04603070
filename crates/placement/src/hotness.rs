//! The record that an engine hands down with a page that it writes (SepFrozen, section 4.1).

use bytemuck::{Pod, Zeroable};

/// The use of a page from its read into memory to its write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Activity {
    /// Bytes of valid records in the page (VD).
    pub valid_bytes: u16,
    /// Accesses (AC); 65,535 stands for that many or more.
    pub accesses: u16,
    /// Modifications (MC); 65,535 stands for that many or more.
    pub modifications: u16,
    /// Always 0.
    pub reserved: u16,
    /// Mean user writes of the engine between two accesses of the page (AI).
    pub access_interval: u32,
    /// Mean user writes of the engine between two modifications of the page (MI).
    pub modification_interval: u32,
}

/// A hotness record: the page's last two [`Activity`]s. The store itself adds the write time (WT).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Hotness {
    /// The page's origin, as the engine numbers it: its tree, leaf or inner.
    pub origin: u32,
    /// User writes between the page's last two writes; 0 if it is new.
    pub lifespan: u32,
    /// The activity that ended with this write.
    pub current: Activity,
    /// The activity that ended with the write before; all zeroes if the page is new.
    pub last: Activity,
}
