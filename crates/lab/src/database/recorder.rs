//! Every page write that reaches the store, and every trim, in a trace.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use frostline_db::Observer;
use frostline_placement::Hotness;
use frostline_trace::{PageWriter, TraceError};

use crate::{Error, Result};

/// Events that are handed over together.
const TOGETHER: usize = 4096;

/// Batches of them that wait to be written.
const WAITING: usize = 16;

/// The longest wait for a moment at which every page write is recorded.
const PATIENCE: Duration = Duration::from_secs(60);

enum Event {
    Written(u32, Hotness, u16),
    Trimmed(u32),
}

/// Observes what the databases write to the store; a thread writes it to a file meanwhile.
pub(super) struct Recorder(Mutex<State>);

struct State {
    batch: Vec<Event>,
    /// None once nothing more is to be recorded.
    sender: Option<SyncSender<Message>>,
    is_recording: bool,
    writes: u64,
}

/// A message to the thread. If there are no more without an end, the trace is given up.
enum Message {
    Events(Vec<Event>),
    End,
}

/// Page writes in the file, if it was completed.
type Written = std::result::Result<Option<u64>, TraceError>;

/// The thread that writes the file.
pub(super) struct Writing(JoinHandle<Written>);

impl Recorder {
    /// Begins a trace.
    pub(super) fn begin(path: &Path) -> Result<(Arc<Recorder>, Writing)> {
        let writer = PageWriter::create(path, 4096, true)?;
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let state =
            State { batch: Vec::new(), sender: Some(sender), is_recording: true, writes: 0 };
        let thread = thread::spawn(move || write(writer, &receiver));
        Ok((Arc::new(Recorder(Mutex::new(state))), Writing(thread)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `look` until the number of page writes that it returns is that of the recorded ones, and
    /// returns what comes with it: a store counts a page before its observer is called.
    pub(super) fn in_step<T>(&self, mut look: impl FnMut() -> Result<(u64, T)>) -> Result<T> {
        let begun = Instant::now();
        loop {
            let state = self.state();
            // While it is locked no thread that writes gets any further.
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

    /// Records nothing from now on.
    pub(super) fn stop(&self) {
        self.state().is_recording = false;
    }

    /// Completes the trace, or gives it up.
    pub(super) fn end(&self, is_whole: bool) {
        let mut state = self.state();
        state.hand_over();
        state.is_recording = false;
        if let Some(sender) = state.sender.take().filter(|_| is_whole) {
            // A writer that failed returns its error at the end.
            let _ = sender.send(Message::End);
        }
    }
}

impl State {
    fn add(&mut self, event: Event) {
        if !self.is_recording {
            return;
        }
        self.writes += u64::from(matches!(event, Event::Written(..)));
        self.batch.push(event);
        if self.batch.len() == TOGETHER {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if let Some(sender) = &self.sender {
            // As above.
            let _ = sender.send(Message::Events(batch));
        }
    }
}

impl Observer for Recorder {
    fn written(&self, lba: u32, hotness: &Hotness, bytes: u16) {
        self.state().add(Event::Written(lba, *hotness, bytes));
    }

    fn trimmed(&self, lba: u32) {
        self.state().add(Event::Trimmed(lba));
    }
}

fn write(mut writer: PageWriter, messages: &Receiver<Message>) -> Written {
    for message in messages {
        let Message::Events(events) = message else {
            return writer.finish().map(Some);
        };
        for event in events {
            match event {
                Event::Written(lba, hotness, bytes) => writer.write(lba, &hotness, bytes)?,
                Event::Trimmed(lba) => writer.trim(lba, 1)?,
            }
        }
    }
    Ok(None)
}

impl Writing {
    /// Waits until all is in the file; returns the number of page writes. None if it was given up.
    pub(super) fn end(self) -> Result<Option<u64>> {
        match self.0.join() {
            Ok(written) => Ok(written?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
