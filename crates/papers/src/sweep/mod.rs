//! Sweeps with a monitor, whose finished runs can be kept in a file.

mod input_file;
mod manifest;
mod shard;

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use frostline_benches::{Event, Monitor};
use frostline_sim::{
    Ledger, Outcomes, Plan, ReplayProgress, Settings, SimError, TraceVolume, sweep_with,
};

pub use input_file::identify;
pub use manifest::{CellSource, Cells};
pub use shard::{ParseShardError, Shard};

/// The interval at which the monitor is called.
const TICK: Duration = Duration::from_millis(100);

/// A sweep with several settings, like [`frostline_sim::sweep()`], that the monitor follows and can
/// stop. Then it returns the outcomes of the runs that have finished.
///
/// # Errors
/// Those of [`frostline_sim::sweep()`].
pub fn watched_sweep(
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &[Settings],
    monitor: &dyn Monitor,
) -> Result<Vec<Outcomes>, SimError> {
    ledgered_sweep(volumes, plan, settings, &(), monitor)
}

/// A watched sweep of those runs that a ledger wants and has no outcome of.
///
/// # Errors
/// Those of [`frostline_sim::sweep_with()`].
pub fn ledgered_sweep(
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &[Settings],
    ledger: &dyn Ledger,
    monitor: &dyn Monitor,
) -> Result<Vec<Outcomes>, SimError> {
    let writes: u64 = volumes.iter().map(TraceVolume::all_writes).sum();
    let of = writes * plan.runs().count() as u64 * settings.len() as u64;
    let progress = ReplayProgress::default();
    let tick = || {
        if monitor.is_stopped() {
            progress.stop();
        }
        let done = progress.writes().min(of.saturating_sub(1));
        monitor.on(Event::Progress { what: "replaying", done, of });
    };
    let outcomes = beside(tick, || sweep_with(volumes, plan, settings, ledger, &progress));
    monitor.on(Event::Progress { what: "replaying", done: of, of });
    outcomes
}

/// Does `work`, and meanwhile calls `tick` repeatedly.
fn beside<T>(tick: impl Fn() + Send, work: impl FnOnce() -> T) -> T {
    let (working, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let ticks = thread::Builder::new().spawn_scoped(scope, move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
        });
        if let Err(error) = ticks {
            tracing::warn!(%error, "the progress is not shown");
        }
        // Dropped when the work is over, even after a panic, because that ends the other thread.
        let _working = working;
        work()
    })
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn work_that_panics_is_not_waited_for() {
        let done = catch_unwind(|| beside(|| (), || panic!("work")));
        assert!(done.is_err());
    }
}
