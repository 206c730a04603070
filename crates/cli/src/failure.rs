//! Failures of a command: one line with subject and reason, a hint if one helps, an exit status.
//! Printing its output, which may fail as well.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// The failure of a command.
#[derive(Debug)]
pub(crate) struct Failure {
    line: String,
    hint: Option<String>,
    status: u8,
    /// Results that are printed although the job failed.
    data: String,
}

impl Failure {
    /// The job failed.
    pub(crate) fn job(what: &str, why: &str) -> Self {
        Failure::job_line(format!("{what}: {why}"))
    }

    /// The job failed. The line has subject and reason.
    pub(crate) fn job_line(line: String) -> Self {
        Failure { line, hint: None, status: 1, data: String::new() }
    }

    /// Wrong usage, or input that can't be read.
    pub(crate) fn usage(what: &str, why: &str) -> Self {
        Failure::usage_line(format!("{what}: {why}"))
    }

    /// Wrong usage, or input that can't be read. The line has subject and reason.
    pub(crate) fn usage_line(line: String) -> Self {
        Failure { status: 2, ..Failure::job_line(line) }
    }

    /// A signal ended the job early.
    pub(crate) fn interrupted(what: &str, why: &str, signal: i32) -> Self {
        Failure { status: 128 + signal as u8, ..Failure::job(what, &format!("interrupted: {why}")) }
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds results that are printed on standard output although the job failed.
    pub(crate) fn with_data(mut self, data: String) -> Self {
        self.data = data;
        self
    }

    /// Prints the failure, and returns its exit status.
    pub(crate) fn report(self) -> ExitCode {
        // If standard output is closed, too, the failure is still more important.
        let _ = print(&self.data);
        say(&self.line, self.hint.as_deref());
        ExitCode::from(self.status)
    }
}

/// Returns `text` to be printed; if things are damaged, it comes with a failure.
pub(crate) fn verdict(what: &str, text: String, damaged: usize) -> Result<String, Failure> {
    match damaged {
        0 => Ok(text),
        1 => Err(Failure::job(what, "1 thing is damaged").with_data(text)),
        many => Err(Failure::job(what, &format!("{many} things are damaged")).with_data(text)),
    }
}

/// Prints a line, and a hint if there is one, on standard error; nothing if that is closed.
pub(crate) fn say(line: &str, hint: Option<&str>) {
    let mut err = std::io::stderr().lock();
    let line: String = line.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    let _ = writeln!(err, "frostline: {line}");
    if let Some(hint) = hint {
        let _ = writeln!(err, "hint: {hint}");
    }
}

/// Prints the output of a command.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    printed(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// The result of printing. It is not a failure if the reader has closed its end.
pub(crate) fn printed(done: io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::job("standard output", &e.to_string()))
        }
        _ => Ok(()),
    }
}
