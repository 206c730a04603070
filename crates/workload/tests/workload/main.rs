//! Workloads on engines: one in memory, and Frostline's own.

#[cfg(feature = "frostline")]
mod crashes;
#[cfg(feature = "frostline")]
mod database;
mod driver;
