//! A line a second while databases are at work.

use std::time::Duration;

use frostline_db::Instances;
use frostline_sim::WindowReport;

use super::moment::Moment;
use crate::bench::live::Line;

/// What is shown while databases are at work.
pub struct Live<'a> {
    line: &'a Line,
    counted_kind: Option<usize>,
    begun: &'a Moment,
    before: Before,
    /// What was written, second by second.
    pub windows: Vec<WindowReport>,
}

/// What was shown last.
#[derive(Default)]
struct Before {
    passed: Duration,
    transactions: u64,
    counted: u64,
    /// None at the beginning.
    moment: Option<Moment>,
}

impl<'a> Live<'a> {
    /// Counts from a moment on.
    pub fn new(line: &'a Line, counted_kind: Option<usize>, begun: &'a Moment) -> Self {
        Live { line, counted_kind, begun, before: Before::default(), windows: Vec::new() }
    }

    /// Shows what was done since the last time.
    pub fn tick(&mut self, passed: Duration, done: &[u64], instances: &Instances) {
        // The workers are told of what is wrong.
        let Ok(now) = Moment::now(instances) else { return };
        let all: u64 = done.iter().sum();
        let counted = self.counted_kind.and_then(|kind| done.get(kind)).copied().unwrap_or(0);
        let before = self.before.moment.as_ref().unwrap_or(self.begun);
        let seconds = passed.saturating_sub(self.before.passed).as_secs_f64().max(1e-9);
        let (transactions, sum) = (all - self.before.transactions, now.sum.since(&before.sum));
        let written = now.store.written.since(&before.store.written);
        self.windows.push(WindowReport {
            user_writes: written.user,
            relocations: written.relocations,
            waf: written.waf(),
        });
        let tpmc = self.counted_kind.map(|_| {
            format!("  {:.0} tpmC", (counted - self.before.counted) as f64 / seconds * 60.0)
        });
        self.line.show(&format!(
            "{:4} s {:9.0} tx/s{}  WAF {:.3}  hits {:.2} %  log {:.1} MB/s  GP {:.3}",
            passed.as_secs(),
            transactions as f64 / seconds,
            tpmc.unwrap_or_default(),
            now.store.written.since(&self.begun.store.written).waf(),
            sum.hits() * 100.0,
            sum.log_pages as f64 * 4096.0 / 1e6 / seconds,
            now.store.garbage_proportion,
        ));
        self.before = Before { passed, transactions: all, counted, moment: Some(now) };
    }
}
