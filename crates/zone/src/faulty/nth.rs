//! Failures of the n-th operation of a kind.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Fault;
use crate::Operation;

/// The number of calls of each operation so far, and the calls that are to fail.
#[derive(Default)]
pub(super) struct Nth {
    counts: BTreeMap<u8, u64>,
    due: Vec<(Operation, Range<u64>, Fault)>,
    /// Bytes of zones before their last reset, for reads that are to be stale.
    past: BTreeMap<u32, Vec<u8>>,
}

impl Nth {
    /// Makes the operations of a kind with these numbers fail.
    pub fn fail(&mut self, operation: Operation, which: Range<u64>, fault: Fault) {
        self.due.push((operation, which, fault));
    }

    /// Nothing fails from now on.
    pub fn stop(&mut self) {
        self.due.clear();
    }

    /// Operations of a kind so far.
    pub fn count(&self, operation: Operation) -> u64 {
        self.counts.get(&(operation as u8)).copied().unwrap_or(0)
    }

    /// Counts an operation, and returns the fault that it meets.
    pub fn meet(&mut self, operation: Operation) -> Option<Fault> {
        let count = self.counts.entry(operation as u8).or_default();
        *count += 1;
        let due =
            self.due.iter().find(|(kind, which, _)| *kind == operation && which.contains(count));
        due.map(|&(_, _, fault)| fault)
    }

    /// True if what zones held before a reset will be asked for.
    pub fn wants_past(&self) -> bool {
        self.due.iter().any(|(_, _, fault)| *fault == Fault::Stale)
    }

    /// A zone held this before it was reset.
    pub fn remember(&mut self, zone: u32, bytes: Vec<u8>) {
        self.past.insert(zone, bytes);
    }

    /// Reads from a zone what it held before.
    pub fn stale(&self, zone: u32, offset: u64, buffer: &mut [u8]) {
        let past = self.past.get(&zone).map_or(&[][..], Vec::as_slice);
        if let Some(bytes) = past.get(offset as usize..offset as usize + buffer.len()) {
            buffer.copy_from_slice(bytes);
        }
    }
}
