//! The pages in use and the free ones.
//!
//! This is recorded nowhere: a page is in use if the store has it, unless the log has freed it
//! since. A page that is freed is trimmed once the record that freed it is durable, and then used
//! again. After an opening it is known how many pages of a [part](Unlisted) are in use, and which
//! only once that matters.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

use crate::DbError;
use crate::space::PageSpace;
use crate::unlisted::Unlisted;

/// Pages that are kept for commits that free others, if there are many.
const KEPT: u32 = 16;

/// The numbers of the pages of a database.
pub(crate) struct Pages {
    state: Mutex<State>,
    limit: u32,
}

#[derive(Default)]
struct State {
    /// Free pages that are listed.
    free: Vec<u32>,
    unlisted: Unlisted,
    /// Pages from here on were never used.
    next: u32,
    /// Freed by the record at a position, in the order of the log.
    freed: VecDeque<(u64, u32)>,
    /// Freed pages, not yet trimmed, that had changes which only the log has: the log position of
    /// the first change of each. Until the page is trimmed recovery finds its old version, so it
    /// needs all of them.
    changed: BTreeMap<u32, u64>,
    /// Reserved for commits that are under way.
    reserved: u32,
    /// Positions from which on the log is needed, for pages that are on their way in or out: how
    /// often each.
    pinned: BTreeMap<u64, usize>,
}

/// The answer to a thread that asks for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// A page that is not in use.
    Page(u32),
    /// A part has some, and is to be [listed](Pages::listed).
    List(Range<u32>),
    /// Only freed pages, which must be trimmed first. The record at this position freed the oldest.
    Trim(u64),
}

/// A reservation of pages that a commit may need.
pub(crate) struct Reservation<'p> {
    pages: &'p Pages,
    count: u32,
}

impl Pages {
    /// A set without free pages; [`Pages::begin`] sets the free ones.
    pub(crate) fn new(limit: u32) -> Self {
        Pages { state: Mutex::new(State { next: limit, ..State::default() }), limit }
    }

    /// All pages are free but those that are in use.
    pub(crate) fn begin(&self, mut used: Used) {
        let last = used.listed(used.end).rev().find(|&page| used.has(page));
        let next = last.map_or(0, |last| last + 1).max(used.unlisted.end());
        let free = used.listed(next).rev().filter(|&page| !used.has(page)).collect();
        let mut unlisted = std::mem::take(&mut used.unlisted);
        unlisted.truncate(next);
        // Those that are free are trimmed before the log is released. The others were taken again,
        // for something that the device does not have.
        let changed = used.changed.iter().filter(|&(&page, _)| used.has(page));
        let changed = changed.map(|(&page, &from)| (page, from)).collect();
        *self.state() = State { free, unlisted, next, changed, ..State::default() };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Pages that a database can have.
    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Pages in use.
    pub(crate) fn used(&self) -> u32 {
        let state = self.state();
        let unused = state.unused();
        assert!(unused <= state.next, "more pages are free than were ever used");
        state.next - unused
    }

    /// A page that is not in use, if it need not be trimmed.
    pub(crate) fn take(&self) -> Result<Take, DbError> {
        let mut state = self.state();
        if let Some(page) = state.free.pop() {
            return Ok(Take::Page(page));
        }
        if let Some(part) = state.unlisted.with_free() {
            return Ok(Take::List(part));
        }
        if state.next < self.limit {
            state.next += 1;
            return Ok(Take::Page(state.next - 1));
        }
        match state.freed.front() {
            Some(&(position, _)) => Ok(Take::Trim(position)),
            None => Err(DbError::Full { pages: self.limit }),
        }
    }

    /// The part that has a page, if it has to be [listed](Pages::listed) before the page is
    /// trimmed.
    pub(crate) fn unlisted_part(&self, page: u32) -> Option<Range<u32>> {
        self.state().unlisted.part_of(page)
    }

    /// The store has these pages of a part, in order: the others are free. Nothing happens if
    /// another thread has listed it meanwhile, and perhaps trimmed some.
    pub(crate) fn listed(&self, part: &Range<u32>, stored: &[u32]) {
        let mut state = self.state();
        if state.unlisted.remove(part) {
            let is_free = |page: &u32| stored.binary_search(page).is_err();
            state.free.extend(part.clone().rev().filter(is_free));
        }
    }

    /// Takes back a page that was taken, and then not used.
    pub(crate) fn give_back(&self, page: u32) {
        let mut state = self.state();
        assert!(page < state.next, "page {page} was never taken");
        debug_assert!(!state.free.contains(&page), "page {page} is given back twice");
        state.free.push(page);
    }

    /// The log record at `position` freed a page. Calls come mostly in the order of the log.
    pub(crate) fn free(&self, position: u64, page: u32) {
        let mut state = self.state();
        assert!(page < state.next, "page {page} is freed, and was never taken");
        let behind = state.freed.partition_point(|&(other, _)| other <= position);
        state.freed.insert(behind, (position, page));
    }

    /// A page that is about to be freed has changes that the device lacks, from the log position
    /// `from` on. That log is needed until the page is trimmed.
    pub(crate) fn keep_log(&self, page: u32, from: u64) {
        let mut state = self.state();
        let first = state.changed.entry(page).or_insert(from);
        *first = from.min(*first);
    }

    /// A freed page that may be trimmed, as the log is durable up to the record that freed it. The
    /// caller trims it and calls [`Pages::trimmed`]; until then the log is needed.
    pub(crate) fn next_freed(&self, durable: u64) -> Option<(u64, u32)> {
        self.state().freed.front().copied().filter(|&(position, _)| position <= durable)
    }

    /// A freed page was trimmed, and can be used again.
    pub(crate) fn trimmed(&self, freed: (u64, u32)) {
        let mut state = self.state();
        state.changed.remove(&freed.1);
        if let Some(index) = state.freed.iter().position(|&other| other == freed) {
            state.freed.remove(index);
            debug_assert!(!state.free.contains(&freed.1), "page {} is free twice", freed.1);
            state.free.push(freed.1);
        }
    }

    /// The log position from which recovery needs what was logged of the pages that are freed, and
    /// not yet trimmed.
    pub(crate) fn first_freed(&self) -> Option<u64> {
        let state = self.state();
        let freed = state.freed.front().map(|&(position, _)| position);
        freed.into_iter().chain(state.changed.values().copied()).min()
    }

    /// The log is needed from a position on, until it is unpinned.
    pub(crate) fn pin(&self, position: u64) {
        *self.state().pinned.entry(position).or_default() += 1;
    }

    /// Ends one [`Pages::pin`].
    pub(crate) fn unpin(&self, position: u64) {
        let pinned = &mut self.state().pinned;
        if let Some(count) = pinned.get_mut(&position) {
            *count -= 1;
            if *count == 0 {
                pinned.remove(&position);
            }
        }
    }

    /// The first position that is pinned.
    pub(crate) fn first_pinned(&self) -> Option<u64> {
        self.state().pinned.keys().next().copied()
    }

    /// Reserves pages for a commit; an error if fewer are free beside so many that are owed. A few
    /// are kept for those that free others.
    pub(crate) fn reserve(&self, count: u32, owed: u32) -> Result<Reservation<'_>, DbError> {
        self.reserve_beside(count, owed.saturating_add(KEPT.min(self.limit / 64)))
    }

    /// Reserves pages for a commit after which more are free.
    pub(crate) fn reserve_to_free(
        &self,
        count: u32,
        owed: u32,
    ) -> Result<Reservation<'_>, DbError> {
        self.reserve_beside(count, owed)
    }

    fn reserve_beside(&self, count: u32, kept: u32) -> Result<Reservation<'_>, DbError> {
        let mut state = self.state();
        let left = self.limit - state.next + state.unused();
        if left < state.reserved.saturating_add(count).saturating_add(kept) {
            return Err(DbError::Full { pages: self.limit });
        }
        state.reserved += count;
        Ok(Reservation { pages: self, count })
    }
}

impl State {
    /// Pages that are free, or will be once they are trimmed.
    fn unused(&self) -> u32 {
        (self.free.len() + self.freed.len()) as u32 + self.unlisted.free()
    }
}

/// The pages in use, according to the store and the log.
pub(crate) struct Used {
    /// By page number. Zeroes that were never touched take no memory.
    pages: Vec<u8>,
    /// Parts that are [listed](Used::list) once a page of them matters.
    unlisted: Unlisted,
    /// No page from here on was ever in use.
    end: u32,
    /// Pages that were freed with changes that the device lacks: the log position of the first
    /// change of each.
    changed: BTreeMap<u32, u64>,
    /// Pages in use that were freed before, and then taken by a record at this position. The store
    /// may have what they were before that.
    taken: BTreeMap<u32, u64>,
}

/// A page is in use; was in use before; is in the store; has a content. None of these: it was never
/// in use.
const NOW: u8 = 1;
const BEFORE: u8 = 2;
const STORED: u8 = 4;
const FILLED: u8 = 8;

impl Used {
    /// No page of `pages`.
    pub(crate) fn none(pages: u32) -> Self {
        Used {
            pages: vec![0; pages as usize],
            unlisted: Unlisted::default(),
            end: 0,
            changed: BTreeMap::new(),
            taken: BTreeMap::new(),
        }
    }

    /// Those that the store has, as its map counts them.
    pub(crate) fn stored(space: &PageSpace) -> Result<Self, DbError> {
        let mut used = Used::none(space.pages);
        let mut end = 0;
        let pages = space.first..space.first + space.pages;
        space.store.mapped_counts(pages, &mut |lbas, count| {
            let part = lbas.start - space.first..lbas.end - space.first;
            used.unlisted.add(end..part.start, 0);
            end = part.end;
            used.unlisted.add(part, count);
        })?;
        Ok(used)
    }

    /// Finds out which pages of the part with this one are in use.
    pub(crate) fn list(&mut self, space: &PageSpace, page: u32) -> Result<(), DbError> {
        let Some(part) = self.unlisted.part_of(page) else { return Ok(()) };
        self.unlisted.remove(&part);
        space.stored(part)?.into_iter().try_for_each(|page| self.add_stored(page))
    }

    /// The pages before one that are listed.
    fn listed(&self, before: u32) -> impl DoubleEndedIterator<Item = u32> + '_ {
        self.unlisted.gaps(before).flatten()
    }

    /// True if the page is in use.
    pub(crate) fn has(&self, page: u32) -> bool {
        self.is(page, NOW)
    }

    /// True if the store had the page before anything was redone.
    pub(crate) fn is_stored(&self, page: u32) -> bool {
        self.is(page, STORED)
    }

    /// True if the page is in use, and can be read.
    pub(crate) fn is_filled(&self, page: u32) -> bool {
        self.is(page, FILLED)
    }

    /// A page is taken. If the store does not have it, it was freed later, or is still empty.
    pub(crate) fn take(&mut self, page: u32) -> Result<(), DbError> {
        self.set(page, true)?;
        if !self.is_stored(page) {
            self.pages[page as usize] &= !FILLED;
        }
        Ok(())
    }

    /// Takes pages of which nothing is known: those that neither are in use nor were. Returns them.
    pub(crate) fn take_unknown(
        &mut self,
        space: &PageSpace,
        pages: impl Iterator<Item = u32>,
    ) -> Result<Vec<u32>, DbError> {
        let mut unknown = Vec::new();
        for page in pages {
            self.list(space, page)?;
            if !self.is(page, NOW | BEFORE) {
                self.take(page)?;
                unknown.push(page);
            }
        }
        Ok(unknown)
    }

    /// A page was freed before a record at `position` took it. What it was taken for is not in the
    /// log. The store has a content of before if that is lost as the page was freed again: an earlier
    /// recovery may have written it.
    pub(crate) fn take_freed(&mut self, page: u32, position: u64) {
        self.taken.insert(page, position);
    }

    /// The position from which on a content of the page is the one that it was taken for.
    pub(crate) fn taken_at(&self, page: u32) -> u64 {
        self.taken.get(&page).copied().unwrap_or(0)
    }

    fn is(&self, page: u32, state: u8) -> bool {
        debug_assert_eq!(self.unlisted.part_of(page), None, "page {page} is not listed");
        self.pages.get(page as usize).is_some_and(|states| states & state != 0)
    }

    /// The store has a page, which is in use.
    fn add_stored(&mut self, page: u32) -> Result<(), DbError> {
        self.set(page, true)?;
        self.pages[page as usize] |= STORED;
        Ok(())
    }

    /// A page is in use, or is no longer.
    pub(crate) fn set(&mut self, page: u32, used: bool) -> Result<(), DbError> {
        debug_assert_eq!(self.unlisted.part_of(page), None, "page {page} is not listed");
        let what = "is beyond the database";
        let entry = self.pages.get_mut(page as usize).ok_or(DbError::Page { page, what })?;
        self.taken.remove(&page);
        if used {
            *entry = *entry & STORED | NOW | FILLED;
            self.end = self.end.max(page + 1);
        } else if *entry & NOW != 0 {
            *entry = *entry & STORED | BEFORE;
        }
        Ok(())
    }

    /// A page is freed, or gets another content, and has changes that the device lacks, from the
    /// log position `from` on: recovery would redo them on what the device has.
    pub(crate) fn keep_log(&mut self, page: u32, from: u64) {
        let first = self.changed.entry(page).or_insert(from);
        *first = from.min(*first);
    }

    /// The first of these changes, of a page that has a new content: it has to be written.
    pub(crate) fn take_changed(&mut self, page: u32) -> Option<u64> {
        self.changed.remove(&page)
    }

    /// The pages that were in use and are no longer.
    pub(crate) fn left(&self) -> impl Iterator<Item = u32> {
        self.listed(self.end).filter(|&page| self.is(page, BEFORE))
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.pages.state().reserved -= self.count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(pages: &Pages) -> u32 {
        match pages.take() {
            Ok(Take::Page(page)) => page,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pages_are_used_again_once_they_were_trimmed() {
        let pages = Pages::new(4);
        let mut used = Used::none(4);
        used.set(1, true).unwrap();
        assert!(used.set(4, true).is_err());
        pages.begin(used);
        assert_eq!([take(&pages), take(&pages), take(&pages)], [0, 2, 3]);
        assert!(matches!(pages.take(), Err(DbError::Full { pages: 4 })));
        pages.free(20, 2);
        pages.free(10, 1);
        assert_eq!(pages.take().unwrap(), Take::Trim(10));
        assert_eq!((pages.used(), pages.first_freed()), (2, Some(10)));
        assert_eq!(pages.next_freed(9), None);
        assert_eq!(pages.next_freed(15), Some((10, 1)));
        assert_eq!((pages.used(), pages.first_freed()), (2, Some(10)));
        pages.trimmed((10, 1));
        assert_eq!((take(&pages), pages.first_freed()), (1, Some(20)));
    }

    #[test]
    fn free_pages_at_the_end_of_a_listed_part_are_free_if_pages_behind_it_are_in_use() {
        let (pages, mut used) = (Pages::new(30), Used::none(30));
        used.unlisted.add(10..20, 4);
        used.set(3, true).unwrap();
        pages.begin(used);
        assert_eq!(pages.used(), 5);
        assert!((0..9).map(|_| take(&pages)).eq([0, 1, 2, 4, 5, 6, 7, 8, 9]));
        assert_eq!(pages.take().unwrap(), Take::List(10..20));
    }

    #[test]
    fn pages_of_parts_are_counted_and_taken_once_they_are_listed() {
        let pages = Pages::new(40);
        let mut used = Used::none(50);
        for (part, count) in [(0..10, 8), (10..20, 10), (20..30, 1), (30..40, 0)] {
            used.unlisted.add(part, count);
        }
        pages.begin(used);
        assert_eq!(pages.used(), 19);
        assert!(pages.reserve(22, 0).is_err() && pages.reserve(21, 0).is_ok());
        assert_eq!(pages.take().unwrap(), Take::List(0..10));
        // A page of a part without a free one is freed: the part is listed before it is trimmed.
        pages.free(5, 17);
        assert_eq!((pages.used(), pages.unlisted_part(17)), (18, Some(10..20)));
        let all: Vec<_> = (10..20).collect();
        pages.listed(&(10..20), &all);
        pages.trimmed((5, 17));
        pages.listed(&(10..20), &[10]);
        assert_eq!((pages.used(), pages.unlisted_part(17)), (18, None));
        assert_eq!(take(&pages), 17);
        pages.listed(&(0..10), &[0, 1, 2, 4, 5, 6, 7, 9]);
        assert_eq!([take(&pages), take(&pages)], [3, 8]);
        assert_eq!(pages.take().unwrap(), Take::List(20..30));
        pages.listed(&(20..30), &[25]);
        let rest: Vec<_> = (0..19).map(|_| take(&pages)).collect();
        assert!(rest.iter().copied().eq((20..40).filter(|&page| page != 25)), "{rest:?}");
        assert!(matches!(pages.take(), Err(DbError::Full { pages: 40 })));
        assert_eq!(pages.used(), 40);
    }

    #[test]
    fn pages_that_are_left_were_in_use_before() {
        let mut used = Used::none(8);
        for page in [1, 3, 5] {
            used.set(page, true).unwrap();
        }
        for page in [0, 1, 3, 7] {
            used.set(page, false).unwrap();
        }
        used.set(3, true).unwrap();
        assert_eq!(used.left().collect::<Vec<_>>(), [1]);
        assert_eq!((0..8).filter(|&page| used.has(page)).collect::<Vec<_>>(), [3, 5]);
    }

    #[test]
    fn no_more_pages_are_reserved_than_there_are() {
        let pages = Pages::new(10);
        pages.begin(Used::none(10));
        let first = pages.reserve(6, 0).unwrap();
        assert!(pages.reserve(4, 1).is_err());
        drop(first);
        assert!(pages.reserve(8, 2).is_ok());
    }

    #[test]
    fn a_freed_page_needs_the_log_from_its_first_change_that_the_device_lacks() {
        let pages = Pages::new(10);
        pages.begin(Used::none(10));
        let (first, second) = (take(&pages), take(&pages));
        pages.keep_log(first, 5);
        pages.free(20, first);
        pages.free(15, second);
        assert_eq!(pages.first_freed(), Some(5));
        pages.trimmed((15, second));
        assert_eq!(pages.first_freed(), Some(5));
        pages.trimmed((20, first));
        assert_eq!(pages.first_freed(), None);
        pages.keep_log(take(&pages), 30);
        assert_eq!(pages.first_freed(), Some(30));
    }
}
