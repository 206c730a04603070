//! Pages written, by cause.

use crate::format::PAGE;

/// Pages written since the store was formatted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Written {
    /// By the user.
    pub user: u64,
    /// By cleaning.
    pub relocations: u64,
    /// Headers of chunks.
    pub headers: u64,
    /// Checkpoints, notes and superblocks.
    pub checkpoints: u64,
    /// Bytes of the records of the pages that the user wrote.
    #[cfg_attr(feature = "serde", serde(default))]
    pub user_bytes: u64,
    /// Bytes of the records of the pages that cleaning wrote.
    #[cfg_attr(feature = "serde", serde(default))]
    pub relocated_bytes: u64,
    /// Bytes of the headers of chunks, in whole units.
    #[cfg_attr(feature = "serde", serde(default))]
    pub header_bytes: u64,
    /// Bytes left between records and the next header.
    #[cfg_attr(feature = "serde", serde(default))]
    pub padding_bytes: u64,
}

/// Pages written as deltas or tails, since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DeltaCounts {
    /// By the user.
    pub written: u64,
    /// Of these, tails.
    pub tails: u64,
    /// Their bytes, before they are rounded up to units.
    pub bytes: u64,
    /// Images that cleaning moved, merged with their deltas and tails.
    pub merged: u64,
    /// Deltas and tails that cleaning moved.
    pub moved: u64,
    /// Their bytes.
    pub moved_bytes: u64,
}

impl DeltaCounts {
    /// Those since an earlier moment.
    pub fn since(&self, earlier: &DeltaCounts) -> DeltaCounts {
        DeltaCounts {
            written: self.written.saturating_sub(earlier.written),
            tails: self.tails.saturating_sub(earlier.tails),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            merged: self.merged.saturating_sub(earlier.merged),
            moved: self.moved.saturating_sub(earlier.moved),
            moved_bytes: self.moved_bytes.saturating_sub(earlier.moved_bytes),
        }
    }
}

impl Written {
    /// Pages written since an earlier moment.
    pub fn since(&self, earlier: &Written) -> Written {
        Written {
            user: self.user.saturating_sub(earlier.user),
            relocations: self.relocations.saturating_sub(earlier.relocations),
            headers: self.headers.saturating_sub(earlier.headers),
            checkpoints: self.checkpoints.saturating_sub(earlier.checkpoints),
            user_bytes: self.user_bytes.saturating_sub(earlier.user_bytes),
            relocated_bytes: self.relocated_bytes.saturating_sub(earlier.relocated_bytes),
            header_bytes: self.header_bytes.saturating_sub(earlier.header_bytes),
            padding_bytes: self.padding_bytes.saturating_sub(earlier.padding_bytes),
        }
    }

    /// Bytes written, by all causes.
    pub fn bytes(&self) -> u64 {
        let checkpoints = self.checkpoints * PAGE as u64;
        self.user_bytes
            + self.relocated_bytes
            + self.padding_bytes
            + self.header_bytes
            + checkpoints
    }

    /// Write amplification: all bytes written over those written by the user; 1 if there are none.
    pub fn waf(&self) -> f64 {
        match self.user_bytes {
            0 => 1.0,
            user => self.bytes() as f64 / user as f64,
        }
    }
}
