//! Experiments on standard error: notes, a progress bar on a terminal, and a line per second, which
//! is rewritten in place on a terminal.

use std::io::{IsTerminal, Write, stderr};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use frostline_benches::{Event, Monitor, Second, Transactions};
use indicatif::ProgressBar;

use crate::failure::say;
use crate::interrupt::Interrupt;
use crate::progress::bar;

/// Shows an experiment, and stops it when a signal comes.
pub(crate) struct Screen<'a> {
    command: &'static str,
    quiet: bool,
    terminal: bool,
    interrupt: &'a Interrupt,
    bar: Mutex<Option<(&'static str, ProgressBar)>>,
}

impl<'a> Screen<'a> {
    /// A screen, which shows nothing if `quiet`.
    pub(crate) fn new(command: &'static str, quiet: bool, interrupt: &'a Interrupt) -> Self {
        let terminal = stderr().is_terminal();
        Screen { command, quiet, terminal, interrupt, bar: Mutex::new(None) }
    }

    fn bar(&self) -> MutexGuard<'_, Option<(&'static str, ProgressBar)>> {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the progress of a part; removes its bar when the part is over.
    fn progress(&self, part: &'static str, done: u64, of: u64) {
        let mut shown = self.bar();
        if shown.as_ref().is_none_or(|(other, _)| *other != part) {
            *shown = Some((part, bar(part, "", of, self.quiet)));
        }
        if let Some((_, bar)) = &*shown {
            bar.set_position(done);
        }
        if done >= of {
            clear(&mut shown);
        }
    }

    /// Rewrites the line.
    fn show(&self, line: &str) {
        let mut err = stderr().lock();
        // If standard error is closed, the line is dropped.
        let _ = match self.terminal {
            true => write!(err, "\r\x1b[K{line}").and_then(|()| err.flush()),
            false => writeln!(err, "{line}"),
        };
    }

    /// Removes the bar and the line.
    fn end(&self) {
        clear(&mut self.bar());
        if self.terminal {
            self.show("");
        }
    }

    /// Prints a line that stays.
    fn note(&self, text: &str) {
        self.end();
        say(text, None);
    }
}

impl Monitor for Screen<'_> {
    fn on(&self, event: Event<'_>) {
        if self.quiet {
            return;
        }
        let command = self.command;
        match event {
            Event::Step(part) => self.note(&format!("{command}: {part}")),
            Event::Progress { what, done, of } => self.progress(what, done, of),
            Event::Second(second) => self.show(&line(second)),
            Event::Counted => self.end(),
            Event::Recorded { path, writes } => {
                self.note(&format!("{}: {writes} page writes", path.display()));
            }
            Event::Metrics(address) => {
                self.note(&format!("{command}: {}", watched_at(address)));
            }
            _ => {}
        }
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.has_come()
    }
}

/// The places where a store at work can be seen, in words.
pub(crate) fn watched_at(address: SocketAddr) -> String {
    format!("zones at http://{address}/, metrics at http://{address}/metrics")
}

fn clear(shown: &mut Option<(&'static str, ProgressBar)>) {
    if let Some((_, bar)) = shown.take() {
        bar.finish_and_clear();
    }
}

/// A second in one line.
pub(crate) fn line(second: &Second) -> String {
    let Second { passed, seconds, window, waf, free_zones, garbage_proportion, .. } = second;
    let passed = passed.as_secs();
    let Some(transactions) = &second.transactions else {
        let rate = window.user_writes as f64 * 4096.0 / 1e6 / seconds;
        return format!("{passed:4} s {rate:8.1} MB/s  WAF {waf:.3}  {free_zones} free zones");
    };
    let Transactions { per_second, tpmc, hits, log_bytes_per_second } = transactions;
    let tpmc = tpmc.map(|tpmc| format!("  {tpmc:.0} tpmC")).unwrap_or_default();
    let (hits, log) = (hits.unwrap_or(f64::NAN) * 100.0, log_bytes_per_second / 1e6);
    format!(
        "{passed:4} s {per_second:9.0} tx/s{tpmc}  WAF {waf:.3}  hits {hits:.2} %  \
         log {log:.1} MB/s  GP {garbage_proportion:.3}"
    )
}
