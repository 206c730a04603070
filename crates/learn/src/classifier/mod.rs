//! PHFTL's page classifier (Sun et al., "Learning-based Data Separation for Write Amplification
//! Reduction in Solid State Drives", DAC 2023, section III-B): it predicts, when a page is written,
//! whether the page will soon be written again.
//!
//! A recurrent network goes through the writes of a page. Its state after them stays with the page,
//! so a prediction is one step. The network works in integers of eight bits. A copy in floating
//! point is trained in each window, with pages that were followed through up to eight writes. The
//! threshold between short-living and long-living is adjusted after each window.
//!
//! Readings where the paper is silent:
//! * A page that was never written has the longest lifespan that its digits can say.
//! * Before the first training every page counts as short-living.
//! * A window's data are 512 pages, chosen at random among those written, and up to eight writes of
//!   each: a share of all writes that costs as much in a small volume as in a large one. A write is
//!   evaluated once the threshold's time has passed: it is short-living if its version had ended by
//!   then, else long-living. So pages that are not written again within the window are learned
//!   from, too.
//! * A chunk has 256 pages; recent counts are halved after each window.
//! * Training is spread over the first half of the next window; the trained network is then
//!   deployed.

mod digits;
mod inference;
mod memory;
mod network;
mod prediction_quality;
mod threshold;
mod tracks;
mod training;

use frostline_placement::{
    Classified, Classifier, ClassifierSetup, NEVER, Request, Stamp, UserWrite,
};
use frostline_random::SplitMix;

use digits::{Digits, Features};
pub use inference::Instructions;
use inference::{NEW, Quantised};
use prediction_quality::PredictionQuality;
use threshold::Threshold;
use tracks::{LENGTH, TRACKS, TrackedWrite, Tracks};
use training::{Labels, Training};

/// LBAs in a chunk: 2^8.
const CHUNK_SHIFT: u32 = 8;
/// In the first byte of a page's state: the page may be followed. In the second byte: the page was
/// predicted to be short-living.
const MARK: u8 = 1 << 7;

/// PHFTL's page classifier.
#[derive(Debug)]
pub struct PageClassifier {
    window: u32,
    full_history: bool,
    /// The time at which the present window ends.
    window_end: Option<u32>,
    now: u32,
    model: Quantised,
    /// True if the model has learned anything.
    trained: bool,
    training: Training,
    /// User writes between two batches of training; below, the time of the next batch.
    stride: u32,
    next_batch: u32,
    tracks: Tracks,
    followed: Vec<TrackedWrite>,
    threshold: Threshold,
    quality: PredictionQuality,
    requests: Requests,
    windows: u64,
}

/// The recent requests.
#[derive(Debug)]
struct Requests {
    /// The LBA behind the last request.
    end: u32,
    pages: u32,
    sequential: bool,
    /// For each chunk: writes, reads.
    chunks: Vec<[u16; 2]>,
    writes: u64,
    reads: u64,
}

impl Requests {
    fn new(space: u32) -> Self {
        let chunks = vec![[0; 2]; (space >> CHUNK_SHIFT) as usize + 1];
        Requests { end: 0, pages: 1, sequential: false, chunks, writes: 0, reads: 0 }
    }

    fn write(&mut self, request: &Request) {
        self.sequential = request.lba == self.end;
        self.pages = request.pages;
        self.end = request.lba.wrapping_add(request.pages);
        self.writes += 1;
        self.counts(request).for_each(|[writes, _]| *writes = writes.saturating_add(1));
    }

    fn read(&mut self, request: &Request) {
        self.reads += 1;
        self.counts(request).for_each(|[_, reads]| *reads = reads.saturating_add(1));
    }

    /// The counts of the chunks that a request covers.
    fn counts(&mut self, request: &Request) -> impl Iterator<Item = &mut [u16; 2]> {
        let Request { lba, pages, .. } = *request;
        let first = lba >> CHUNK_SHIFT;
        let end = (u64::from(lba) + u64::from(pages)).div_ceil(1 << CHUNK_SHIFT) as usize;
        // A read of pages that are never written may have none left.
        let covered = if pages > 0 { end - first as usize } else { 0 };
        self.chunks.iter_mut().skip(first as usize).take(covered)
    }

    #[inline(always)]
    fn features(&self, lba: u32, lifespan: u32) -> Features {
        let chunk = self.chunks.get((lba >> CHUNK_SHIFT) as usize);
        let [writes, reads] = chunk.copied().unwrap_or_default();
        Features {
            lifespan,
            pages: self.pages,
            sequential: self.sequential,
            chunk_writes: u32::from(writes),
            chunk_reads: u32::from(reads),
            reads: (self.reads * 255 / (self.reads + self.writes).max(1)) as u32,
        }
    }

    /// Halves the counts at the end of a window.
    fn age(&mut self) {
        self.chunks.iter_mut().flatten().for_each(|count| *count /= 2);
        self.writes /= 2;
        self.reads /= 2;
    }
}

impl PageClassifier {
    /// A classifier before the first training.
    pub fn new(setup: &ClassifierSetup, instructions: Instructions) -> Self {
        let mut chance = SplitMix::new(setup.seed);
        let length = if setup.full_history { LENGTH } else { 1 };
        PageClassifier {
            window: setup.window.max(1),
            full_history: setup.full_history,
            window_end: None,
            now: 0,
            model: Quantised::new(instructions),
            trained: false,
            tracks: Tracks::new(setup.window, length, SplitMix::new(chance.bits())),
            training: Training::new(chance),
            stride: 1,
            next_batch: 0,
            followed: Vec::with_capacity(TRACKS * LENGTH),
            threshold: Threshold::new(TRACKS * LENGTH, setup.adaptive),
            quality: PredictionQuality::default(),
            requests: Requests::new(setup.space),
            windows: 0,
        }
    }

    /// Ends a window: adjusts the threshold and begins to train.
    #[cold]
    fn end_window(&mut self, now: u32) {
        let began = self.window_end.replace(now.wrapping_add(self.window)).is_some();
        self.tracks.begin(now, &mut self.training.tracks);
        self.followed.clear();
        if began {
            self.windows += 1;
            let tracks = self.training.tracks.iter();
            self.followed.extend(tracks.flat_map(|track| track.writes()));
            self.threshold.adjust(&self.followed, now);
        }
        if let Some(threshold) = self.threshold.value() {
            self.training.begin(Labels { threshold, end: now });
            self.stride = (self.window / 2 / self.training.batches().max(1)).max(1);
            self.next_batch = now.wrapping_add(self.stride);
        }
        let predicted = self.threshold.value().filter(|_| self.trained);
        self.quality.begin(now, predicted);
        self.requests.age();
    }

    /// Learns from a batch, and deploys the network after the last batch of an epoch.
    #[cold]
    fn train(&mut self, now: u32) {
        self.next_batch = now.wrapping_add(self.stride);
        self.training.work();
        if !self.training.goes_on() {
            self.model.round(&self.training.network);
            self.trained = true;
        }
    }

    /// Follows the page if it is followed already, or is chosen now. Returns true if it is
    /// followed.
    #[inline(always)]
    fn follow(
        &mut self,
        write: &UserWrite,
        marked: bool,
        page: &Classified,
        digits: &Digits,
    ) -> bool {
        if marked {
            self.tracks.end(write.lba, write.now);
        } else if self.tracks.chooses(write.now) {
            self.tracks.follow(write.lba, page.hidden);
        } else {
            return false;
        }
        self.tracks.put(write.lba, digits, write.now)
    }
}

impl Classifier for PageClassifier {
    fn on_request(&mut self, request: &Request) {
        self.requests.write(request);
    }

    fn on_read(&mut self, request: &Request) {
        self.requests.read(request);
    }

    fn is_short_living(&mut self, write: &UserWrite, page: &mut Classified) -> bool {
        let now = write.now;
        self.now = now;
        if self.window_end.is_none_or(|end| now.wrapping_sub(end) as i32 >= 0) {
            self.end_window(now);
        }
        if self.training.goes_on() && now.wrapping_sub(self.next_batch) as i32 >= 0 {
            self.train(now);
        }
        let marked = page.hidden[0] & MARK != 0;
        let lifespan = if write.first { NEVER } else { page.written.age(now) };
        if !write.first {
            self.quality.ended(now, lifespan, page.hidden[1] & MARK != 0);
        }
        page.written = Stamp::at(now);
        if write.first || !self.full_history {
            page.hidden = NEW;
        }
        page.hidden.iter_mut().for_each(|h| *h &= !MARK);
        let digits = self.requests.features(write.lba, lifespan).digits();
        let followed = self.follow(write, marked, page, &digits);
        let short = !self.trained || !self.model.step(&digits, &mut page.hidden);
        self.quality.predicted(short);
        page.hidden[0] |= u8::from(followed) * MARK;
        page.hidden[1] |= u8::from(short) * MARK;
        short
    }

    fn on_trim(&mut self, lba: u32) {
        self.tracks.end(lba, self.now);
        self.tracks.forget(lba);
    }

    fn memory(&self) -> Vec<u8> {
        match self.threshold.memory() {
            Some(threshold) if self.trained => memory::write(&threshold, &self.training.network),
            _ => Vec::new(),
        }
    }

    fn recall(&mut self, memory: &[u8]) {
        let Some((threshold, network)) = memory::read(memory) else { return };
        self.threshold.recall(&threshold);
        self.training.network = network;
        self.model.round(&self.training.network);
        self.trained = true;
    }

    fn threshold(&self) -> Option<u32> {
        self.threshold.value()
    }

    fn bytes(&self) -> usize {
        self.training.bytes()
            + self.tracks.bytes()
            + size_of_val(&self.requests.chunks[..])
            + self.followed.capacity() * (size_of::<TrackedWrite>() + 3 * size_of::<u32>())
            + self.model.bytes()
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let mut gauges = self.quality.gauges();
        gauges.push(("threshold", self.threshold.value().map_or(0.0, f64::from)));
        gauges.push(("learning_windows", self.windows as f64));
        gauges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chunk's write and read requests and the share of reads, counted from all requests of the
    /// windows so far.
    fn counted(windows: &[Vec<(bool, Request)>], lba: u32) -> (u32, u32, u32) {
        let (mut chunk, mut all) = ([0, 0], [0, 0]);
        for (i, window) in windows.iter().enumerate() {
            if i > 0 {
                chunk = chunk.map(|count| count / 2);
                all = all.map(|count| count / 2);
            }
            for (is_read, Request { lba: first, pages, .. }) in window {
                let of_chunk = (*first..*first + *pages).any(|page| page / 256 == lba / 256);
                all[usize::from(*is_read)] += 1;
                chunk[usize::from(*is_read)] += u32::from(of_chunk);
            }
        }
        (chunk[0], chunk[1], all[1] * 255 / (all[0] + all[1]).max(1))
    }

    #[test]
    fn reads_and_writes_of_chunks_are_counted_as_a_naive_count_does() {
        const SPACE: u32 = 5000;
        let mut chance = SplitMix::new(3);
        let (mut requests, mut windows) = (Requests::new(SPACE), vec![Vec::new()]);
        for i in 0..3000 {
            let (lba, pages) = (chance.below(SPACE), chance.below(600));
            // Pages that are read may lie beyond all that is written.
            let is_read = chance.below(3) > 0;
            let request = match is_read {
                true => Request { lba: lba + 500, pages, now: i, valid: 0 },
                false => Request { lba, pages: pages.min(SPACE - lba), now: i, valid: 0 },
            };
            if is_read {
                requests.read(&request)
            } else {
                requests.write(&request)
            }
            windows.last_mut().unwrap().push((is_read, request));
            let lba = chance.below(SPACE);
            let found = requests.features(lba, 0);
            let found = (found.chunk_writes, found.chunk_reads, found.reads);
            assert_eq!(found, counted(&windows, lba), "request {i}, page {lba}");
            if i % 700 == 699 {
                requests.age();
                windows.push(Vec::new());
            }
        }
    }

    #[test]
    fn reads_change_the_digits_of_the_writes_after_them() {
        let digits = |reads: u32| {
            let mut requests = Requests::new(1000);
            let request = |lba| Request { lba, pages: 1, now: 1, valid: 0 };
            (0..reads).for_each(|_| requests.read(&request(300)));
            requests.write(&request(300));
            requests.features(300, 7).digits()
        };
        assert_eq!(digits(0)[14..], [0; 6]);
        assert_eq!(digits(0x53)[14..18], [3, 5, 0, 0]);
        // 83 of 84 requests are reads: 251 of 255.
        assert_eq!(digits(0x53)[18..], [11, 15]);
    }
}
