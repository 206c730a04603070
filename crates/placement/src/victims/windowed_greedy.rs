//! Windowed greedy: the most garbage among the zones that were sealed first. Hu et al., SYSTOR'09.
//! The window is a share of the candidates, so that it fits any volume.

use super::{PolicyInfo, VictimPolicy, best_by};
use crate::{Param, ZoneView};

pub(super) const INFO: PolicyInfo = PolicyInfo {
    name: "windowed-greedy",
    summary: "the zone with the most garbage among the oldest",
    source: "Hu et al., SYSTOR 2009",
    params: &[Param::real(
        "window",
        0.25,
        0.0..=1.0,
        "share of the candidates, oldest first, that is looked at",
    )],
    build: |params, _| {
        let window = params.real(INFO.params, "window")?;
        Ok(Box::new(WindowedGreedy { window, oldest: Vec::new() }))
    },
};

/// The zone with the most garbage among the zones that were sealed first.
#[derive(Clone, Debug)]
pub struct WindowedGreedy {
    window: f64,
    oldest: Vec<u32>,
}

impl VictimPolicy for WindowedGreedy {
    fn pick(&mut self, zones: &ZoneView<'_>) -> Option<u32> {
        self.oldest.clear();
        self.oldest.extend(zones.candidates());
        let len = self.oldest.len();
        let keep = ((len as f64 * self.window).ceil() as usize).max(1);
        if keep < len {
            self.oldest.select_nth_unstable_by_key(keep, |&z| zones.seal_order(z));
        }
        let window = self.oldest.iter().take(keep).copied();
        best_by(zones, window, |z| f64::from(zones.garbage(z)))
    }
}
