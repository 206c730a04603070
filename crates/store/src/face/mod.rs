//! The store as its users see it: operations, and reports on what it holds.

pub(crate) mod check;
pub(crate) mod finding;
pub mod metrics;
pub(crate) mod repair;
pub(crate) mod scrub;
pub(crate) mod stats;
pub(crate) mod store;
pub(crate) mod survey;
pub(crate) mod view;
