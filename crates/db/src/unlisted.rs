//! Parts of a database of which it is known how many pages are in use, and not yet which.
//!
//! The table of the store's last checkpoint counts the pages of each leaf of its map. So an opening
//! reads none of these leaves, however large the database is. A part is listed before a page of it
//! is taken or trimmed: until then its pages in use are those that the store has.

use std::ops::Range;

/// A part: the pages of a leaf of the store's map, or pages between such leaves.
struct Part {
    /// Empty once the part is listed.
    pages: Range<u32>,
    /// Pages of it that are in use.
    used: u32,
}

impl Part {
    fn free(&self) -> u32 {
        self.pages.len() as u32 - self.used
    }
}

/// Parts that are not listed yet, in order.
#[derive(Default)]
pub(crate) struct Unlisted {
    parts: Vec<Part>,
    /// Free pages of all of them.
    free: u32,
    /// Parts before this one have no free pages.
    next: usize,
}

impl Unlisted {
    /// Adds a part behind the others, of which so many pages are in use; none if it has no pages.
    pub(crate) fn add(&mut self, pages: Range<u32>, used: u32) {
        if !pages.is_empty() {
            let part = Part { pages, used };
            self.free += part.free();
            self.parts.push(part);
        }
    }

    /// The part that has a page, unless it is listed.
    pub(crate) fn part_of(&self, page: u32) -> Option<Range<u32>> {
        let behind = self.parts.partition_point(|part| part.pages.start <= page);
        let part = &self.parts[behind.checked_sub(1)?];
        part.pages.contains(&page).then(|| part.pages.clone())
    }

    /// A part is listed. False if it was before.
    pub(crate) fn remove(&mut self, pages: &Range<u32>) -> bool {
        let found = self.parts.binary_search_by_key(&pages.start, |part| part.pages.start);
        let Some(part) = found.ok().map(|at| &mut self.parts[at]) else { return false };
        let was_there = !part.pages.is_empty();
        self.free -= part.free();
        (part.pages.end, part.used) = (part.pages.start, 0);
        was_there
    }

    /// Ranges of pages before one that are in no part, in order; some are empty.
    pub(crate) fn gaps(&self, before: u32) -> impl DoubleEndedIterator<Item = Range<u32>> + '_ {
        (0..=self.parts.len()).map(move |at| {
            let begin = at.checked_sub(1).map_or(0, |last| self.parts[last].pages.end);
            begin..self.parts.get(at).map_or(before, |part| part.pages.start.min(before))
        })
    }

    /// Free pages of all parts.
    pub(crate) fn free(&self) -> u32 {
        self.free
    }

    /// The first part with free pages.
    pub(crate) fn with_free(&mut self) -> Option<Range<u32>> {
        let behind = self.parts.get(self.next..).unwrap_or_default();
        self.next += behind.iter().take_while(|part| part.free() == 0).count();
        self.parts.get(self.next).map(|part| part.pages.clone())
    }

    /// The end of the last part with pages in use.
    pub(crate) fn end(&self) -> u32 {
        let used = self.parts.iter().rfind(|part| part.used > 0);
        used.map_or(0, |part| part.pages.end)
    }

    /// Leaves out parts that begin at a page or behind, none of which is in use.
    pub(crate) fn truncate(&mut self, end: u32) {
        while let Some(part) = self.parts.pop_if(|part| part.pages.start >= end) {
            assert_eq!(part.used, 0, "pages of a part behind all others are in use");
            self.free -= part.free();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_page_until_they_are_listed() {
        let mut unlisted = Unlisted::default();
        for (pages, used) in [(0..10, 10), (10..40, 0), (40..50, 3), (50..60, 10), (60..90, 0)] {
            unlisted.add(pages, used);
        }
        assert_eq!((unlisted.free(), unlisted.end()), (67, 60));
        unlisted.truncate(60);
        assert_eq!((unlisted.free(), unlisted.end()), (37, 60));
        assert_eq!(unlisted.with_free(), Some(10..40));
        assert_eq!(unlisted.part_of(45), Some(40..50));
        assert!(unlisted.remove(&(40..50)) && !unlisted.remove(&(40..50)));
        assert_eq!((unlisted.part_of(45), unlisted.part_of(59)), (None, Some(50..60)));
        assert_eq!((unlisted.part_of(60), unlisted.free()), (None, 30));
        assert!(unlisted.remove(&(10..40)));
        assert_eq!((unlisted.with_free(), unlisted.free(), unlisted.end()), (None, 0, 60));
        assert!(unlisted.gaps(70).flatten().eq((10..50).chain(60..70)));
        assert!(unlisted.gaps(45).rev().flat_map(Range::rev).eq((10..45).rev()));
    }
}
