//! A line a second on standard error, which rewrites itself on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use frostline_sim::WindowReport;
use frostline_store::{Stats, Store, Written};

use crate::failure::say;

/// The line, which may be a silent one.
pub struct Line {
    quiet: bool,
    terminal: bool,
}

impl Line {
    /// Nothing is shown if it is to be quiet.
    pub fn new(quiet: bool) -> Self {
        Line { quiet, terminal: stderr().is_terminal() }
    }

    /// Shows what is true now.
    pub fn show(&self, line: &str) {
        if self.quiet {
            return;
        }
        let mut err = stderr().lock();
        // If nobody is there to see it, it is not needed.
        let _ = match self.terminal {
            true => write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()),
            false => writeln!(err, "{line}"),
        };
    }

    /// Shows how far something is, on a terminal.
    pub fn progress(&self, what: &str, done: u64, of: u64) {
        if self.terminal {
            self.show(&format!("{what} {:3.0} %", done as f64 / of.max(1) as f64 * 100.0));
        }
    }

    /// Says something that stays.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            self.end();
            say(text, None);
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        if self.terminal {
            self.show("");
        }
    }
}

/// What is shown while a store is at work.
pub struct Live {
    line: Line,
    shown: Duration,
    begun: Written,
    before: Written,
    /// What was written, second by second.
    pub windows: Vec<WindowReport>,
}

impl Live {
    /// Nothing is shown if it is to be quiet.
    pub fn new(quiet: bool) -> Self {
        Live {
            line: Line::new(quiet),
            shown: Duration::ZERO,
            begun: Written::default(),
            before: Written::default(),
            windows: Vec::new(),
        }
    }

    /// Shows how far the fill is, on a terminal.
    pub fn filling(&self, done: u32, of: u32) {
        if done % (1 << 12) < 64 || done == of {
            self.line.progress("filling", done.into(), of.into());
        }
    }

    /// Counts from now on.
    pub fn begin(&mut self, stats: &Stats) {
        (self.begun, self.before) = (stats.written, stats.written);
    }

    /// Shows what was written, once a second.
    pub fn tick(&mut self, passed: Duration, store: &Store) {
        let since = passed.saturating_sub(self.shown);
        if since < Duration::from_secs(1) {
            return;
        }
        // The writers are told of what is wrong with the store.
        let Ok(stats) = store.stats() else { return };
        self.shown = passed;
        let window = stats.written.since(&self.before);
        self.before = stats.written;
        let Written { user, relocations, .. } = window;
        self.windows.push(WindowReport { user_writes: user, relocations, waf: window.waf() });
        let rate = user as f64 * 4096.0 / 1e6 / since.as_secs_f64();
        let waf = stats.written.since(&self.begun).waf();
        let (seconds, free) = (passed.as_secs(), stats.free_zones);
        self.line.show(&format!("{seconds:4} s {rate:8.1} MB/s  WAF {waf:.3}  {free} free zones"));
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.line.end();
    }
}
