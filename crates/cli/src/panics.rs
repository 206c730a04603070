//! Panics. A library may panic on a damaged file; if the panic is caught, nothing is printed. A
//! panic that nothing catches is a mistake in this program, and is reported as one.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;
use crate::interrupt;

/// The message and the place of the last panic.
static LAST: Mutex<Option<PanicMessage>> = Mutex::new(None);

struct PanicMessage {
    line: String,
    backtrace: Backtrace,
}

/// Runs the command; an uncaught panic becomes a failure.
pub(crate) fn caught(run: impl FnOnce() -> Result<String, Failure>) -> Result<String, Failure> {
    std::panic::set_hook(Box::new(remember));
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|thrown| {
        interrupt::end_if_interrupted(&*thrown);
        let said = LAST.lock().unwrap_or_else(PoisonError::into_inner).take();
        let line = said.as_ref().map_or("a panic", |said| &said.line);
        if let Some(said) = &said
            && said.backtrace.status() == BacktraceStatus::Captured
        {
            eprintln!("{}", said.backtrace);
        }
        Err(Failure::job("internal error", line)
            .hint("this is a mistake in frostline; RUST_BACKTRACE=1 shows where"))
    })
}

fn remember(info: &PanicHookInfo<'_>) {
    let said = info.payload_as_str().unwrap_or("a panic");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = info.location().map(|place| format!(" ({place})")).unwrap_or_default();
    let said = PanicMessage { line: said + &place, backtrace: Backtrace::capture() };
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
}
