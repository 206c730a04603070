//! Locks of the store's threads: the standard library's, or with the feature `shuttle` those of a
//! scheduler that tries interleavings, for tests/interleavings.rs alone.
//!
//! Devices keep the standard library's locks, which they hold for one operation and no longer;
//! so do counters that no thread waits for.

#[cfg(feature = "shuttle")]
pub(crate) use explored::{Instant, sleep};
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicBool};
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::thread::{Builder, JoinHandle};
// Threads of the scheduler share one of the system, whose cells another one may have borrowed.
#[cfg(feature = "shuttle")]
pub(crate) use shuttle::thread_local;
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, atomic::AtomicBool};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::thread::{Builder, JoinHandle, sleep};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::thread_local;
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::time::Instant;

#[cfg(feature = "shuttle")]
mod explored {
    use std::time::Duration;

    /// A clock by which everything takes ten microseconds: what threads do in a given interleaving
    /// must not depend on the time it took, or it could not be replayed. They are few, so that
    /// writers are seldom slowed: a writer that sleeps is overtaken by the cleaner.
    pub(crate) struct Instant;

    impl Instant {
        /// Now.
        pub(crate) fn now() -> Instant {
            Instant
        }

        /// Always the same.
        pub(crate) fn elapsed(&self) -> Duration {
            Duration::from_micros(10)
        }
    }

    /// Lets the others run. Shuttle's own `sleep` may choose the same thread again for ever.
    pub(crate) fn sleep(_: Duration) {
        shuttle::thread::yield_now();
    }
}
