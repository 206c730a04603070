//! The parts of MiDAS (Oh et al., FAST 2024): which pages are hot, how long versions live, and
//! which division into groups costs least.

pub(crate) mod epochs;
pub(crate) mod event;
pub(crate) mod heat;
pub(crate) mod intervals;
pub(crate) mod search;
