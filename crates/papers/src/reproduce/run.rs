//! A run of an experiment, and its figures.

use std::rc::Rc;

use frostline_results::RunReport;
use frostline_sim::Outcome;

use super::session::Trace;
use super::tables::Cell;

/// The number of a run's windows; both quarters and tenths are whole numbers of windows.
pub(super) const WINDOWS: u64 = 20;

/// A run of an experiment.
pub(super) struct Run {
    /// The trace.
    pub(super) trace: Rc<Trace>,
    /// The name of the setting.
    pub(super) point: &'static str,
    /// The counts.
    pub(super) report: RunReport,
    /// The outcome of the replay, for figures beyond the counts.
    pub(super) outcome: Outcome,
}

impl Run {
    /// The scheme's own figure with this name.
    pub(super) fn gauge(&self, name: &str) -> Option<f64> {
        self.report.gauges.get(name).copied()
    }

    /// WAF in a range of windows.
    pub(super) fn waf_in(&self, stretch: std::ops::Range<usize>) -> Cell {
        let windows = self.report.windows.get(stretch).unwrap_or_default();
        let user: u64 = windows.iter().map(|window| window.user_writes).sum();
        let others = windows.iter().map(|window| window.relocations + window.meta_pages);
        Cell::waf((user + others.sum::<u64>()) as f64 / user as f64)
    }
}
