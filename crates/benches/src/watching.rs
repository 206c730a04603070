//! A bench is watched while it works: by HTTP, and by its monitor.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use frostline_watch::{Server, Watched};

use crate::monitor::{Event, Monitor};
use crate::{Error, Result};

/// The longest that the end of a bench waits for the thread that looks at it.
const TICK: Duration = Duration::from_millis(20);

/// Takes the address of a bench's metrics, if it has one, and tells the monitor.
pub(crate) fn listen(address: Option<SocketAddr>, monitor: &dyn Monitor) -> Result<Option<Server>> {
    let Some(address) = address else { return Ok(None) };
    let server = Server::bind(address).map_err(|source| Error::Metrics { address, source })?;
    monitor.on(Event::Metrics(server.address()));
    Ok(Some(server))
}

/// Does `work` while clients of the server, and the monitor if it wants to, watch.
pub(crate) fn watched<T>(
    watched: &dyn Watched,
    server: Option<&Server>,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let work = || match monitor.views_every() {
        Some(interval) => shown(watched, interval, monitor, work),
        None => work(),
    };
    match server {
        Some(server) => server.during(watched, work).map_err(|source| {
            let address = server.address();
            Error::Metrics { address, source }
        })?,
        None => work(),
    }
}

/// Does `work` while the monitor is shown what comes of it.
fn shown<T>(
    watched: &dyn Watched,
    interval: Duration,
    monitor: &dyn Monitor,
    work: impl FnOnce() -> T,
) -> T {
    let over = &AtomicBool::new(false);
    thread::scope(|scope| {
        // Ends the thread also when the work panics.
        let _over = SetOnDrop(over);
        let shown = move || show(watched, interval, monitor, over);
        if let Err(error) = thread::Builder::new().spawn_scoped(scope, shown) {
            tracing::warn!(%error, "nothing of it is shown");
        }
        work()
    })
}

/// Shows the monitor a view each time that the interval is over.
fn show(watched: &dyn Watched, interval: Duration, monitor: &dyn Monitor, over: &AtomicBool) {
    while !over.load(Relaxed) {
        let begun = Instant::now();
        // An error of the store ends its bench, which tells it.
        if let Ok(view) = watched.view() {
            monitor.on(Event::View(&view));
        }
        while !over.load(Relaxed) && begun.elapsed() < interval {
            thread::sleep(TICK);
        }
    }
}

/// Sets a flag when it goes, also by a panic.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}
