//! Records every page write that reaches the store, and every trim, in a trace.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use frostline_db::Observer;
use frostline_placement::Hotness;
use frostline_trace::{PageWriter, TraceError};

use crate::{Error, Result};

/// Events in a batch.
const TOGETHER: usize = 4096;

/// The most batches that wait to be written.
const WAITING: usize = 16;

/// The longest wait for a moment at which every page write is recorded.
const PATIENCE: Duration = Duration::from_secs(60);

enum RecordedEvent {
    Written(u32, Hotness, u16),
    Trimmed(u32),
}

/// Observes the databases' page writes and trims at the store; a thread writes them to a file.
pub(super) struct Recorder(Mutex<Recording>);

struct Recording {
    batch: Vec<RecordedEvent>,
    /// `None` after the end of the recording.
    sender: Option<SyncSender<Message>>,
    is_recording: bool,
    writes: u64,
}

/// A message to the writing thread. If messages stop without an `End`, the trace is discarded.
enum Message {
    Events(Vec<RecordedEvent>),
    End,
}

/// The number of page writes in the file; `None` if the trace was discarded.
type Written = std::result::Result<Option<u64>, TraceError>;

/// The thread that writes the file.
pub(super) struct Writing(JoinHandle<Written>);

impl Recorder {
    /// Begins a trace.
    pub(super) fn begin(path: &Path) -> Result<(Arc<Recorder>, Writing)> {
        let writer = PageWriter::create(path, 4096, true)?;
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let state =
            Recording { batch: Vec::new(), sender: Some(sender), is_recording: true, writes: 0 };
        let thread = thread::spawn(move || write(writer, &receiver));
        Ok((Arc::new(Recorder(Mutex::new(state))), Writing(thread)))
    }

    fn state(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `look` until the number of page writes that it returns equals the number of recorded
    /// ones, and returns its other result. They can differ because a store counts a page before it
    /// calls its observer.
    pub(super) fn in_step<T>(&self, mut look: impl FnMut() -> Result<(u64, T)>) -> Result<T> {
        let begun = Instant::now();
        loop {
            let state = self.state();
            // While the state is locked, no writing thread gets past its observer.
            let (count, seen) = look()?;
            if count == state.writes {
                return Ok(seen);
            }
            drop(state);
            if begun.elapsed() > PATIENCE {
                return Err(Error::UnreportedWrites);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops the recording.
    pub(super) fn stop(&self) {
        self.state().is_recording = false;
    }

    /// Completes the trace if `is_whole`, else discards it.
    pub(super) fn end(&self, is_whole: bool) {
        let mut state = self.state();
        state.hand_over();
        state.is_recording = false;
        if let Some(sender) = state.sender.take().filter(|_| is_whole) {
            // If the writing thread failed, it returns its error at the end.
            let _ = sender.send(Message::End);
        }
    }
}

impl Recording {
    fn add(&mut self, event: RecordedEvent) {
        if !self.is_recording {
            return;
        }
        self.writes += u64::from(matches!(event, RecordedEvent::Written(..)));
        self.batch.push(event);
        if self.batch.len() == TOGETHER {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if let Some(sender) = &self.sender {
            // If the writing thread failed, it returns its error at the end.
            let _ = sender.send(Message::Events(batch));
        }
    }
}

impl Observer for Recorder {
    fn written(&self, lba: u32, hotness: &Hotness, bytes: u16) {
        self.state().add(RecordedEvent::Written(lba, *hotness, bytes));
    }

    fn trimmed(&self, lba: u32) {
        self.state().add(RecordedEvent::Trimmed(lba));
    }
}

fn write(mut writer: PageWriter, messages: &Receiver<Message>) -> Written {
    for message in messages {
        let Message::Events(events) = message else {
            return writer.finish().map(Some);
        };
        for event in events {
            match event {
                RecordedEvent::Written(lba, hotness, bytes) => {
                    writer.write(lba, &hotness, bytes)?
                }
                RecordedEvent::Trimmed(lba) => writer.trim(lba, 1)?,
            }
        }
    }
    Ok(None)
}

impl Writing {
    /// Waits until everything is in the file; returns the number of page writes, or `None` if the
    /// trace was discarded.
    pub(super) fn end(self) -> Result<Option<u64>> {
        match self.0.join() {
            Ok(written) => Ok(written?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
