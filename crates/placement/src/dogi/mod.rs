//! The parts of DOGI (Kim et al., FAST 2026): the facts of a page when it is written, the samples
//! that a forecaster learns from, and the division of classes of lifespans into groups.

pub(crate) mod access_history;
pub(crate) mod division;
pub(crate) mod outcomes;
pub(crate) mod ranges;
pub(crate) mod samples;
pub(crate) mod training_schedule;
