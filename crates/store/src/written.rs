//! Pages written, by cause.

/// Pages written since the store was formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Written {
    /// By the user.
    pub user: u64,
    /// By cleaning.
    pub relocations: u64,
    /// Headers of chunks.
    pub headers: u64,
    /// Checkpoints, notes and superblocks.
    pub checkpoints: u64,
}

impl Written {
    /// Pages written since an earlier moment.
    pub fn since(&self, earlier: &Written) -> Written {
        Written {
            user: self.user.saturating_sub(earlier.user),
            relocations: self.relocations.saturating_sub(earlier.relocations),
            headers: self.headers.saturating_sub(earlier.headers),
            checkpoints: self.checkpoints.saturating_sub(earlier.checkpoints),
        }
    }

    /// Write amplification: all pages written over those written by the user; 1 if there are none.
    pub fn waf(&self) -> f64 {
        let all = self.user + self.relocations + self.headers + self.checkpoints;
        if self.user == 0 { 1.0 } else { all as f64 / self.user as f64 }
    }
}
