//! Signals that end the program: incomplete files are removed first, and finished results may still
//! be printed.

use std::any::Any;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::failure::Failure;

/// Watches for signals while a file is written.
///
/// The file removes itself when it is dropped. So the stack is unwound to the beginning of the
/// command, and then the program ends in the way the signal would have ended it.
pub(crate) struct Interrupt(Arc<AtomicUsize>);

/// The signal, as the payload of the unwinding.
struct Interrupted(i32);

impl Interrupt {
    /// Starts to watch for signals.
    pub(crate) fn watch() -> io::Result<Self> {
        let caught = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register_usize(signal, caught.clone(), signal as usize)?;
        }
        Ok(Interrupt(caught))
    }

    /// True if a signal has come.
    pub(crate) fn has_come(&self) -> bool {
        self.signal().is_some()
    }

    fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed) as i32).filter(|&signal| signal != 0)
    }

    /// If a signal has come, the failure of a command that first prints its finished results. Its
    /// exit status is the one that shells use for the signal: 130 for Ctrl-C.
    pub(crate) fn failure(&self, what: &str, why: &str) -> Option<Failure> {
        self.signal().map(|signal| Failure::interrupted(what, why, signal))
    }

    /// Unwinds to [`end_if_interrupted`] if a signal has come.
    #[inline]
    pub(crate) fn check(&self) {
        if let Some(signal) = self.signal() {
            resume_unwind(Box::new(Interrupted(signal)));
        }
    }
}

/// Ends the program if the payload of the panic is a signal.
pub(crate) fn end_if_interrupted(thrown: &(dyn Any + Send)) {
    if let Some(Interrupted(signal)) = thrown.downcast_ref() {
        // This can fail only for signals that can't end a program, which are not watched.
        let _ = low_level::emulate_default_handler(*signal);
    }
}
