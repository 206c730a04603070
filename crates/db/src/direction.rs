//! The direction of a scan.

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To greater keys.
    Forward,
    /// To smaller keys.
    Backward,
}
