//! Worker threads, and one that watches them.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval at which the watching thread calls `look`.
const LOOK: Duration = Duration::from_secs(1);

/// Runs `work` on `threads` threads, each with its index, and returns their results in that order.
///
/// The calling thread sleeps, and calls `look` about once a second. `stop` is set when `look`
/// returns false, when the time is over, or when a thread fails. The threads end by themselves, or
/// when they see `stop`. If the system refuses a thread, all stop, and `refused` makes the error.
pub(crate) fn run<T: Send, F: Send>(
    threads: usize,
    time: Option<Duration>,
    stop: &AtomicBool,
    work: impl Fn(usize) -> Result<T, F> + Sync,
    mut look: impl FnMut() -> bool,
    refused: fn(io::Error) -> F,
) -> Result<Vec<T>, F> {
    let (alive, all_gone) = mpsc::channel::<()>();
    let work = &work;
    thread::scope(|scope| {
        let crew: io::Result<Vec<_>> = (0..threads.max(1))
            .map(|index| {
                let alive = alive.clone();
                thread::Builder::new().spawn_scoped(scope, move || {
                    let _present = Present { stop, _alive: alive };
                    let result = work(index);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    result
                })
            })
            .collect();
        let crew = crew.map_err(|error| {
            stop.store(true, Ordering::Relaxed);
            refused(error)
        })?;
        drop(alive);
        let start = Instant::now();
        let mut next_look = LOOK;
        loop {
            let now = start.elapsed();
            if time.is_some_and(|time| now >= time) {
                stop.store(true, Ordering::Relaxed);
            }
            if now >= next_look {
                next_look = now + LOOK;
                if !look() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let end = time.filter(|time| now < *time).unwrap_or(Duration::MAX);
            match all_gone.recv_timeout(next_look.min(end).saturating_sub(start.elapsed())) {
                Err(RecvTimeoutError::Timeout) => {}
                _ => break,
            }
        }
        crew.into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A running thread of the crew. If it panics, the others stop.
struct Present<'s> {
    stop: &'s AtomicBool,
    _alive: mpsc::Sender<()>,
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_stopped(stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn results_come_in_order_and_at_once() {
        let stop = AtomicBool::new(false);
        let start = Instant::now();
        let squares = run(4, None, &stop, |index| Ok::<_, ()>(index * index), || true, drop);
        assert_eq!(squares, Ok(vec![0, 1, 4, 9]));
        assert!(start.elapsed() < LOOK);
    }

    #[test]
    fn the_time_ends_it() {
        let stop = AtomicBool::new(false);
        let start = Instant::now();
        let work = |_| {
            until_stopped(&stop);
            Ok::<_, ()>(())
        };
        run(2, Some(Duration::from_millis(50)), &stop, work, || true, drop).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(50));
        assert!(start.elapsed() < LOOK);
    }

    #[test]
    fn one_failure_stops_all() {
        let stop = AtomicBool::new(false);
        let work = |index| {
            if index == 1 {
                return Err("failed");
            }
            until_stopped(&stop);
            Ok(())
        };
        assert_eq!(run(3, None, &stop, work, || true, |_| "refused"), Err("failed"));
    }

    #[test]
    fn one_panic_stops_all_and_goes_on_up() {
        let stop = AtomicBool::new(false);
        let work = |index| {
            assert!(index != 1, "planted");
            until_stopped(&stop);
            Ok::<_, ()>(())
        };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run(2, None, &stop, work, || true, drop)
        }));
        assert!(caught.is_err());
    }

    #[test]
    fn the_watcher_may_end_it() {
        let stop = AtomicBool::new(false);
        let work = |_| {
            until_stopped(&stop);
            Ok::<_, ()>(())
        };
        assert!(run(1, None, &stop, work, || false, drop).is_ok());
    }
}
