//! Waiting for another thread that will be done soon.

use std::time::Duration;

/// Waits longer each time: some turns of the loop, then a yield to other threads, then a sleep.
#[derive(Debug, Default)]
pub(crate) struct Backoff(u32);

impl Backoff {
    /// Waits a little, longer each time.
    #[cold]
    pub(crate) fn pause(&mut self) {
        self.0 += 1;
        match self.0 {
            0..=40 => std::hint::spin_loop(),
            41..=80 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}
