//! FIFO: the zone that was sealed first. Zones without garbage are skipped, because copying them
//! would free nothing.

use super::{PolicyInfo, VictimPolicy};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "fifo",
    summary: "the zone with garbage that was sealed first",
    source: "circular log cleaning; Robinson, 1996",
    params: &[],
    build: |_, _| Ok(Box::new(Fifo)),
};

/// The zone with garbage that was sealed first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fifo;

impl VictimPolicy for Fifo {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        zones.candidates().min_by_key(|&z| zones.seal_order(z))
    }
}
