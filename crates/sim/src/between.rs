//! A replay of page writes, with the trims, syncs and reads that a trace has between them.

use std::ops::Range;

use frostline_log::{LogError, Writes};
use frostline_trace::{Read, Trim};

use crate::machine::Machine;

/// The trims, syncs and reads that are still to come, each with its place among the writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between<'a> {
    pub trims: &'a [Trim],
    /// Empty if the log has no chunks.
    pub syncs: &'a [usize],
    /// Empty if the scheme does not want reads.
    pub reads: &'a [Read],
}

impl Between<'_> {
    /// The place of the next one, if it is before `end`.
    fn next_before(&self, end: usize) -> Option<usize> {
        let trim = self.trims.first().map(|trim| trim.at);
        let read = self.reads.first().map(|read| read.at);
        [trim, self.syncs.first().copied(), read].into_iter().flatten().min().filter(|&at| at < end)
    }

    /// Passes on all that is at this place: trims, then syncs, then reads.
    fn pass(&mut self, at: usize, machine: &mut dyn Machine) -> Result<(), LogError> {
        while let Some((trim, rest)) = self.trims.split_first().filter(|(trim, _)| trim.at == at) {
            machine.trim(trim.lbas())?;
            self.trims = rest;
        }
        while let Some((_, rest)) = self.syncs.split_first().filter(|(sync, _)| **sync == at) {
            machine.sync();
            self.syncs = rest;
        }
        while let Some((read, rest)) = self.reads.split_first().filter(|(read, _)| read.at == at) {
            machine.read(read.first, read.pages);
            self.reads = rest;
        }
        Ok(())
    }
}

/// Replays a range of the writes, and before each of them the trims, syncs and reads at its place,
/// which it removes from `between`. What is behind the range stays there: a trim alone starts no
/// cleaning.
pub(crate) fn advance(
    machine: &mut dyn Machine,
    writes: &Writes<'_>,
    between: &mut Between<'_>,
    range: Range<usize>,
) -> Result<(), LogError> {
    let mut next = range.start;
    while let Some(at) = between.next_before(range.end) {
        debug_assert!(next <= at, "what lies between the writes is in their order");
        machine.write(writes, next..at)?;
        between.pass(at, machine)?;
        next = at;
    }
    machine.write(writes, next..range.end)
}

#[cfg(test)]
mod tests {
    use std::ops::RangeInclusive;

    use frostline_log::Counts;
    use frostline_placement::AnyScheme;
    use frostline_random::SplitMix;

    use super::*;

    #[derive(Debug, PartialEq)]
    enum Noted {
        Write(u32),
        Trim(u32),
        Sync,
        Read(u32, u32),
    }

    /// Records its calls.
    #[derive(Default)]
    struct Notes(Vec<Noted>, Counts);

    impl Machine for Notes {
        fn write(&mut self, writes: &Writes<'_>, range: Range<usize>) -> Result<(), LogError> {
            self.0.extend(writes.words[range].iter().map(|&word| Noted::Write(word)));
            Ok(())
        }
        fn trim(&mut self, lbas: RangeInclusive<u32>) -> Result<(), LogError> {
            self.0.extend(lbas.map(Noted::Trim));
            Ok(())
        }
        fn sync(&mut self) {
            self.0.push(Noted::Sync);
        }
        fn restart(&mut self, _: AnyScheme) {}
        fn read(&mut self, lba: u32, pages: u32) {
            self.0.push(Noted::Read(lba, pages));
        }
        fn counts(&mut self) -> &Counts {
            &self.1
        }
        fn reset_counts(&mut self) {}
        fn peak_bytes(&self) -> usize {
            0
        }
        fn explain(&self) -> Vec<String> {
            Vec::new()
        }
        fn gauges(&self) -> Vec<(&'static str, f64)> {
            Vec::new()
        }
        fn verify(&self) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn everything_comes_at_its_place_however_the_writes_are_cut_into_ranges() {
        let mut chance = SplitMix::new(4);
        for _ in 0..200 {
            let words: Vec<u32> = (0..chance.below(40)).collect();
            let mut places = |most: u32| {
                let mut places: Vec<usize> = (0..chance.below(most))
                    .map(|_| chance.below(words.len() as u32 + 1) as usize)
                    .collect();
                places.sort_unstable();
                places
            };
            let (trims, reads, syncs) = (places(5), places(30), places(4));
            let trims: Vec<Trim> =
                (trims.into_iter()).map(|at| Trim { at, first: 7, last: 8 }).collect();
            let reads: Vec<Read> = (reads.into_iter().zip(100..))
                .map(|(at, first)| Read { at, first, pages: 3 })
                .collect();
            let mut expected = Vec::new();
            for (i, &word) in words.iter().enumerate() {
                for trim in trims.iter().filter(|trim| trim.at == i) {
                    expected.extend(trim.lbas().map(Noted::Trim));
                }
                expected.extend(syncs.iter().filter(|at| **at == i).map(|_| Noted::Sync));
                for read in reads.iter().filter(|read| read.at == i) {
                    expected.push(Noted::Read(read.first, read.pages));
                }
                expected.push(Noted::Write(word));
            }
            let mut notes = Notes::default();
            let mut between = Between { trims: &trims, syncs: &syncs, reads: &reads };
            let mut next = 0;
            while next < words.len() {
                let end = (next + 1 + chance.below(9) as usize).min(words.len());
                advance(&mut notes, &Writes::new(&words), &mut between, next..end).unwrap();
                next = end;
            }
            assert_eq!(notes.0, expected);
            assert!(between.next_before(words.len()).is_none());
        }
    }
}
