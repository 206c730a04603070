//! The rules of a scheme that hold only in the simulator published with SepBIT.

/// Calls that a scheme gets from the simulator that the authors of SepBIT published with their
/// FAST'22 paper. No log of a device makes them.
pub trait Fast22 {
    /// The trace's time in microseconds, from now on.
    fn at(&mut self, _micros: u64) {}

    /// True if a zone is opened for this class at once when its last one is sealed.
    fn keeps_open(&mut self, _class: usize) -> bool {
        true
    }
}
