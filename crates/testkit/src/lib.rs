//! Drivers of tests, for the crates whose tests share them.

#[cfg(target_os = "linux")]
pub mod power;
pub mod seeds;
pub mod side_by_side;
pub mod timing;
pub mod worlds;
