//! What the simulator published with SepBIT needs of a scheme beside its answers.

/// What the simulator that the authors of SepBIT published with their FAST'22 paper tells and asks a
/// scheme, and no log of a device does.
pub trait Fast22 {
    /// The trace's time in microseconds, from now on.
    fn at(&mut self, _micros: u64) {}

    /// Whether a zone is opened for this class at once when its last one is sealed.
    fn keeps_open(&mut self, _class: usize) -> bool {
        true
    }
}
