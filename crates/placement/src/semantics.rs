//! The readings of the papers.

/// Whose reading of the papers is followed where they leave room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The papers' text.
    #[default]
    Published,
    /// The trace-replay simulator that the authors of SepBIT published with their FAST'22 paper.
    SepbitFast22,
}
