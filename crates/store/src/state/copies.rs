//! Counts of copies, and of those that were of frozen pages.
//!
//! A page is frozen if its user never writes it again, which is not known before the end. So copies
//! are counted by page, and those of a page that is written or trimmed after all no longer count.

/// Pages copied by cleaning since [`Store::count_copies`](crate::Store::count_copies).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// All of them.
    pub pages: u64,
    /// Of these, copies of pages that their user has neither written nor trimmed since: of frozen
    /// pages, should nothing more be written.
    pub frozen: u64,
}

impl Copied {
    /// Share of relocations that copied a frozen page (FAR); 0 if there are none.
    pub fn far(&self) -> f64 {
        if self.pages == 0 { 0.0 } else { self.frozen as f64 / self.pages as f64 }
    }
}

/// Copies, page by page.
pub(crate) struct Copies {
    /// Of each page since it was last written, by LBA.
    of: Vec<u32>,
    /// In all.
    pub sum: Copied,
}

impl Copies {
    /// Counts nothing yet; the store has `pages` pages.
    pub(crate) fn new(pages: u64) -> Self {
        Copies { of: vec![0; pages as usize], sum: Copied::default() }
    }

    /// A page was copied.
    pub(crate) fn add(&mut self, lba: u32) {
        self.of[lba as usize] += 1;
        self.sum.pages += 1;
        self.sum.frozen += 1;
    }

    /// Its user wrote or trimmed a page: it was not frozen.
    pub(crate) fn forget(&mut self, lba: u32) {
        let copies = u64::from(std::mem::take(&mut self.of[lba as usize]));
        assert!(copies <= self.sum.frozen, "page {lba} was copied more often than all");
        self.sum.frozen -= copies;
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    #[test]
    fn copies_of_pages_that_are_never_written_again_are_those_of_frozen_pages() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut copies = Copies::new(50);
        let events: Vec<(u32, bool)> =
            (0..1000).map(|_| (rng.random_range(0..50), rng.random_bool(0.8))).collect();
        for (done, &(lba, is_copy)) in (1..).zip(&events) {
            match is_copy {
                true => copies.add(lba),
                false => copies.forget(lba),
            }
            let (past, of_copies) = (&events[..done], |&(_, &(_, is_copy)): &(usize, &_)| is_copy);
            let written_after = |i: usize, lba| past[i..].contains(&(lba, false));
            let pages = past.iter().enumerate().filter(of_copies).count() as u64;
            let frozen = past.iter().enumerate().filter(of_copies);
            let frozen = frozen.filter(|&(i, &(lba, _))| !written_after(i, lba)).count() as u64;
            assert_eq!(copies.sum, Copied { pages, frozen });
        }
    }
}
