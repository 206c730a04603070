//! The papers whose evaluations can be done again.

use super::paper::Paper;
use super::{midas, phftl, sepbit, sepfrozen, survival, two_r};

/// All of them, in the order in which they are listed.
pub static PAPERS: &[Paper] =
    &[sepbit::PAPER, two_r::PAPER, midas::PAPER, phftl::PAPER, sepfrozen::PAPER, survival::PAPER];
