//! Samples of pages without a label yet: whether they are frozen is not known.

use std::collections::VecDeque;

use frostline_random::SplitMix;

/// Epochs in a horizon.
const EPOCHS: u64 = 8;
/// The most samples of an epoch.
const SAMPLES: usize = 512;

/// Samples that are watched. Time is divided into epochs; each page that cleaning meets in an epoch
/// is as likely to become one of its samples as any other (Vitter, "Random Sampling with a
/// Reservoir", ACM TOMS 11(1), 1985, algorithm R). The samples of an epoch are labelled one horizon
/// after the epoch.
#[derive(Debug)]
pub(crate) struct Watch {
    width: usize,
    chance: SplitMix,
    /// User writes so far.
    now: u64,
    current: Epoch,
    waiting: VecDeque<Epoch>,
    /// Pages whose watched version ended, with the time; `true` if the page was written again.
    ends: Vec<(u32, u64, bool)>,
    /// An epoch whose memory will be reused.
    spare: Epoch,
}

#[derive(Debug, Default)]
struct Epoch {
    begin: u64,
    /// User writes for which its samples are watched.
    horizon: u64,
    /// Pages that cleaning met.
    seen: u64,
    samples: Vec<WatchedPage>,
    /// The time of the latest sample.
    latest: u64,
    /// The samples' features, one sample after the other.
    rows: Vec<f32>,
}

#[derive(Clone, Copy, Debug)]
struct WatchedPage {
    lba: u32,
    time: u64,
    taken: Option<bool>,
}

/// A sample that is labelled.
#[derive(Debug)]
pub(crate) struct Labelled<'a> {
    /// Its features.
    pub row: &'a [f32],
    /// True if the model took the page for frozen; `None` if there was no model.
    pub taken: Option<bool>,
    /// True if the page counts as frozen.
    pub frozen: bool,
}

impl Watch {
    /// Watches nothing yet; samples will have `width` features.
    pub(super) fn new(width: usize, chance: SplitMix) -> Self {
        Watch {
            width,
            chance,
            now: 0,
            current: Epoch::default(),
            waiting: VecDeque::new(),
            ends: Vec::new(),
            spare: Epoch::default(),
        }
    }

    /// Passes the labelled samples of the oldest epoch to `visit` if its horizon is over, and
    /// returns true in that case. `now` is the time modulo 2^32, `valid` the valid pages of the
    /// volume.
    pub(super) fn finish_epoch(
        &mut self,
        now: u32,
        valid: u32,
        visit: impl FnMut(&Labelled<'_>),
    ) -> bool {
        self.now += u64::from(now.wrapping_sub(self.now as u32));
        if self.now >= self.current.begin + self.current.horizon / EPOCHS {
            let horizon = u64::from(valid).max(EPOCHS);
            let spare = std::mem::take(&mut self.spare);
            let next = Epoch { begin: self.now, horizon, seen: 0, latest: 0, ..spare };
            self.waiting.push_back(std::mem::replace(&mut self.current, next));
        }
        let is_over = |epoch: &mut Epoch| {
            epoch.samples.is_empty() || self.now >= epoch.latest + epoch.horizon
        };
        let Some(mut epoch) = self.waiting.pop_front_if(is_over) else { return false };
        self.label(&epoch, visit);
        let earliest = self.waiting.front().map_or(self.current.begin, |epoch| epoch.begin);
        self.ends.retain(|(_, time, _)| *time >= earliest);
        epoch.samples.clear();
        epoch.rows.clear();
        self.spare = epoch;
        true
    }

    fn label(&mut self, epoch: &Epoch, mut visit: impl FnMut(&Labelled<'_>)) {
        assert_eq!(epoch.rows.len(), epoch.samples.len() * self.width, "each sample has a row");
        // All but the newest entries are in order already, which makes the stable sort fast.
        self.ends.sort();
        for (sample, row) in epoch.samples.iter().zip(epoch.rows.chunks_exact(self.width)) {
            let next = self.ends.partition_point(|end| *end < (sample.lba, sample.time, false));
            let ended = |(lba, time, _): &&(u32, u64, bool)| {
                *lba == sample.lba && *time <= sample.time + epoch.horizon
            };
            let end = self.ends.get(next).filter(ended);
            // A trimmed page gives no sample: it was neither written again nor does it stay.
            if end.is_none_or(|(_, _, written)| *written) {
                visit(&Labelled { row, taken: sample.taken, frozen: end.is_none() });
            }
        }
    }

    /// Decides whether the next page that cleaning meets becomes a sample; returns its place among
    /// them.
    pub(super) fn choose(&mut self) -> Option<usize> {
        let epoch = &mut self.current;
        epoch.seen += 1;
        if epoch.samples.len() < SAMPLES {
            return Some(epoch.samples.len());
        }
        let place = self.chance.bits() % epoch.seen;
        usize::try_from(place).ok().filter(|&place| place < SAMPLES)
    }

    /// Watches a page from now on, in a place that [`Watch::choose`] gave.
    pub(super) fn put(&mut self, place: usize, lba: u32, row: &[f32], taken: Option<bool>) {
        let (epoch, sample) = (&mut self.current, WatchedPage { lba, time: self.now, taken });
        assert!(place <= epoch.samples.len(), "a sample has a place that was chosen");
        assert_eq!(row.len(), self.width, "each feature has a value");
        epoch.latest = self.now;
        match epoch.samples.get_mut(place) {
            Some(replaced) => {
                *replaced = sample;
                epoch.rows[place * self.width..][..self.width].copy_from_slice(row);
            }
            None => {
                epoch.samples.push(sample);
                epoch.rows.extend_from_slice(row);
            }
        }
    }

    /// A watched version of a page ended: `written` again, or trimmed.
    pub(super) fn end(&mut self, lba: u32, written: bool) {
        self.ends.push((lba, self.now, written));
    }

    /// Bytes that the samples take.
    pub(super) fn bytes(&self) -> usize {
        let epochs = self.waiting.iter().chain([&self.current]);
        let samples = epochs.map(|e| size_of_val(&e.samples[..]) + size_of_val(&e.rows[..]));
        samples.sum::<usize>() + self.ends.len() * size_of::<(u32, u64, bool)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: u32 = 8000;

    fn watch() -> Watch {
        let mut watch = Watch::new(1, SplitMix::new(7));
        assert!(watch.finish_epoch(1, VALID, |_| panic!("of nothing")));
        watch
    }

    fn put(watch: &mut Watch, lba: u32) {
        let place = watch.choose().unwrap();
        watch.put(place, lba, &[lba as f32], None);
    }

    /// The fates of the samples, by page.
    fn fates(watch: &mut Watch, from: u32, to: u32) -> Vec<(f32, bool)> {
        let mut fates = Vec::new();
        for now in (from..=to).step_by(100) {
            watch.finish_epoch(now, VALID, |sample| fates.push((sample.row[0], sample.frozen)));
        }
        fates
    }

    #[test]
    fn a_page_is_frozen_if_a_horizon_passes_without_a_write_of_it() {
        let mut watch = watch();
        (1..=4).for_each(|lba| put(&mut watch, lba));
        watch.finish_epoch(501, VALID, |_| ());
        watch.end(2, true);
        watch.end(3, false);
        assert_eq!(fates(&mut watch, 601, 8000), [], "it is too early to tell");
        watch.end(4, true);
        // Page 3 was trimmed: it gives no sample.
        assert_eq!(fates(&mut watch, 8001, 9000), [(1.0, true), (2.0, false), (4.0, false)]);
        assert!(watch.ends.is_empty(), "ends that are no longer wanted are kept");
    }

    #[test]
    fn the_end_of_an_earlier_version_says_nothing_of_a_later_one() {
        let mut watch = watch();
        put(&mut watch, 5);
        watch.finish_epoch(401, VALID, |_| ());
        watch.end(5, true);
        watch.finish_epoch(501, VALID, |_| ());
        put(&mut watch, 5);
        assert_eq!(fates(&mut watch, 601, 9500), [(5.0, false), (5.0, true)]);
    }

    #[test]
    fn each_page_of_an_epoch_is_as_likely_to_be_a_sample() {
        let mut watch = watch();
        for lba in 0..10 * SAMPLES as u32 {
            if let Some(place) = watch.choose() {
                watch.put(place, lba, &[lba as f32], None);
            }
        }
        let samples = fates(&mut watch, 1001, 9500);
        assert_eq!(samples.len(), SAMPLES);
        let early = samples.iter().filter(|(lba, _)| *lba < 5.0 * SAMPLES as f32).count();
        assert!((SAMPLES * 2 / 5..SAMPLES * 3 / 5).contains(&early), "{early}");
    }
}
