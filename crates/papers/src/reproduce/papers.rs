//! The papers whose evaluations can be repeated.

use super::paper::Paper;
use super::{midas, phftl, sepbit, sepfrozen, survival, two_r};

/// All papers, in the order of listings.
pub static PAPERS: &[Paper] =
    &[sepbit::PAPER, two_r::PAPER, midas::PAPER, phftl::PAPER, sepfrozen::PAPER, survival::PAPER];
