//! Where the leaves of records were of late.
//!
//! Whoever reads a record often writes it next, and the way down the tree is most of the work. What
//! is remembered may be wrong in any way, of another database even: it is checked before use.

use std::cell::Cell;

use crate::pool::Place;

/// How many places each thread remembers.
const REMEMBERED: usize = 128;

thread_local! {
    static PLACES: [Cell<(u64, Option<Place>)>; REMEMBERED] =
        const { [const { Cell::new((0, None)) }; REMEMBERED] };
}

/// Remembers where the leaf of a record is, by the record's hash.
#[inline]
pub fn note(hash: u64, place: Place) {
    PLACES.with(|places| places[hash as usize % REMEMBERED].set((hash, Some(place))));
}

/// Where the leaf of a record was.
#[inline]
pub fn find(hash: u64) -> Option<Place> {
    let (other, place) = PLACES.with(|places| places[hash as usize % REMEMBERED].get());
    place.filter(|_| other == hash)
}
