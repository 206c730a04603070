//! The parts of MiDAS (Oh et al., FAST 2024): what is hot, which groups there are, how long versions
//! live, what a division into groups costs, and which costs least.

pub mod epochs;
pub mod event;
pub mod groups;
pub mod heat;
pub mod intervals;
pub mod measured;
pub mod model;
pub mod search;
pub mod survival;
