//! Notes of openings, ends and trims, on their way to the metadata log.

use crate::format::{GIVEN_UP, Note, OPENED, TRIMMED};

/// The notes that are to be written, and the numbers of those that were.
pub(crate) struct Notes {
    waiting: Vec<Note>,
    next_serial: u64,
    /// All notes before this number are durable.
    durable: u64,
}

impl Notes {
    /// No notes.
    pub(crate) fn new() -> Self {
        Notes { waiting: Vec::new(), next_serial: 1, durable: 0 }
    }

    /// All notes before this number were found durable.
    pub(crate) fn restore(&mut self, next_serial: u64) {
        assert!(self.waiting.is_empty(), "notes are made after recovery");
        self.next_serial = next_serial;
        self.durable = next_serial;
    }

    /// A zone of the volume was opened for a class, as zone `device_zone` of the device.
    pub(crate) fn zone_opened(&mut self, time: u64, zone: u32, class: usize, place: (u32, u64)) {
        let (target, class, (device_zone, opening)) = (zone, class as u32, place);
        self.push(Note { tag: OPENED, target, device_zone, class, opening, time, serial: 0 });
    }

    /// A page was trimmed.
    pub(crate) fn page_trimmed(&mut self, time: u64, lba: u32) {
        self.push(Note { tag: TRIMMED, target: lba, time, ..Note::default() });
    }

    /// Chunks with these numbers, which rise, are not needed any more, and may be missing from now
    /// on.
    pub(crate) fn chunks_given_up(&mut self, mut numbers: &[u64]) {
        debug_assert!(numbers.is_sorted(), "the numbers of chunks rise");
        while let Some(&first) = numbers.first() {
            let (some, rest) = numbers.split_at(numbers.partition_point(|n| n - first < 64));
            let bits = some.iter().fold(0, |bits, n| bits | 1 << (n - first));
            self.push(Note { tag: GIVEN_UP, opening: first, time: bits, ..Note::default() });
            numbers = rest;
        }
    }

    fn push(&mut self, note: Note) {
        self.waiting.push(Note { serial: self.next_serial, ..note });
        self.next_serial += 1;
    }

    /// Number of the next note.
    pub(crate) fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Notes that wait to be written.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The notes that wait, to be written by the caller.
    pub(crate) fn take(&mut self) -> Vec<Note> {
        debug_assert!(
            self.waiting.iter().rev().zip(1..).all(|(note, n)| note.serial + n == self.next_serial),
            "notes are numbered without a gap"
        );
        std::mem::take(&mut self.waiting)
    }

    /// All notes before this number are durable.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// All notes before this number became durable.
    pub(crate) fn made_durable(&mut self, serial: u64) {
        assert!(serial <= self.next_serial, "a note is durable that was not made");
        self.durable = self.durable.max(serial);
    }
}
