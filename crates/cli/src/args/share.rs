//! Shares as arguments.

use std::ops::RangeInclusive;

use frostline_sim::{ShareError, Space};

/// A text that is no number is out of all bounds.
fn share(text: &str, bounds: RangeInclusive<f64>) -> Result<f64, ShareError> {
    frostline_sim::share(text.parse().unwrap_or(f64::NAN), bounds)
}

/// Parses a garbage proportion of a replay.
pub(super) fn gp(text: &str) -> Result<f64, ShareError> {
    share(text, Space::GP)
}

/// Parses an over-provisioning.
pub(super) fn op(text: &str) -> Result<f64, ShareError> {
    share(text, Space::OP)
}

/// Parses a garbage proportion that a store can keep.
pub(super) fn gp_of_store(text: &str) -> Result<f64, ShareError> {
    share(text, 0.0001..=0.9)
}

/// Parses a space over data that a store may take.
pub(super) fn space(text: &str) -> Result<f64, ShareError> {
    share(text, 1.01..=100.0)
}

/// Parses the share of a leaf that insertions in ascending order fill.
pub(super) fn fill(text: &str) -> Result<f64, ShareError> {
    share(text, 0.7..=1.0)
}

/// Parses the share of a trace that must follow a sample.
pub(super) fn horizon(text: &str) -> Result<f64, ShareError> {
    share(text, 0.0..=0.9999)
}
