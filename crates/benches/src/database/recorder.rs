//! Records what decided where a store placed pages, in a trace.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use frostline_store::{Observer, StoreEvent};
use frostline_trace::{PageWriter, TraceError};

use crate::{Error, Result};

/// Events in a batch.
const TOGETHER: usize = 4096;

/// The most batches that wait to be written.
const WAITING: usize = 16;

/// Observes the store; a thread writes what it sees to a file.
pub(super) struct Recorder(Mutex<Recording>);

struct Recording {
    /// The last events, at least [`TOGETHER`] of them if there were so many.
    batch: Vec<StoreEvent>,
    /// `None` after the end of the recording.
    sender: Option<SyncSender<Message>>,
    is_recording: bool,
    writes: u64,
}

/// A message to the writing thread. If messages stop without an `End`, the trace is discarded.
enum Message {
    Events(Vec<StoreEvent>),
    End,
}

/// The number of page writes in the file; `None` if the trace was discarded.
type Written = std::result::Result<Option<u64>, TraceError>;

/// The thread that writes the file.
pub(super) struct Writing(JoinHandle<Written>);

impl Recorder {
    /// Begins a trace of a store, which may have deltas.
    pub(super) fn begin(path: &Path, has_deltas: bool) -> Result<(Arc<Recorder>, Writing)> {
        let writer = match has_deltas {
            true => PageWriter::create_with_deltas(path, 4096)?,
            false => PageWriter::create(path, 4096, true)?,
        };
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let state =
            Recording { batch: Vec::new(), sender: Some(sender), is_recording: true, writes: 0 };
        let thread = thread::Builder::new().spawn(move || write(writer, &receiver));
        let thread = thread.map_err(Error::thread(path))?;
        Ok((Arc::new(Recorder(Mutex::new(state))), Writing(thread)))
    }

    fn state(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the recording behind so many page writes, if it has no more that can't be taken back.
    pub(super) fn stop_after(&self, writes: u64) -> Result<()> {
        let mut state = self.state();
        while state.writes > writes {
            let event = state.batch.pop().ok_or(Error::UnreportedWrites)?;
            state.writes -= u64::from(matches!(event, StoreEvent::Written { .. }));
        }
        state.is_recording = false;
        Ok(())
    }

    /// Completes the trace if `is_whole`, else discards it.
    pub(super) fn end(&self, is_whole: bool) {
        let mut state = self.state();
        let all = state.batch.len();
        state.hand_over(all);
        state.is_recording = false;
        if let Some(sender) = state.sender.take().filter(|_| is_whole) {
            // If the writing thread failed, it returns its error at the end.
            let _ = sender.send(Message::End);
        }
    }
}

impl Recording {
    fn add(&mut self, event: StoreEvent) {
        if !self.is_recording {
            return;
        }
        self.writes += u64::from(matches!(event, StoreEvent::Written { .. }));
        self.batch.push(event);
        if self.batch.len() == 2 * TOGETHER {
            self.hand_over(TOGETHER);
        }
    }

    /// Hands the first events over.
    fn hand_over(&mut self, events: usize) {
        let rest = self.batch.split_off(events);
        let batch = std::mem::replace(&mut self.batch, rest);
        if let Some(sender) = &self.sender {
            // If the writing thread failed, it returns its error at the end.
            let _ = sender.send(Message::Events(batch));
        }
    }
}

impl Observer for Recorder {
    fn on(&self, event: StoreEvent) {
        self.state().add(event);
    }
}

fn write(mut writer: PageWriter, messages: &Receiver<Message>) -> Written {
    for message in messages {
        let Message::Events(events) = message else {
            return writer.finish().map(Some);
        };
        for event in events {
            record(&mut writer, &event)?;
        }
    }
    Ok(None)
}

fn record(writer: &mut PageWriter, event: &StoreEvent) -> std::result::Result<(), TraceError> {
    match event {
        StoreEvent::Written { lba, hotness, bytes, kind, following } => {
            writer.write_record(*lba, *kind, hotness, *bytes, *following)
        }
        StoreEvent::Trimmed { lba } => writer.trim(*lba, 1),
        StoreEvent::Merged { lba, bytes } => writer.merge(*lba, *bytes),
        StoreEvent::Synced => writer.sync(),
    }
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
