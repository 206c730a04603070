//! The trace-replay simulator that the authors of MiDAS published with their FAST'24 paper, as far as
//! its write amplification shows it:
//!
//! * of a fixed capacity four zones stay free, not two;
//! * cost-benefit takes the square root of the age.
//!
//! That simulator opens a zone for the hot group at the start, even if its hot pages are switched off.
//! To compare with such a run, take one zone off the capacity.
//!
//! The volume is filled in the order of LBAs before the trace, and its figures count that. Of its model
//! nothing is taken but what `midas` has anyway (docs/schemes.md lists the differences). It is checked
//! against what that simulator printed (`tests/midas_fast24.rs`).

use crate::{Settings, SimError, Space};

/// Free zones that are kept.
pub const RESERVE: u32 = 4;

/// The settings with its reserve.
///
/// # Errors
/// A capacity that is not fixed.
pub fn settings(settings: &Settings) -> Result<Settings, SimError> {
    match settings.space {
        Space::Op(_) => Ok(Settings { reserve: RESERVE, ..settings.clone() }),
        _ => Err(SimError::NeedsOp),
    }
}

/// The victim policy that it has under this name.
pub fn victim(name: &str) -> &str {
    if name == "cost-benefit" { "cost-benefit-sqrt" } else { name }
}
