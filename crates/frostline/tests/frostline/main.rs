//! The crate as its users see it. What counts the memory of its process, or starts
//! others while files are locked, is a test of its own.

mod aio;
mod database;
mod loads;
mod operations;
mod simulator;
mod size;
