//! The record that an engine hands down with a page that it writes (SepFrozen, section 4.1).

use bytemuck::{Pod, Zeroable};

/// Use of a page between being read into memory and being written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Activity {
    /// Bytes of valid records in the page (VD).
    pub valid_bytes: u16,
    /// Accesses (AC), 65,535 or more.
    pub accesses: u16,
    /// Modifications (MC), 65,535 or more.
    pub modifications: u16,
    /// Always 0.
    pub reserved: u16,
    /// Mean user writes of the engine between two accesses (AI).
    pub access_interval: u32,
    /// Mean user writes of the engine between two modifications (MI).
    pub modification_interval: u32,
}

/// A hotness record: the page's last two [`Activity`]s. The write time (WT) is the store's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Hotness {
    /// The page's origin, as the engine numbers it: its tree, leaf or inner.
    pub origin: u32,
    /// User writes between the page's last two writes; 0 if it is new.
    pub lifespan: u32,
    /// Up to this write.
    pub current: Activity,
    /// Up to the write before; zeroes if it is new.
    pub last: Activity,
}
