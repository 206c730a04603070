//! User writes as a trace has them, in columns.

use frostline_placement::{Hotness, NEVER};

/// User writes, one entry a page. All columns are as long as `words`.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// The LBA, with [`WORD_LAST`](crate::WORD_LAST) if this version lives to the end of the trace.
    pub words: &'a [u32],
    /// Bitmap of the writes that begin a request (bit i % 64 of word i / 64); if `None`, all writes
    /// do.
    pub starts: Option<&'a [u64]>,
    /// Pages of the same request that follow each write, four writes a byte, two bits each, the
    /// first in the lowest; if `None`, none does.
    pub following: Option<&'a [u8]>,
    /// User writes until the LBA is written again or trimmed; [`NEVER`] if that does not happen.
    pub lifespans: Option<&'a [u32]>,
    /// The engine's hotness record of each write.
    pub hotness: Option<&'a [Hotness]>,
    /// The length of each write's record; if `None`, all are whole pages.
    pub lengths: Option<Lengths<'a>>,
}

/// The lengths of records.
#[derive(Clone, Copy, Debug)]
pub struct Lengths<'a> {
    /// Bytes of each record.
    pub bytes: &'a [u16],
    /// Bytes in a unit.
    pub unit: u32,
    /// Bitmap of the writes that are deltas or tails; if `None`, none is.
    pub deltas: Option<&'a [u64]>,
    /// Bitmap of the deltas that are tails; if `None`, none is.
    pub tails: Option<&'a [u64]>,
    /// The merged images that are known, in the order of their versions.
    pub merges: &'a [Merge],
}

/// The length of an image that was made of a page's base, delta and tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merge {
    /// The number of the last write that is in it.
    pub write: u32,
    /// Bytes of the image.
    pub bytes: u16,
}

impl Lengths<'_> {
    /// Units of a record of so many bytes.
    pub(crate) fn units_of(&self, bytes: u16) -> u32 {
        u32::from(bytes).div_ceil(self.unit.max(1)).max(1)
    }
}

impl<'a> Writes<'a> {
    /// Writes that are each a request of their own, with only their words known.
    pub fn new(words: &'a [u32]) -> Self {
        Writes {
            words,
            starts: None,
            following: None,
            lifespans: None,
            hotness: None,
            lengths: None,
        }
    }

    /// True if write `i` begins a request.
    #[inline(always)]
    pub fn begins(&self, i: usize) -> bool {
        self.starts.is_none_or(|s| s.get(i / 64).is_some_and(|w| w >> (i % 64) & 1 == 1))
    }

    /// Pages of the same request that follow write `i`, at most 3.
    #[inline(always)]
    pub fn following(&self, i: usize) -> u8 {
        let four = self.following.and_then(|all| all.get(i / 4)).copied().unwrap_or(0);
        four >> (i % 4 * 2) & 3
    }

    /// Lifespan of write `i`, [`NEVER`] if it is not known.
    #[inline(always)]
    pub fn lifespan(&self, i: usize) -> u32 {
        self.lifespans.and_then(|l| l.get(i)).copied().unwrap_or(NEVER)
    }

    /// The hotness record of write `i`, if there is one.
    #[inline(always)]
    pub fn hotness(&self, i: usize) -> Option<&Hotness> {
        self.hotness.and_then(|h| h.get(i))
    }

    /// Units of the record of write `i`: as many as its bytes need, but at least one and at most
    /// `page_units`; `page_units` if its bytes are not known.
    pub fn units(&self, i: usize, page_units: u32) -> u32 {
        let units = self.lengths.and_then(|all| Some(all.units_of(*all.bytes.get(i)?)));
        units.map_or(page_units, |units| units.min(page_units))
    }

    /// True if write `i` is a delta or a tail.
    pub fn is_delta(&self, i: usize) -> bool {
        has(self.lengths.and_then(|lengths| lengths.deltas), i)
    }

    /// True if write `i` is a tail.
    pub fn is_tail(&self, i: usize) -> bool {
        has(self.lengths.and_then(|lengths| lengths.tails), i)
    }

    /// The merges that are known.
    pub(crate) fn merges(&self) -> &'a [Merge] {
        self.lengths.map_or(&[], |lengths| lengths.merges)
    }

    /// The first write after the request that write `i` belongs to.
    pub fn request_end(&self, i: usize) -> usize {
        let Some(starts) = self.starts else {
            return i + 1;
        };
        let from = i + 1;
        let first = starts.get(from / 64).map_or(0, |w| w >> (from % 64) << (from % 64));
        let rest = starts.get(from / 64 + 1..).unwrap_or_default();
        let mut words = std::iter::once(&first).chain(rest).enumerate();
        let next = words.find(|(_, w)| **w != 0);
        let end = next.map(|(k, w)| (from / 64 + k) * 64 + w.trailing_zeros() as usize);
        end.unwrap_or(self.words.len()).min(self.words.len())
    }
}

/// True if a bitmap has bit `i`.
fn has(bitmap: Option<&[u64]>, i: usize) -> bool {
    bitmap.is_some_and(|words| words.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1))
}
