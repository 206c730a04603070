//! The seconds of a bench.

use std::time::Duration;

use frostline_results::WindowReport;
use frostline_store::{Stats, Written};

use crate::monitor::{Event, Monitor, Second, Transactions};

/// Reports a store's writes to a monitor, second by second, and keeps them.
pub(crate) struct Seconds<'a> {
    monitor: &'a dyn Monitor,
    begun: Written,
    before: Written,
    passed: Duration,
    /// The writes, second by second.
    pub(crate) windows: Vec<WindowReport>,
}

impl<'a> Seconds<'a> {
    /// Counts from the moment `begun` on.
    pub(crate) fn new(monitor: &'a dyn Monitor, begun: &Stats) -> Self {
        let (begun, before) = (begun.written, begun.written);
        Seconds { monitor, begun, before, passed: Duration::ZERO, windows: Vec::new() }
    }

    /// True if a second is over at this time since the beginning.
    pub(crate) fn is_over(&self, passed: Duration) -> bool {
        passed.saturating_sub(self.passed) >= Duration::from_secs(1)
    }

    /// Ends a second. `transactions` returns the databases' work in it, given its length in
    /// seconds.
    pub(crate) fn end(
        &mut self,
        passed: Duration,
        now: &Stats,
        transactions: impl FnOnce(f64) -> Option<Transactions>,
    ) {
        let seconds = passed.saturating_sub(self.passed).as_secs_f64().max(1e-9);
        let written = now.written.since(&self.before);
        let window = WindowReport {
            user_writes: written.user,
            relocations: written.relocations,
            waf: written.waf(),
            ..WindowReport::default()
        };
        self.windows.push(window.clone());
        self.monitor.on(Event::Second(&Second {
            passed,
            seconds,
            window,
            waf: now.written.since(&self.begun).waf(),
            free_zones: now.free_zones,
            garbage_proportion: now.garbage_proportion,
            transactions: transactions(seconds),
        }));
        (self.passed, self.before) = (passed, now.written);
    }
}
