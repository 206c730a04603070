//! The parts of DOGI (Kim et al., FAST 2026): the facts of a page when it is written, the samples
//! that a forecaster learns from, and the division of classes of lifespans into groups.

pub mod access_history;
pub mod division;
pub mod outcomes;
pub mod ranges;
pub mod samples;
pub mod training_schedule;
