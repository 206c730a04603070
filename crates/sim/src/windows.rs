//! The stretches of a run, each with the counts of its own.

use std::borrow::Cow;

use frostline_log::Counts;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;

/// A stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Window {
    /// Pages written by the user.
    pub user_writes: u64,
    /// Pages copied by cleaning.
    pub relocations: u64,
    /// Pages that the scheme filled with what it remembers.
    pub meta_pages: u64,
    /// Write amplification in the window.
    pub waf: f64,
    /// Figures of the scheme's own at its end.
    pub gauges: Vec<(Cow<'static, str>, f64)>,
    /// Sealed zones at its end by class, and by how many tenths of their pages are valid, from 0 to 9
    /// with full ones among the last; empty if the log does not tell.
    pub census: Vec<[u32; 10]>,
}

/// Figures under names that may as well have come from a file.
pub(crate) fn named(gauges: Vec<(&'static str, f64)>) -> Vec<(Cow<'static, str>, f64)> {
    gauges.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

/// Cuts a run into windows, from the first write that counts.
pub(crate) struct Windows {
    /// The windows that have ended.
    pub(crate) done: Vec<Window>,
    counted_from: usize,
    /// Writes in a window; none are cut if it is 0.
    length: usize,
    /// Writes of the run.
    all: usize,
    /// The first write of the window that runs, and the counts before it.
    start: usize,
    before: Counts,
}

impl Windows {
    /// Windows of so many writes of a run of `all`, from write `counted_from` on.
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

    /// The end of the next part of the run, which crosses no border: `wanted` at most.
    pub(crate) fn end_after(&self, next: usize, wanted: usize) -> usize {
        let border = match self.length {
            _ if next < self.counted_from => self.counted_from,
            0 => self.all,
            length => self.start.saturating_add(length),
        };
        wanted.min(border).min(self.all)
    }

    /// Ends the window that the run has come to the end of, or begins the first.
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
