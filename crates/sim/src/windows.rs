//! The windows of a run, each with its own counts.

use std::borrow::Cow;

use frostline_log::Counts;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// A window of a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Window {
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Meta pages, which the scheme filled with its state of pages.
    pub meta_pages: u64,
    /// Write amplification in the window.
    pub waf: f64,
    /// The scheme's own figures at the end of the window.
    pub gauges: Vec<(Cow<'static, str>, f64)>,
    /// Sealed zones at the end of the window, by class and by tenths of valid pages from 0 to 9;
    /// full zones count in the last. Empty if the log has no such census.
    pub census: Vec<[u32; 10]>,
}

/// Gauges with names in the form that names from a file have.
pub(crate) fn named(gauges: Vec<(&'static str, f64)>) -> Vec<(Cow<'static, str>, f64)> {
    gauges.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// Cuts a run into windows, beginning with the first write that counts.
pub(crate) struct Windows {
    /// The windows that have ended.
    pub(crate) done: Vec<Window>,
    counted_from: usize,
    /// Writes in a window; no windows are cut if it is 0.
    length: usize,
    /// All writes of the run.
    all: usize,
    /// The first write of the current window; below, the counts before it.
    start: usize,
    before: Counts,
}

impl Windows {
    /// Windows of `length` writes each, of a run of `all` writes, from write `counted_from` on.
    pub(crate) fn new(
        counted_from: usize,
        length: u64,
        all: usize,
        machine: &mut dyn Machine,
    ) -> Windows {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let before = machine.counts().clone();
        Windows { done: Vec::new(), counted_from, length, all, start: counted_from, before }
    }

    /// The end of the next part of the run: at most `wanted`, and not beyond the next border.
    pub(crate) fn end_after(&self, next: usize, wanted: usize) -> usize {
        let border = match self.length {
            _ if next < self.counted_from => self.counted_from,
            0 => self.all,
            length => self.start.saturating_add(length),
        };
        debug_assert!(next < border, "a window ends behind its writes");
        wanted.min(border).min(self.all)
    }

    /// Ends the window whose end the run has reached, or begins the first window.
    pub(crate) fn reached(&mut self, next: usize, machine: &mut dyn Machine) {
        if next == self.counted_from {
            self.before = machine.counts().clone();
        }
        let is_full = next - self.start.min(next) == self.length || next == self.all;
        if self.length == 0 || next <= self.counted_from || !is_full {
            return;
        }
        let counts = machine.counts().clone();
        let here = counts.since(&self.before);
        self.done.push(Window {
            user_writes: here.user_writes,
            relocations: here.relocations,
            meta_pages: here.meta_pages,
            waf: here.waf(),
            gauges: named(machine.gauges()),
            census: machine.census(),
        });
        (self.start, self.before) = (next, counts);
    }
}
