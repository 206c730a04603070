//! The choice of a cleaning: victims, and zones that change their class.

/// The victims of one cleaning, and zones that change their class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Zones that are cleaned: candidates, each once. They are merged: all are copied, then all are
    /// free.
    pub victims: Vec<u32>,
    /// Sealed zones and the class that each has from now on; no page moves. They change class
    /// before the victims are cleaned. If a zone is listed twice, the later entry is applied last.
    pub relabelled: Vec<(u32, u8)>,
}

impl Choice {
    /// Empties the choice for the next cleaning.
    pub fn clear(&mut self) {
        self.victims.clear();
        self.relabelled.clear();
    }
}
