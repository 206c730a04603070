//! A round has the records that one flush writes. It is cut into batches that take few blocks.
//!
//! A part of a round is compressed where that saves a block and an eighth of it. What fits into one
//! block stays as it is: a small commit never waits for a compressor.

use frostline_store::compression::Compressor;

use super::batch::{BLOCK, HEAD};
use super::lsn::Lsn;

/// Bytes of the device at the end of a round that wait for the next one, if nothing needs them and
/// they are no more: they would begin a block that is mostly padding. A longer end is written with
/// less padding than it takes, and waiting for it would mean a flush more.
const LEFT: usize = BLOCK as usize / 2;

/// Blocks of a compressed batch up to which its end waits, as that means to compress once more: of
/// more blocks the padding of the last one is little.
const MOST_CUT: usize = 16;

/// The records that one flush writes: a part of the stream up to the end of a record.
pub(super) struct Round<'a> {
    /// Position of the bytes in the stream.
    pub offset: Lsn,
    /// The records. The first may have begun in the round before.
    pub bytes: &'a [u8],
    /// Records that end here or before are written in any case.
    pub wanted: Lsn,
    /// Records that end here or before are not needed.
    pub keep_from: Lsn,
}

/// The part of a round that a batch holds.
pub(super) struct Part {
    /// Where it ends in the round.
    pub to: usize,
    /// The part, compressed; none if it is written as it is.
    pub short: Option<Vec<u8>>,
    /// True if nothing is behind it, or all of that waits for the next round.
    pub is_last: bool,
}

impl Round<'_> {
    /// The part that begins at `from`, for a batch of at most `room` blocks.
    pub(super) fn part(&self, from: usize, room: u64, compressor: &Compressor) -> Part {
        assert!(from <= self.bytes.len() && room > 0, "a part is in its round");
        let to = self.bytes.len().min(from + (room * BLOCK) as usize - HEAD);
        self.shortened(from, to, compressor).unwrap_or_else(|| {
            let to = self.without_end(from, to);
            Part { to, short: None, is_last: self.ends_at(to) }
        })
    }

    /// The part from `from` to `to`, or nearly to there, if it takes fewer blocks when it is
    /// compressed.
    fn shortened(&self, from: usize, to: usize, compressor: &Compressor) -> Option<Part> {
        let short = shorten(&self.bytes[from..to], compressor)?;
        let again = self.without_short_end(from, to, short.len()).and_then(|(cut, most)| {
            let short = shorten(&self.bytes[from..cut], compressor);
            Some((cut, short.filter(|short| short.len() <= most)?))
        });
        Some(match again {
            Some((to, short)) => Part { to, short: Some(short), is_last: true },
            None => Part { to, short: Some(short), is_last: self.ends_at(to) },
        })
    }

    /// Of a part that is compressed to so many bytes: where it is cut so that it probably ends with
    /// a whole block, and the bytes that fit into these; none if its end can't wait, or is no
    /// short one.
    fn without_short_end(&self, from: usize, to: usize, short: usize) -> Option<(usize, usize)> {
        let (blocks, over) = ((HEAD + short) / BLOCK as usize, (HEAD + short) % BLOCK as usize);
        let is_short_end = (1..=MOST_CUT).contains(&blocks) && (1..=LEFT).contains(&over);
        if to < self.bytes.len() || !is_short_end {
            return None;
        }
        // The end of a part compresses better than all of it.
        let behind = (to - from) * over / short;
        let cut = to.checked_sub(behind + behind / 4 + 256)?;
        (cut > from && !self.is_wanted_behind(cut)).then_some((cut, short - over))
    }

    /// Where a batch ends that begins at `from` and goes on to `to` at most: there, or at the end
    /// of a whole block, if what is behind can wait.
    fn without_end(&self, from: usize, to: usize) -> usize {
        let blocks = (HEAD + to - from) / BLOCK as usize;
        if to < self.bytes.len() || blocks == 0 {
            return to;
        }
        let whole = from + blocks * BLOCK as usize - HEAD;
        if self.ends_at(whole) { whole } else { to }
    }

    /// True if nothing is behind `at`, or little that can wait for the next round, as some is
    /// written.
    fn ends_at(&self, at: usize) -> bool {
        let behind = self.bytes.len() - at;
        behind == 0 || at > 0 && behind <= LEFT && !self.is_wanted_behind(at)
    }

    fn is_wanted_behind(&self, at: usize) -> bool {
        self.wanted > self.offset + at as u64
    }
}

/// Bytes compressed, if that saves a block and an eighth of them.
fn shorten(bytes: &[u8], compressor: &Compressor) -> Option<Vec<u8>> {
    let blocks = (HEAD + bytes.len()).div_ceil(BLOCK as usize);
    let most = (blocks - 1) * BLOCK as usize;
    compressor.compress(bytes, (most.checked_sub(HEAD)? + 1).min(bytes.len() / 8 * 7))
}
