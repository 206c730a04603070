//! Runs the workload at the same time on each of the databases that share a store.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use frostline_db::Db;
use frostline_workload::driver::{Report, RunOptions};

use super::benchmark::{Opened, WorkloadError};

/// A database and the workload over its tables.
pub(super) struct Tenant<'d> {
    /// The database.
    pub(super) db: &'d Db,
    /// The workload.
    pub(super) opened: Box<dyn Opened>,
    /// The seed of this tenant's sequence of operations.
    pub(super) seed: u64,
}

/// Runs all tenants at once. About once a second it calls `tick` with the time since the beginning
/// and the transactions done so far, by kind; if `tick` returns false, all end.
pub(super) fn run_all(
    tenants: &[Tenant<'_>],
    options: RunOptions,
    mut tick: impl FnMut(Duration, &[u64]) -> bool,
) -> Result<Vec<Report>, WorkloadError> {
    let done = Done(Mutex::new(vec![Vec::new(); tenants.len()]));
    let stop = AtomicBool::new(false);
    let begin = |n: usize, tick: &mut dyn FnMut(Duration) -> bool| {
        let _stop = StopOnPanic(&stop);
        let tenant = &tenants[n];
        let options = RunOptions { seed: tenant.seed, ..options };
        let report = tenant.opened.run(tenant.db, options, &mut |progress| {
            done.set(n, progress.done);
            if !tick(progress.elapsed) {
                stop.store(true, Relaxed);
            }
            !stop.load(Relaxed)
        });
        report.inspect_err(|_| stop.store(true, Relaxed))
    };
    let begin = &begin;
    thread::scope(|scope| {
        let other = |n| thread::Builder::new().spawn_scoped(scope, move || begin(n, &mut |_| true));
        let others: Result<Vec<_>, _> = (1..tenants.len()).map(other).collect();
        let others = others.map_err(|error| {
            stop.store(true, Relaxed);
            WorkloadError::Thread(error)
        })?;
        let first = begin(0, &mut |elapsed| tick(elapsed, &done.sum()));
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        std::iter::once(first).chain(others.into_iter().map(join)).collect()
    })
}

/// The last reported number of transactions, by tenant and kind.
struct Done(Mutex<Vec<Vec<u64>>>);

impl Done {
    fn set(&self, tenant: usize, done: &[u64]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[tenant].clear();
        all[tenant].extend_from_slice(done);
    }

    fn sum(&self) -> Vec<u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds = all.iter().map(Vec::len).max().unwrap_or(0);
        let of_kind = |kind| all.iter().filter_map(|done: &Vec<u64>| done.get(kind)).sum();
        (0..kinds).map(of_kind).collect()
    }
}

/// Ends the other tenants if this one panics.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Relaxed);
        }
    }
}
