//! The store as its users see it: operations, and reports on what it holds.

pub mod check;
pub mod finding;
pub mod metrics;
pub mod repair;
pub mod scrub;
pub mod stats;
pub mod store;
pub mod survey;
pub mod view;
