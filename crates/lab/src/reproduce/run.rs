//! A run of an experiment, and the figures that can be read from it.

use std::rc::Rc;

use frostline_sim::{Outcome, RunReport};

use super::session::Trace;
use super::tables::Cell;

/// Windows of a run, so that both quarters and tenths can be put together of them.
pub(super) const WINDOWS: u64 = 20;

/// A run of an experiment.
pub(super) struct Run {
    /// The trace.
    pub(super) trace: Rc<Trace>,
    /// The setting.
    pub(super) point: &'static str,
    /// The counts.
    pub(super) report: RunReport,
    /// The outcome of the replay, for figures that the counts do not give.
    pub(super) outcome: Outcome,
}

impl Run {
    /// A figure of the scheme's own.
    pub(super) fn gauge(&self, name: &str) -> Option<f64> {
        self.report.gauges.get(name).copied()
    }

    /// WAF in a stretch, in windows.
    pub(super) fn waf_in(&self, stretch: std::ops::Range<usize>) -> Cell {
        let windows = self.report.windows.get(stretch).unwrap_or_default();
        let user: u64 = windows.iter().map(|window| window.user_writes).sum();
        let others = windows.iter().map(|window| window.relocations + window.meta_pages);
        Cell::waf((user + others.sum::<u64>()) as f64 / user as f64)
    }
}
