//! Pages that are written one after the other, as a file or a table of a log-structured tree is: they
//! often die together, whatever lay at their LBAs before.

/// Recent writes that are remembered, by the low bits of their LBAs.
const RECENT: usize = 1024;
/// Pages in order after which a run is a stream.
const LONG: u32 = 64;
/// A stream that was not continued for so many user writes gives up its place.
const IDLE: u32 = 4096;

/// A recent write.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    lba: u32,
    now: u32,
    /// Pages in order up to this one; 0 if nothing is remembered.
    run: u32,
}

/// A stream: the LBA that would continue it, and when it was last continued.
#[derive(Clone, Copy, Debug)]
struct Place {
    next: u32,
    used: u32,
}

/// Runs of writes, and the streams among them.
#[derive(Clone, Debug)]
pub struct Streams {
    recent: Box<[Recent; RECENT]>,
    places: Vec<Place>,
    /// User writes so far.
    now: u32,
}

/// A write as the streams see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequel {
    /// User writes since the page before was written, if it was lately.
    pub before: Option<u32>,
    /// True if it ends a long run.
    pub long: bool,
}

impl Streams {
    /// Up to `places` streams are followed.
    pub fn new(places: usize) -> Self {
        let place = Place { next: u32::MAX, used: 0 };
        Streams {
            recent: Box::new([Recent::default(); RECENT]),
            places: vec![place; places],
            now: 0,
        }
    }

    /// A page is written.
    #[inline(always)]
    pub fn write(&mut self, lba: u32) -> Sequel {
        self.now = self.now.wrapping_add(1);
        let now = self.now;
        let before = self.recent[lba.wrapping_sub(1) as usize % RECENT];
        let continues = before.run > 0 && before.lba == lba.wrapping_sub(1);
        let run = if continues { (before.run + 1).min(LONG) } else { 1 };
        self.recent[lba as usize % RECENT] = Recent { lba, now, run };
        Sequel { before: continues.then(|| now.wrapping_sub(before.now)), long: run == LONG }
    }

    /// The place of the stream that the page written last continues, or a free one if it wants one.
    #[inline(always)]
    pub fn place(&mut self, lba: u32, wanted: bool) -> Option<usize> {
        let now = self.now;
        let own = self.places.iter().position(|place| place.next == lba);
        let idle = |place: &Place| now.wrapping_sub(place.used) > IDLE;
        let free = || if wanted { self.places.iter().position(idle) } else { None };
        let found = own.or_else(free)?;
        self.places[found] = Place { next: lba + 1, used: now };
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of a run's pages, of which all want one once the run is long.
    fn run(streams: &mut Streams, lbas: std::ops::Range<u32>, now: u32) -> Vec<Option<usize>> {
        streams.now = now;
        let place = |lba| {
            let long = streams.write(lba).long;
            streams.place(lba, long)
        };
        lbas.map(place).collect()
    }

    #[test]
    fn a_long_run_has_a_place_and_keeps_it() {
        let mut streams = Streams::new(2);
        let places = run(&mut streams, 1000..1200, 10_000);
        assert!(places[..63].iter().all(Option::is_none));
        assert!(places[63..].iter().all(|&place| place == Some(0)));
        let other = run(&mut streams, 5000..7000, 10_200);
        assert_eq!(other[1999], Some(1));
        assert_eq!(run(&mut streams, 1200..1201, 12_200), [Some(0)], "it goes on");
        let third = run(&mut streams, 9000..9100, 12_201);
        assert_eq!(third[99], None, "no place is left");
        assert_eq!(run(&mut streams, 9100..9101, 12_301 + IDLE), [Some(0)], "one is idle");
    }

    #[test]
    fn the_page_in_front_is_found_if_it_was_written_lately() {
        let mut streams = Streams::new(0);
        streams.write(7);
        assert_eq!(streams.write(8), Sequel { before: Some(1), long: false });
        assert_eq!(streams.write(20).before, None);
        assert_eq!(streams.write(8).before, Some(3));
        streams.write(7 + RECENT as u32);
        assert_eq!(streams.write(8).before, None, "forgotten for another");
    }
}
