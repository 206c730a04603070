//! Write streams of a drive with flexible data placement (FDP): which zone goes to which.
//!
//! A zone takes a stream at its first append and keeps it until it is full, finished or reset: one
//! that the fewest zones have, and of these the one that was given back last. A store writes a zone
//! for each class at a time, so if the drive has as many streams, the zone that follows a full one
//! of its class takes the stream of that.

use std::collections::BTreeMap;

/// The streams of a drive, and the zones that have one.
pub(super) struct Streams {
    /// By stream, from 1 on: zones that have it, and when it was last given back.
    all: Vec<(u32, u64)>,
    of_zone: BTreeMap<u32, u8>,
    /// Streams given back so far.
    given_back: u64,
}

impl Streams {
    /// The streams from 1 to `count`, as drives have them on Linux.
    #[cfg(any(target_os = "linux", test))]
    pub(super) fn new(count: u8) -> Streams {
        Streams { all: vec![(0, 0); count.into()], of_zone: BTreeMap::new(), given_back: 0 }
    }

    /// The stream of a zone that is written.
    pub(super) fn of(&mut self, zone: u32) -> u8 {
        if let Some(&stream) = self.of_zone.get(&zone) {
            return stream;
        }
        let numbered = (1..).zip(&mut self.all);
        let best = numbered.min_by_key(|&(_, &mut (zones, at))| (zones, u64::MAX - at));
        let Some((stream, (zones, _))) = best else { return 0 };
        *zones += 1;
        self.of_zone.insert(zone, stream);
        stream
    }

    /// A zone is no longer written.
    pub(super) fn give_back(&mut self, zone: u32) {
        let Some(stream) = self.of_zone.remove(&zone) else { return };
        self.given_back += 1;
        let (zones, at) = &mut self.all[usize::from(stream) - 1];
        assert!(*zones > 0, "a stream counts its zones");
        (*zones, *at) = (*zones - 1, self.given_back);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_that_are_written_at_a_time_have_streams_of_their_own() {
        let mut streams = Streams::new(3);
        assert_eq!([10, 11, 12, 10].map(|zone| streams.of(zone)), [1, 2, 3, 1]);
        // Of more zones than streams, each stream gets its share.
        assert_eq!([13, 14, 15].map(|zone| streams.of(zone)), [1, 2, 3]);
    }

    #[test]
    fn the_next_zone_takes_the_stream_that_was_given_back_last() {
        let mut streams = Streams::new(8);
        let classes = [0, 1, 2].map(|zone| streams.of(zone));
        for zone in 3..30 {
            let class = zone as usize % 3;
            streams.give_back(zone - 3);
            assert_eq!(streams.of(zone), classes[class], "{zone}");
        }
        streams.give_back(99);
        assert_eq!(streams.of(100), 4);
    }
}
