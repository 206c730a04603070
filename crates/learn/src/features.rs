//! Features of a page: numbers computed from its history.

use frostline_placement::{Activity, Hotness, Past, Pasts, log2_1p};
use serde::{Deserialize, Serialize};

use crate::{LANES, LearnError};

/// The source of the records of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordSource {
    /// The block layer: [`Past`].
    Block,
    /// The engine that wrote the page: [`Hotness`].
    Engine,
}

/// The features of a page and their order: those of its newest write, then those of the write
/// before, and so on.
///
/// The fields of an engine's record (SepFrozen, section 4.1; WT, VD, AI, MI, AC, MC there):
/// * `write-time`: for the newest write, user writes since it; for write k back, user writes from
///   it to
///   write k-1;
/// * `valid-bytes`: for the newest write, their number; for write k back, their change from it to
///   write k-1;
/// * `access-interval`, `modification-interval`, `accesses`, `modifications`.
///
/// So two records have the paper's twelve features, with write times and valid bytes as
/// differences, for which the paper reports the highest correlations. The fields of a block layer's
/// record are `write-time` as above, `request-pages` and `sequential`. Before the first record
/// comes `writes`, once: the number of the page's writes.
///
/// Times, intervals and counts are logarithms, [`log2_1p`], because a few of them are very large.
/// Features of writes that do not exist are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureLayout {
    records: RecordSource,
    history: usize,
}

/// A write of a page: the version's lifespan or age, and the engine's record.
pub type EngineRecord = (u32, Activity);

impl FeatureLayout {
    /// The most writes of a page that a layout may have.
    pub const LONGEST: usize = Past::HISTORY;
    /// The most features of a layout.
    pub const WIDEST: usize = 6 * Self::LONGEST;
    /// The most fields of a record.
    pub(crate) const MOST_FIELDS: usize = 6;

    /// The features of the last `history` writes, from 1 to 4.
    ///
    /// # Errors
    /// [`LearnError::History`].
    pub fn new(records: RecordSource, history: usize) -> Result<Self, LearnError> {
        match history {
            1..=Self::LONGEST => Ok(FeatureLayout { records, history }),
            _ => Err(LearnError::History(history)),
        }
    }

    /// The source of the records of a page.
    pub fn records(self) -> RecordSource {
        self.records
    }

    /// Writes of a page that the features cover.
    pub fn history(self) -> usize {
        self.history
    }

    /// Features of a page.
    pub fn width(self) -> usize {
        match self.records {
            RecordSource::Block => 1 + self.history * self.of_each_write(),
            RecordSource::Engine => self.history * self.of_each_write(),
        }
    }

    /// Features of each write.
    fn of_each_write(self) -> usize {
        match self.records {
            RecordSource::Block => 3,
            RecordSource::Engine => 6,
        }
    }

    /// The names of the fields, which are those of the newest write's features.
    pub fn fields(self) -> &'static [&'static str] {
        match self.records {
            RecordSource::Block => &["writes", "write-time", "request-pages", "sequential"],
            RecordSource::Engine => &[
                "write-time",
                "valid-bytes",
                "access-interval",
                "modification-interval",
                "accesses",
                "modifications",
            ],
        }
    }

    /// The columns of the write `back` writes before the newest, in the order of the fields. A
    /// feature that exists only once belongs to every write.
    pub fn columns(self, back: usize) -> impl Iterator<Item = usize> {
        assert!(back < self.history, "a write that the features cover");
        let once = self.width() - self.history * self.of_each_write();
        let first = once + back * self.of_each_write();
        (0..once).chain(first..first + self.of_each_write())
    }

    /// The names of all features: the field's name, with `-1`, `-2` or `-3` for earlier writes.
    pub fn names(self) -> Vec<String> {
        let of_each_write = self.fields().iter().filter(|&&field| field != "writes");
        let newest = self.fields().iter().map(ToString::to_string);
        let earlier = (1..self.history)
            .flat_map(|back| of_each_write.clone().map(move |field| format!("{field}-{back}")));
        newest.chain(earlier).collect()
    }

    /// The feature that is the lifespan of the version before the current one; `None` if the
    /// history has one write.
    pub fn lifespan(self) -> Option<usize> {
        self.names().iter().position(|name| name == "write-time-1")
    }

    /// Bytes of history that must be kept for each page.
    pub fn bytes_per_page(self) -> usize {
        match self.records {
            RecordSource::Block => size_of::<Past>(),
            // The time of each write is kept with it.
            RecordSource::Engine => self.history * (size_of::<u32>() + size_of::<Activity>()),
        }
    }

    /// Passes the features of a page at an age to `put`, from the block layer's view.
    #[inline(always)]
    pub fn of_past(self, age: u32, past: &Past, mut put: impl FnMut(f32)) {
        put(log2_1p(past.writes()));
        for back in 0..self.history {
            put(if back == 0 { log2_1p(age) } else { past.lifespan(back) });
            put(past.request(back));
            put(f32::from(u8::from(past.sequential(back))));
        }
    }

    /// Writes the same features of a tile's pages at time `now`.
    #[inline(always)]
    pub(crate) fn of_pasts(self, now: u32, pasts: &Pasts<LANES>, tile: &mut [[f32; LANES]]) {
        debug_assert_eq!(tile.len(), self.width(), "each feature has a column");
        let Some((first, each)) = tile.split_first_mut() else { return };
        *first = pasts.writes();
        for (back, columns) in each.as_chunks_mut::<3>().0.iter_mut().enumerate() {
            let time = if back == 0 { pasts.ages(now) } else { pasts.lifespans(back) };
            *columns = [time, pasts.requests(back), pasts.sequential(back)];
        }
    }

    /// Passes the features of a page at an age to `put`, from the engine's record of its newest
    /// write, which covers two writes.
    #[inline(always)]
    pub fn of_hotness(self, age: u32, hotness: &Hotness, put: impl FnMut(f32)) {
        self.of_records(&[(age, hotness.current), (hotness.lifespan, hotness.last)], put);
    }

    /// Passes the features of a page to `put`, from the engine's record of each of its writes, the
    /// newest first.
    #[inline(always)]
    pub fn of_records(self, records: &[EngineRecord], mut put: impl FnMut(f32)) {
        let mut after = None;
        for back in 0..self.history {
            let (time, activity) = records.get(back).copied().unwrap_or_default();
            let bytes = f32::from(activity.valid_bytes);
            put(log2_1p(time));
            put(after.map_or(bytes, |after: f32| after - bytes));
            put(log2_1p(activity.access_interval));
            put(log2_1p(activity.modification_interval));
            put(log2_1p(activity.accesses.into()));
            put(log2_1p(activity.modifications.into()));
            after = Some(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use frostline_placement::Requests;

    use super::*;

    fn collected(
        layout: FeatureLayout,
        fill: impl FnOnce(&mut dyn FnMut(f32)),
    ) -> Vec<(String, f32)> {
        let mut values = Vec::new();
        fill(&mut |value| values.push(value));
        assert_eq!(values.len(), layout.width());
        layout.names().into_iter().zip(values).collect()
    }

    #[test]
    fn an_engines_record_gives_the_papers_twelve() {
        let activity = |valid_bytes, accesses| Activity {
            valid_bytes,
            accesses,
            modifications: 1,
            reserved: 0,
            access_interval: 3,
            modification_interval: 7,
        };
        let hotness = Hotness {
            origin: 9,
            lifespan: 1023,
            current: activity(3000, 15),
            last: activity(2900, 0),
        };
        let layout = FeatureLayout::new(RecordSource::Engine, 2).unwrap();
        let found = collected(layout, |put| layout.of_hotness(31, &hotness, put));
        let expected = [
            ("write-time", 5.0),
            ("valid-bytes", 3000.0),
            ("access-interval", 2.0),
            ("modification-interval", 3.0),
            ("accesses", 4.0),
            ("modifications", 1.0),
            ("write-time-1", 10.0),
            ("valid-bytes-1", 100.0),
            ("access-interval-1", 2.0),
            ("modification-interval-1", 3.0),
            ("accesses-1", 0.0),
            ("modifications-1", 1.0),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_string(), value)));
        assert_eq!(layout.lifespan(), Some(6));
    }

    #[test]
    fn a_new_page_has_zeroes_for_what_was_not_written() {
        let (mut past, mut requests) = (Past::default(), Requests::default());
        requests.begin(8, 4);
        past.write(10, &requests);
        let layout = FeatureLayout::new(RecordSource::Block, 3).unwrap();
        let found = collected(layout, |put| layout.of_past(past.age(13), &past, put));
        let values: Vec<_> = found.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [1.0, 2.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(found[4].0, "write-time-1");
        assert_eq!(FeatureLayout::new(RecordSource::Block, 1).unwrap().lifespan(), None);
    }

    #[test]
    fn the_widest_layout_fits() {
        for records in [RecordSource::Block, RecordSource::Engine] {
            assert!(
                FeatureLayout::new(records, FeatureLayout::LONGEST).unwrap().width()
                    <= FeatureLayout::WIDEST
            );
            assert!(
                FeatureLayout::new(records, 0).is_err() && FeatureLayout::new(records, 5).is_err()
            );
        }
    }
}
