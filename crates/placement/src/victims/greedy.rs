//! Greedy: the zone with the most garbage. Rosenblum and Ousterhout, TOCS'92.

use multiversion::multiversion;

use super::{PolicyInfo, VictimPolicy, best_by};
use crate::ZoneView;

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "greedy",
    summary: "the zone with the most garbage",
    source: "Rosenblum and Ousterhout, TOCS 1992",
    params: &[],
    build: |_, _| Ok(Box::new(Greedy)),
};

/// The zone with the most garbage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl VictimPolicy for Greedy {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        if zones.is_ranked() {
            return best_by(zones, zones.candidates(), |z| f64::from(zones.garbage(z)));
        }
        let zone = first_max(zones.columns.garbage)?;
        zones.is_candidate(zone).then_some(zone)
    }
}

/// Zones in a block; only the block of the winner is searched for the winner's place.
const BLOCK: usize = 256;

/// Index of the first maximum. Vector instructions find a maximum, but not its place: so first the
/// maximum of each block, then the place within the winning block.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn first_max(column: &[i32]) -> Option<u32> {
    let mut top = i32::MIN;
    let mut winner = 0;
    for (b, block) in column.chunks(BLOCK).enumerate() {
        let max = block.iter().fold(i32::MIN, |a, &x| a.max(x));
        if max > top {
            top = max;
            winner = b * BLOCK;
        }
    }
    let place = column.iter().skip(winner).take(BLOCK).position(|&x| x == top)?;
    Some((winner + place) as u32)
}
