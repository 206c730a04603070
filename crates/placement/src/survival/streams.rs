//! Streams: pages that are written one after the other, as the pages of a file are, or of a table
//! in a log-structured tree. They often die together, whatever lay at their LBAs before. A run that
//! is written alone already lies together in its class's zone. A run among other writes is a
//! stream, and gets a place of its own. A log's tail is written again at the next append: its stream
//! goes on, and no stream begins near a tail.

/// Recent writes that are remembered, by the low bits of their LBAs.
const RECENT: usize = 1024;
/// Pages in order from which a run may be a stream.
const LONG: u32 = 64;
/// Pages in order, none of them written again, before a stream may begin. A log writes its tail
/// again sooner than that. A file does so only where a file system wrote a part of it back.
const FRESH: u32 = 16;
/// A run is a stream if at least one in this many writes since its first page belongs to others.
const OTHERS: u32 = 5;
/// User writes after which a stream gives up its place if it was not continued.
const IDLE: u32 = 4096;

/// A recent write.
#[derive(Clone, Copy, Debug)]
struct RecentWrite {
    lba: u32,
    now: u32,
    /// Pages in order up to and including this one.
    run: u32,
    /// The time at which the first page of the run was written.
    began: u32,
    /// Pages in order, up to and including this one, since one was written again.
    fresh: u32,
}

/// A stream: the LBA that continues it, and the time at which it was last continued.
#[derive(Clone, Copy, Debug)]
struct PageStream {
    next: u32,
    used: u32,
}

impl PageStream {
    fn is_idle(&self, now: u32) -> bool {
        now.wrapping_sub(self.used) > IDLE
    }
}

/// Runs of writes, and the streams among them.
#[derive(Clone, Debug)]
pub struct Streams {
    recent: Box<[RecentWrite; RECENT]>,
    places: Vec<PageStream>,
    /// One bit for each stream, at the low bits of the LBA that continues it: a filter with false
    /// positives.
    nexts: u64,
    /// The number of places that may be taken, counted from the first.
    most: usize,
    /// User writes so far.
    now: u32,
}

/// A write as the streams see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequel {
    /// User writes since the page in front was written, if that was lately.
    pub before: Option<u32>,
    /// Pages in order up to and including this one.
    pub run: u32,
    /// True if the run is long, no tail is near, and other writes are among its own.
    pub long: bool,
}

impl Streams {
    /// Follows up to `places` streams.
    pub fn new(places: usize) -> Self {
        let place = PageStream { next: u32::MAX, used: 0 };
        // No page has this LBA in front.
        let none = RecentWrite { lba: u32::MAX - 1, now: 0, run: 0, began: 0, fresh: 0 };
        Streams {
            recent: Box::new([none; RECENT]),
            places: vec![place; places],
            nexts: 0,
            most: places,
            now: 0,
        }
    }

    /// Follows at most `most` streams from now on.
    pub fn limit(&mut self, most: usize) {
        self.most = most.min(self.places.len());
    }

    /// A page is written.
    #[inline(always)]
    pub fn write(&mut self, lba: u32) -> Sequel {
        self.now = self.now.wrapping_add(1);
        let now = self.now;
        let before = self.recent[lba.wrapping_sub(1) as usize % RECENT];
        let continues = before.lba == lba.wrapping_sub(1);
        let own = &mut self.recent[lba as usize % RECENT];
        let (run, began, fresh) = match continues {
            true => {
                let again = own.lba == lba && own.began == before.began;
                (before.run + 1, before.began, if again { 0 } else { before.fresh + 1 })
            }
            false => (1, now, FRESH),
        };
        *own = RecentWrite { lba, now, run, began, fresh };
        let since = now.wrapping_sub(began);
        let long = run >= LONG && fresh >= FRESH && since.saturating_sub(run) >= since / OTHERS;
        Sequel { before: continues.then(|| now.wrapping_sub(before.now)), run, long }
    }

    /// True if a place may be taken: its stream was not continued for a while.
    pub fn is_idle(&self, place: usize) -> bool {
        self.places[place].is_idle(self.now)
    }

    /// The place of the stream that the last written page continues or whose last page it writes
    /// again, or a free place if `wanted`.
    #[inline(always)]
    pub fn place(&mut self, lba: u32, wanted: bool) -> Option<usize> {
        if (self.nexts & (bit(lba) | bit(lba + 1)) == 0) & !wanted {
            return None;
        }
        self.find(lba, wanted)
    }

    fn find(&mut self, lba: u32, wanted: bool) -> Option<usize> {
        let now = self.now;
        let places = &mut self.places[..self.most];
        let own = places.iter().position(|place| place.next.wrapping_sub(lba) <= 1);
        let free = || if wanted { places.iter().position(|p| p.is_idle(now)) } else { None };
        let found = own.or_else(free)?;
        places[found] = PageStream { next: lba + 1, used: now };
        self.nexts = self.places.iter().fold(0, |bits, place| bits | bit(place.next));
        Some(found)
    }
}

/// The bit of an LBA in a 64-bit filter.
fn bit(lba: u32) -> u64 {
    1 << (lba % u64::BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places of a run's pages among as many other writes. All pages want a place once the run
    /// is long.
    fn run(streams: &mut Streams, lbas: std::ops::Range<u32>, now: u32) -> Vec<Option<usize>> {
        streams.now = now;
        let place = |lba| {
            streams.now += 1;
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
        let other = run(&mut streams, 5000..6900, 10_400);
        assert_eq!(other[1899], Some(1));
        assert_eq!(run(&mut streams, 1200..1201, 14_200), [Some(0)], "it goes on");
        let third = run(&mut streams, 9000..9100, 14_202);
        assert_eq!(third[99], None, "no place is left");
        assert_eq!(run(&mut streams, 9100..9101, 14_402 + IDLE), [Some(0)], "one is idle");
        streams.limit(0);
        assert_eq!(run(&mut streams, 9101..9102, 20_000), [None], "no more are to be followed");
    }

    #[test]
    fn the_stream_of_a_log_goes_on_when_its_tail_is_written_again() {
        let mut streams = Streams::new(2);
        assert_eq!(run(&mut streams, 1000..1200, 10_000)[199], Some(0));
        assert_eq!(run(&mut streams, 1199..1205, 10_500), [Some(0); 6]);
    }

    #[test]
    fn no_stream_begins_near_a_tail() {
        let mut streams = Streams::new(2);
        run(&mut streams, 1000..1062, 10_000);
        let tail = run(&mut streams, 1061..1085, 10_124);
        assert!(tail[..FRESH as usize].iter().all(Option::is_none));
        assert!(tail[FRESH as usize..].iter().all(|&place| place == Some(0)));
    }

    #[test]
    fn a_run_that_is_written_alone_is_no_stream() {
        let mut streams = Streams::new(2);
        assert!((1000..2000).all(|lba| !streams.write(lba).long));
    }

    #[test]
    fn the_page_in_front_is_found_if_it_was_written_lately() {
        let mut streams = Streams::new(0);
        streams.write(7);
        assert_eq!(streams.write(8), Sequel { before: Some(1), run: 2, long: false });
        assert_eq!(streams.write(20), Sequel { before: None, run: 1, long: false });
        assert_eq!(streams.write(8).before, Some(3));
        streams.write(7 + RECENT as u32);
        assert_eq!(streams.write(8).before, None, "forgotten for another");
    }
}
