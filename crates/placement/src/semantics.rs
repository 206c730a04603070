//! The readings of the papers.

/// Whose reading of the papers is followed where they leave room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The papers' text.
    #[default]
    Published,
    /// The trace-replay simulator that the authors of SepBIT published with their FAST'22 paper.
    SepbitFast22,
    /// The trace-replay simulator that the authors of MiDAS published with their FAST'24 paper. No
    /// scheme does anything else for it.
    MidasFast24,
}
