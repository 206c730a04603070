//! Records the page writes of a bench in a trace.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use frostline_trace::{TraceError, write_lbas};

use crate::monitor::{Event, Monitor};
use crate::{Error, Result};

/// The most batches of LBAs that wait to be written.
const WAITING: usize = 64;

/// A thread that writes LBAs to a trace.
pub(super) struct Recorder {
    path: PathBuf,
    thread: JoinHandle<std::result::Result<u64, TraceError>>,
}

impl Recorder {
    /// Begins a trace. It ends when the sender is dropped.
    pub(super) fn begin(path: &Path) -> Result<(SyncSender<Vec<u32>>, Recorder)> {
        let (record, recorded) = mpsc::sync_channel::<Vec<u32>>(WAITING);
        let path = path.to_owned();
        let thread = thread::Builder::new().spawn({
            let path = path.clone();
            move || write_lbas(&path, 4096, recorded.into_iter().flatten())
        });
        let thread = thread.map_err(Error::thread(&path))?;
        Ok((record, Recorder { path, thread }))
    }

    /// Waits until the trace is complete.
    pub(super) fn end(self, monitor: &dyn Monitor) -> Result<()> {
        let writes = match self.thread.join() {
            Ok(written) => written?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        monitor.on(Event::Recorded { path: &self.path, writes });
        Ok(())
    }
}
