//! The readings of the papers.

/// The reading of the papers that is followed where they leave room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Semantics {
    /// The papers' text.
    #[default]
    Published,
    /// The trace-replay simulator that the authors of SepBIT published with their FAST'22 paper.
    SepbitFast22,
    /// The trace-replay simulator that the authors of MiDAS published with their FAST'24 paper. It
    /// changes no scheme's rules.
    MidasFast24,
}
