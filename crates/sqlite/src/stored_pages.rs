//! Pages as the store has them: those that were read or written last stay in memory, since a page
//! that is written is compared with them. SQLite does not tell which bytes of a page it changed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use frostline_store::{ChangedWords, RecordKind};

use crate::content::PageBytes;

/// Bytes of a word.
const WORD: usize = 8;

/// A page as the store has it.
#[derive(Clone)]
pub(crate) struct StoredPage {
    /// Its content.
    pub bytes: Arc<PageBytes>,
    /// The words that may differ from its base.
    pub changed: ChangedWords,
}

/// The difference of a page from the one that the store has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// Nothing changed.
    None,
    /// These words may differ from its base.
    Words(ChangedWords),
    /// More than a delta holds.
    Much,
}

impl StoredPage {
    /// The difference of a new content of the page.
    pub(crate) fn difference(&self, page: &PageBytes) -> Difference {
        if *self.bytes == *page {
            return Difference::None;
        }
        let mut changed = self.changed;
        let words = self.bytes.as_chunks::<WORD>().0.iter().zip(page.as_chunks::<WORD>().0);
        for (index, _) in words.enumerate().filter(|(_, (before, after))| before != after) {
            changed.add(index..index + 1);
        }
        match changed.kind() {
            RecordKind::Image => Difference::Much,
            _ => Difference::Words(changed),
        }
    }
}

/// The pages that were read or written last, of all files.
pub(crate) struct StoredPages {
    most: usize,
    by_lba: HashMap<u32, (u64, StoredPage)>,
    /// LBAs by their last use.
    by_use: BTreeMap<u64, u32>,
    uses: u64,
    /// Groups that were written, and trims. What was read before may be of before.
    written: u64,
}

impl StoredPages {
    /// No pages; at most so many later.
    pub(crate) fn new(most: usize) -> Self {
        let (by_lba, by_use) = (HashMap::new(), BTreeMap::new());
        StoredPages { most, by_lba, by_use, uses: 0, written: 0 }
    }

    /// A page, if it is in memory.
    pub(crate) fn get(&mut self, lba: u32) -> Option<StoredPage> {
        let (last, page) = self.by_lba.get_mut(&lba)?;
        let used = self.by_use.remove(last);
        assert_eq!(used, Some(lba), "each page has one last use");
        self.uses += 1;
        *last = self.uses;
        self.by_use.insert(self.uses, lba);
        Some(page.clone())
    }

    /// A number that [`StoredPages::add_read`] takes: that of now, before a page is read.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Adds a page that was read, unless something was written since.
    pub(crate) fn add_read(&mut self, lba: u32, page: StoredPage, written: u64) {
        if written == self.written {
            self.add(lba, page);
        }
    }

    /// Adds pages that were written.
    pub(crate) fn add_written(&mut self, pages: impl Iterator<Item = (u32, StoredPage)>) {
        self.written += 1;
        pages.for_each(|(lba, page)| self.add(lba, page));
    }

    /// Pages are not in the store any more.
    pub(crate) fn remove(&mut self, lbas: &[u32]) {
        self.written += 1;
        for lba in lbas {
            if let Some((used, _)) = self.by_lba.remove(lba) {
                self.by_use.remove(&used);
            }
        }
    }

    /// Forgets all pages, as a write failed and the store may have their old or new versions.
    pub(crate) fn clear(&mut self) {
        self.written += 1;
        self.by_lba.clear();
        self.by_use.clear();
    }

    fn add(&mut self, lba: u32, page: StoredPage) {
        self.uses += 1;
        self.by_use.insert(self.uses, lba);
        if let Some((used, _)) = self.by_lba.insert(lba, (self.uses, page)) {
            self.by_use.remove(&used);
        }
        if self.by_lba.len() > self.most
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.by_lba.remove(&oldest);
        }
        assert!(self.by_lba.len() <= self.most, "so many pages at most");
        assert_eq!(self.by_lba.len(), self.by_use.len(), "each page has one last use");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::PAGE;

    fn page(fill: u8) -> StoredPage {
        StoredPage { bytes: Arc::new([fill; PAGE]), changed: ChangedWords::NONE }
    }

    #[test]
    fn the_pages_that_were_used_last_stay() {
        let mut pages = StoredPages::new(3);
        for lba in 0..3 {
            pages.add_read(lba, page(lba as u8), pages.written());
        }
        assert!(pages.get(0).is_some());
        pages.add_written([(3, page(3))].into_iter());
        assert!(pages.get(1).is_none());
        for lba in [0, 2, 3] {
            assert_eq!(pages.get(lba).unwrap().bytes[0], lba as u8);
        }
        pages.remove(&[2, 7]);
        assert!(pages.get(2).is_none() && pages.get(3).is_some());
        pages.clear();
        assert!(pages.get(3).is_none() && pages.by_use.is_empty());
    }

    #[test]
    fn a_page_that_was_read_before_a_write_does_not_replace_what_was_written() {
        let mut pages = StoredPages::new(3);
        let before = pages.written();
        pages.add_written([(1, page(2))].into_iter());
        pages.add_read(1, page(1), before);
        assert_eq!(pages.get(1).unwrap().bytes[0], 2);
        let before = pages.written();
        pages.remove(&[1]);
        pages.add_read(1, page(2), before);
        assert!(pages.get(1).is_none());
    }

    #[test]
    fn words_that_differ_are_found_and_those_before_stay() {
        let mut stored = page(1);
        stored.changed.add(3..5);
        let mut new = [1; PAGE];
        assert_eq!(stored.difference(&new), Difference::None);
        new[80] = 2;
        new[PAGE - 1] = 2;
        let mut changed = stored.changed;
        changed.add(10..11);
        changed.add(511..512);
        assert_eq!(stored.difference(&new), Difference::Words(changed));
        assert_eq!(stored.difference(&[2; PAGE]), Difference::Much);
    }
}
