//! Frostline's workloads, run over its database and over other embedded engines under the same
//! conditions, and measured from outside: by what the process took and what reached the device.
//!
//! Each engine is measured in a process of its own, so that none pays for another's memory or
//! threads.

pub mod arguments;
pub mod conditions;
pub mod counted;
pub mod engines;
pub mod job;
pub mod measure;
pub mod report;
pub mod samples;
pub mod tickets;
