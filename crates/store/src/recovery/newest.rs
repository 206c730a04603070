//! Of each page the newest records.

use frostline_log::Extent;

use crate::format::records::RecordKind;

/// The kinds of a page's records, in the order of their numbers.
pub(super) const KINDS: [RecordKind; 3] = [RecordKind::Image, RecordKind::Delta, RecordKind::Tail];

/// A record that was written or copied since the checkpoint, or that ended.
#[derive(Clone, Copy)]
pub(super) struct Latest {
    pub(super) time: u64,
    /// Of equal time, a relocation is the later one, and a trim after all.
    pub(super) seq: u64,
    /// Index of the epoch and offset; none if the record has ended.
    pub(super) to: Option<(u32, u32)>,
    /// Its units.
    pub(super) units: u32,
    pub(super) sum: u32,
    /// See [`Record::other`](crate::format::records::Record::other).
    pub(super) other: u32,
}

impl Latest {
    /// The end of a record.
    pub(super) fn ended(time: u64) -> Self {
        Latest { time, seq: u64::MAX, to: None, units: 0, sum: 0, other: 0 }
    }
}

/// Records of one kind, each with its page.
type OfPages = Vec<(u32, Latest)>;

/// The records that were written or copied since the checkpoint, and the pages that were trimmed:
/// a list for each kind. One list takes a fifth of the memory of lists by page.
#[derive(Default)]
pub(super) struct LateRecords([OfPages; 3]);

impl LateRecords {
    pub(super) fn add(&mut self, page: u32, kind: RecordKind, record: Latest) {
        self.0[kind as usize].push((page, record));
    }

    /// Sorts them by page, and those of a page by age.
    pub(super) fn sort(&mut self) {
        for of_kind in &mut self.0 {
            of_kind.sort_unstable_by_key(|(page, record)| (*page, record.time, record.seq));
        }
    }

    /// The last page that has one.
    pub(super) fn last_page(&self) -> Option<u32> {
        self.0.iter().filter_map(|records| records.last()).map(|&(page, _)| page).max()
    }

    /// The pages in ascending order, each with its records by kind and age.
    pub(super) fn by_page(&self) -> impl Iterator<Item = (u32, [&[(u32, Latest)]; 3])> {
        let mut rest = self.0.each_ref().map(Vec::as_slice);
        std::iter::from_fn(move || {
            let firsts = rest.iter().filter_map(|records| records.first());
            let page = firsts.map(|&(page, _)| page).min()?;
            let of_page = rest.each_mut().map(|records| {
                let count = records.iter().take_while(|&&(other, _)| other == page).count();
                let (of_page, behind) = records.split_at(count);
                *records = behind;
                of_page
            });
            Some((page, of_page))
        })
    }
}

/// The newest image, delta and tail of a page: none of a kind that is as the checkpoint's table has
/// it. `late` are its late records, `before` the places and sums that the table has, which is of
/// the time `checkpoint`.
///
/// A delta counts if it is of the newest image, and a tail if it is of the newest delta. A crash may
/// have taken the image that a delta is of, and left the delta.
pub(super) fn newest(
    late: [&[(u32, Latest)]; 3],
    before: [Option<(Extent, u32)>; 3],
    checkpoint: u64,
) -> [Option<Latest>; 3] {
    let [images, deltas, tails] = late;
    let [base, delta, tail] = before.map(|place| place.map(|(_, sum)| sum));
    let image = images.last().map(|&(_, image)| image);
    // The table's delta is still one of a copy of its image, if cleaning did not merge both.
    let stays = image.is_none_or(|image| {
        let is_copy = image.to.is_some() && image.time <= checkpoint;
        is_copy && base == Some(image.sum) && ![delta, tail].contains(&Some(image.other))
    });
    let parent = match image {
        Some(image) => image.to.map(|_| (image.sum, image.time)),
        None => base.map(|sum| (sum, 0)),
    };
    let newest_delta = parent.and_then(|parent| newest_of(parent, deltas));
    // The newest delta, or the table's, of which a tail is.
    let delta_before = delta.filter(|_| stays);
    let parent = newest_delta.map(|delta| delta.sum).or(delta_before);
    let tail_stays = parent.is_some() && parent == delta_before;
    let newest_tail = parent.and_then(|sum| newest_of((sum, 0), tails));
    let ended = |had: Option<u32>, stays: bool| (had.is_some() && !stays).then(|| Latest::ended(0));
    let delta = newest_delta.or_else(|| ended(delta, stays));
    [image, delta, newest_tail.or_else(|| ended(tail, tail_stays))]
}

/// The newest of some records that is of this one, known by its sum and its time.
fn newest_of((sum, time): (u32, u64), records: &[(u32, Latest)]) -> Option<Latest> {
    let mut by_age = records.iter().rev().map(|&(_, record)| record);
    by_age.find(|record| record.other == sum && record.time > time)
}
