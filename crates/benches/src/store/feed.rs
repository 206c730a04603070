//! A workload's page writes, distributed to threads.

use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};

use super::workload::Lbas;

/// Writes that a thread takes at once.
const TOGETHER: usize = 64;

/// Distributes a workload's writes to threads, which together write one sequence.
pub(super) struct Feed(Mutex<LbaFeed>);

struct LbaFeed {
    lbas: Lbas,
    left: u64,
    record: Option<SyncSender<Vec<u32>>>,
}

impl Feed {
    /// At most `writes` of these LBAs; they are also sent to `record`.
    pub(super) fn new(lbas: Lbas, writes: u64, record: Option<SyncSender<Vec<u32>>>) -> Self {
        Feed(Mutex::new(LbaFeed { lbas, left: writes, record }))
    }

    /// Takes the next writes; none at the end.
    pub(super) fn take(&self, into: &mut Vec<u32>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        into.clear();
        let most = state.left.min(TOGETHER as u64) as usize;
        into.extend(state.lbas.by_ref().take(most));
        state.left -= into.len() as u64;
        if let Some(record) = &state.record {
            // If the recorder failed, it returns its error at the end.
            let _ = record.send(into.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feed_ends_after_the_writes_that_were_asked_for() {
        let feed = Feed::new(Box::new((0..10).cycle()), 100, None);
        let (mut all, mut some) = (Vec::new(), Vec::new());
        loop {
            feed.take(&mut some);
            if some.is_empty() {
                break;
            }
            all.extend_from_slice(&some);
        }
        assert_eq!(all, (0..10).cycle().take(100).collect::<Vec<_>>());
    }
}
