//! The choice that is made when the log is to be cleaned.

/// The victims of one cleaning, and zones that change their class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Zones that are cleaned: candidates, each once. They are merged: all are copied, then all are
    /// free.
    pub victims: Vec<u32>,
    /// Sealed zones and the class that they are of from now on; no page moves. They change before the
    /// victims are cleaned, the later of two changes of a zone after the earlier.
    pub relabelled: Vec<(u32, u8)>,
}

impl Choice {
    /// Empties it for the next cleaning.
    pub fn clear(&mut self) {
        self.victims.clear();
        self.relabelled.clear();
    }
}
