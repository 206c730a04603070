//! The parts of MiDAS (Oh et al., FAST 2024): which pages are hot, how long versions live, and
//! which division into groups costs least.

pub mod epochs;
pub mod event;
pub mod heat;
pub mod intervals;
pub mod search;
