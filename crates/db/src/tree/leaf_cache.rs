//! A cache of the frames in which the leaves of records were.
//!
//! A record that is read is often written next, and the way down the tree is most of the work. An
//! entry may be wrong in any way, it may even be of another database: it is checked before use.

use std::cell::Cell;

use crate::pool::CachedFrame;

/// Entries of each thread's cache.
const ENTRIES: usize = 128;

thread_local! {
    static FRAMES: [Cell<(u64, Option<CachedFrame>)>; ENTRIES] =
        const { [const { Cell::new((0, None)) }; ENTRIES] };
}

/// Stores the frame of a record's leaf, by the record's hash.
#[inline]
pub(crate) fn note(hash: u64, cached: CachedFrame) {
    FRAMES.with(|frames| frames[hash as usize % ENTRIES].set((hash, Some(cached))));
}

/// The frame in which the leaf of a record was.
#[inline]
pub(crate) fn find(hash: u64) -> Option<CachedFrame> {
    let (other, cached) = FRAMES.with(|frames| frames[hash as usize % ENTRIES].get());
    cached.filter(|_| other == hash)
}
