//! Writing threads, and the clock that ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use frostline_store::{PageWrite, Store, StoreError};
use hdrhistogram::Histogram;

use super::feed::Feed;
use crate::watching::SetOnDrop;

/// The interval between two looks at the clock and the monitor.
const TICK: Duration = Duration::from_millis(50);

/// Pages that the fill writes in one call.
const TOGETHER: u32 = 64;

/// Contents of pages; a bench never writes the same content twice.
pub(super) struct BenchContent {
    page: [u8; 4096],
    number: u64,
}

impl BenchContent {
    /// Contents that are different from those of other threads.
    pub(super) fn new(thread: u64) -> Self {
        let bytes = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()[7];
        BenchContent { page: std::array::from_fn(bytes), number: thread << 48 }
    }

    /// The next content of a page.
    fn next(&mut self, lba: u32) -> &[u8] {
        self.number += 1;
        self.page[..4].copy_from_slice(&lba.to_le_bytes());
        self.page[4..12].copy_from_slice(&self.number.to_le_bytes());
        &self.page
    }
}

/// Writes the first pages of a store once, in order. Calls `written` with the number of pages
/// written so far; if it returns false, the fill ends.
pub(super) fn fill(
    store: &Store,
    pages: u32,
    mut written: impl FnMut(u32) -> bool,
) -> Result<(), StoreError> {
    let mut contents = Vec::new();
    for i in 0..TOGETHER {
        contents.push(BenchContent::new(u64::from(u16::MAX - i as u16)));
    }
    let mut first = 0;
    while first < pages {
        let next = pages.min(first + TOGETHER);
        let writes = (first..next).zip(&mut contents).map(|(lba, content)| {
            let page = content.next(lba);
            PageWrite { lba, page, hotness: None, changed: None }
        });
        store.write_batch(&writes.collect::<Vec<_>>())?;
        first = next;
        if !written(first) {
            break;
        }
    }
    Ok(())
}

/// Writing threads.
pub(super) struct Writers<'a> {
    /// The store to write to.
    pub(super) store: &'a Store,
    /// The page writes.
    pub(super) feed: &'a Feed,
    /// Number of threads.
    pub(super) threads: u16,
    /// Writes between two syncs of a thread.
    pub(super) sync_every: Option<u64>,
    /// Time after which they stop; `None` to stop at the end of the feed.
    pub(super) time: Option<Duration>,
}

impl Writers<'_> {
    /// Runs the threads until they end, and syncs. Meanwhile it calls `tick` repeatedly, until
    /// `tick` returns false. Returns the times of all writes, in nanoseconds, and the time that it
    /// took.
    pub(super) fn run(
        &self,
        mut tick: impl FnMut(Duration) -> bool,
    ) -> Result<(Histogram<u64>, Duration), StoreError> {
        let (stop, begun) = (AtomicBool::new(false), Instant::now());
        let mut times = histogram();
        thread::scope(|scope| {
            // Ends the threads even if this function fails.
            let _stop = SetOnDrop(&stop);
            let (working, over) = mpsc::channel::<()>();
            let threads: Vec<_> = (0..self.threads)
                .map(|number| {
                    let (working, stop) = (working.clone(), &stop);
                    thread::Builder::new().spawn_scoped(scope, move || {
                        let _working = working;
                        self.write(number, stop)
                    })
                })
                .collect::<Result<_, _>>()
                .map_err(|error| StoreError::Thread(Arc::new(error)))?;
            drop(working);
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                let passed = begun.elapsed();
                if self.time.is_some_and(|time| passed >= time) || !tick(passed) {
                    stop.store(true, Relaxed);
                }
            }
            for thread in threads {
                match thread.join() {
                    // All histograms have the same range, so adding can't fail.
                    Ok(of_thread) => times.add(of_thread?).unwrap_or_default(),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<(), StoreError>(())
        })?;
        self.store.sync()?;
        Ok((times, begun.elapsed()))
    }

    fn write(&self, number: u16, stop: &AtomicBool) -> Result<Histogram<u64>, StoreError> {
        let (mut times, mut content) = (histogram(), BenchContent::new(u64::from(number)));
        let (mut lbas, mut since_sync) = (Vec::new(), 0);
        while !stop.load(Relaxed) {
            self.feed.take(&mut lbas);
            if lbas.is_empty() {
                break;
            }
            for &lba in &lbas {
                let page = content.next(lba);
                let begun = Instant::now();
                let written = self.store.write(lba, page);
                times.saturating_record(begun.elapsed().as_nanos() as u64);
                // If a write fails, all threads stop.
                written.inspect_err(|_| stop.store(true, Relaxed))?;
                since_sync += 1;
                if Some(since_sync) == self.sync_every {
                    self.store.sync().inspect_err(|_| stop.store(true, Relaxed))?;
                    since_sync = 0;
                }
            }
        }
        Ok(times)
    }
}

/// A histogram from 1 ns to 1,000 s, precise to three digits.
fn histogram() -> Histogram<u64> {
    match Histogram::new_with_bounds(1, 1_000_000_000_000, 3) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("the bounds are in order"),
    }
}
