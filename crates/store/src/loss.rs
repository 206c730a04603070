//! Synced pages that are missing when a store is opened.

use std::fmt;

/// LBAs that are named of a zone, at most.
const NAMED: usize = 8;

/// Synced pages that one zone of the device held and that are missing now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Loss {
    /// Zone of the device.
    pub zone: u32,
    /// The damage.
    pub what: String,
    /// Pages that it is known to have held; 0 if it is not known which ones it held.
    pub pages: u64,
    /// The first LBAs of these.
    pub lbas: Vec<u32>,
}

impl Loss {
    pub(crate) fn new(zone: u32, what: impl Into<String>) -> Self {
        Loss { zone, what: what.into(), pages: 0, lbas: Vec::new() }
    }

    /// A page is missing, too.
    pub(crate) fn add(&mut self, lba: u32) {
        self.pages += 1;
        if self.lbas.len() < NAMED {
            self.lbas.push(lba);
        }
    }

    /// The damage to the zone, and its cost.
    pub(crate) fn describe(&self) -> String {
        let what = &self.what;
        if self.pages == 0 {
            return format!("{what}: which pages it held is not known");
        }
        let lbas: Vec<_> = self.lbas.iter().map(u32::to_string).collect();
        let more = if self.pages > self.lbas.len() as u64 { ", ..." } else { "" };
        let s = if self.pages == 1 { "" } else { "s" };
        format!("{what}: {} page{s} (LBA {}{more})", self.pages, lbas.join(", "))
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zone {} {}", self.zone, self.describe())
    }
}

/// Losses in one line, the first few of them.
pub(crate) fn list(losses: &[Loss]) -> String {
    const SHOWN: usize = 4;
    let mut parts: Vec<_> = losses.iter().take(SHOWN).map(Loss::to_string).collect();
    if losses.len() > SHOWN {
        parts.push(format!("and {} more zones", losses.len() - SHOWN));
    }
    parts.join("; ")
}
