//! Failures of the n-th operation of a kind.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fault::Fault;
use crate::Operation;

/// The number of calls of each operation so far, and the calls that shall fail.
#[derive(Default)]
pub(super) struct Nth {
    counts: BTreeMap<u8, u64>,
    due: Vec<(Operation, Range<u64>, Fault)>,
    /// Bytes of zones before their last reset, for stale reads.
    past: BTreeMap<u32, Vec<u8>>,
}

impl Nth {
    /// Makes the operations of a kind with these numbers fail.
    pub(super) fn fail(&mut self, operation: Operation, which: Range<u64>, fault: Fault) {
        self.due.push((operation, which, fault));
    }

    /// Cancels all failures.
    pub(super) fn stop(&mut self) {
        self.due.clear();
    }

    /// Operations of a kind so far.
    pub(super) fn count(&self, operation: Operation) -> u64 {
        self.counts.get(&(operation as u8)).copied().unwrap_or(0)
    }

    /// Counts an operation, and returns its fault, if it has one.
    pub(super) fn meet(&mut self, operation: Operation) -> Option<Fault> {
        let count = self.counts.entry(operation as u8).or_default();
        *count += 1;
        let due =
            self.due.iter().find(|(kind, which, _)| *kind == operation && which.contains(count));
        due.map(|&(_, _, fault)| fault)
    }

    /// True if a stale read is scheduled, which needs the bytes of zones before a reset.
    pub(super) fn wants_past(&self) -> bool {
        self.due.iter().any(|(_, _, fault)| *fault == Fault::Stale)
    }

    /// Keeps the bytes that a zone held before it was reset.
    pub(super) fn remember(&mut self, zone: u32, bytes: Vec<u8>) {
        self.past.insert(zone, bytes);
    }

    /// Reads the bytes that a zone held before its last reset.
    pub(super) fn stale(&self, zone: u32, offset: u64, buffer: &mut [u8]) {
        let past = self.past.get(&zone).map_or(&[][..], Vec::as_slice);
        if let Some(bytes) = past.get(offset as usize..offset as usize + buffer.len()) {
            buffer.copy_from_slice(bytes);
        }
    }
}
