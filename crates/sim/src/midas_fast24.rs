//! The trace-replay simulator that the authors of MiDAS published with their FAST'24 paper, in
//! those points that its write amplification depends on:
//!
//! * with a fixed capacity four zones stay free, not two;
//! * cost-benefit takes the square root of the age.
//!
//! That simulator opens a zone for the hot group at the start, even if its hot pages are switched
//! off. To compare with such a run, reduce the capacity by one zone.
//!
//! The volume is filled in the order of LBAs before the trace, and its figures include that. Of its
//! model only those parts are used that `midas` has anyway (docs/schemes.md lists the differences).
//! It is checked against the simulator's output (`tests/sim/midas_fast24.rs`).

use crate::{Settings, SimError, Space};

/// Free zones that are kept.
pub const RESERVE: u32 = 4;

/// The settings with this simulator's reserve of free zones.
///
/// # Errors
/// The capacity is not fixed.
pub fn settings(settings: &Settings) -> Result<Settings, SimError> {
    match settings.space {
        Space::Op(_) => Ok(Settings { reserve: RESERVE, ..settings.clone() }),
        _ => Err(SimError::NeedsOp),
    }
}

/// The victim policy that this simulator means by a name.
pub fn victim(name: &str) -> &str {
    if name == "cost-benefit" { "cost-benefit-sqrt" } else { name }
}
