//! Pages that are written to the store before the commit that names them.
//!
//! They are taken in a commit of its own, which is durable before they are written: so nothing of
//! them is lost sight of, whatever comes between.

use std::sync::atomic::Ordering::Relaxed;

use super::{MOST_RUNS, Owner, Run, head_key, piece_key, piece_number};
use crate::DbError;
use crate::core::Core;
use crate::direction::Direction;
use crate::layout::{IN_PAGES, OVERFLOW_TREE};
use crate::mvcc::WriteKind;
use crate::pages::Pages;
use crate::scan::Scan;
use crate::transaction::{Also, Isolation, Transaction};
use crate::view::View;

/// Pages that are being taken, under a number of their own.
pub(crate) struct Ahead<'d> {
    core: &'d Core,
    number: u64,
    taken: u32,
}

/// The log from a position on is needed as long as this lives.
pub(crate) struct Pinned<'d> {
    pages: &'d Pages,
    position: u64,
}

impl<'d> Pinned<'d> {
    /// Recovery needs the log from now on.
    pub(crate) fn from_now(core: &'d Core) -> Self {
        let position = core.trees.wal().end() + 1;
        core.trees.pages.pin(position);
        Pinned { pages: &core.trees.pages, position }
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        self.pages.unpin(self.position);
    }
}

/// Pages that were taken, and are to be written.
pub(crate) struct Taken<'d> {
    /// In order.
    pub pages: Vec<u32>,
    /// Position of the log record that took them, which is durable.
    pub position: u64,
    /// Until they are written.
    _pinned: Pinned<'d>,
}

impl<'d> Ahead<'d> {
    /// No pages, under a new number.
    pub(crate) fn begin(core: &'d Core) -> Self {
        let number = core.next_overflow.fetch_add(1, Relaxed) | IN_PAGES;
        Ahead { core, number, taken: 0 }
    }

    /// The number.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Pages that were taken.
    pub(crate) fn taken(&self) -> u32 {
        self.taken
    }

    /// Takes so many more pages.
    pub(crate) fn take(&mut self, count: usize) -> Result<Taken<'d>, DbError> {
        let (core, trees) = (self.core, &self.core.trees);
        // Pages of values that were replaced are used again before others are.
        trees.trim_freed()?;
        let reservation = core.reserve_pages(count as u32)?;
        let mut pages = Vec::with_capacity(count);
        let taken = (0..count).try_for_each(|_| trees.take_page().map(|page| pages.push(page)));
        drop(reservation);
        pages.sort_unstable();
        let pinned = Pinned::from_now(core);
        let position = match taken.and_then(|()| self.note(&pages)) {
            Ok(position) => position,
            Err(error) => {
                // Once the record is in the log, a later error makes the database fail.
                if core.check().is_ok() {
                    pages.into_iter().for_each(|page| trees.pages.give_back(page));
                }
                return Err(error);
            }
        };
        for &page in &pages {
            trees.pool.forget(page, |_| ())?;
        }
        self.taken += count as u32;
        trees.wal().wait(position)?;
        Ok(Taken { pages, position, _pinned: pinned })
    }

    /// Deletes what is noted of the pages, in a transaction after which they have another owner.
    pub(crate) fn forget(&self, transaction: &mut Transaction<'d>) -> Result<(), DbError> {
        let now = View::begin(&self.core.trees, None, false);
        let first = piece_key(self.number, 0);
        let mut scan = Scan::new(&now, Ok(Some(OVERFLOW_TREE)), Some(&first), Direction::Forward);
        while let Some((key, _)) = scan.next()?
            && piece_number(key).is_some_and(|(of, _)| of == self.number)
        {
            transaction.set(OVERFLOW_TREE, key, WriteKind::Delete, &[])?;
        }
        transaction.set(OVERFLOW_TREE, &head_key(self.number), WriteKind::Delete, &[])
    }

    /// Notes pages in the tree of pieces; the position of that.
    fn note(&self, pages: &[u32]) -> Result<u64, DbError> {
        let mut note = Transaction::begin(self.core, Isolation::Snapshot)?;
        note.also(Also::Takes);
        if self.taken == 0 {
            let state = [Owner::UnderWay as u8];
            note.set(OVERFLOW_TREE, &head_key(self.number), WriteKind::Put, &state)?;
        }
        let mut place = self.taken;
        for runs in Run::of(pages).chunks(MOST_RUNS) {
            let key = piece_key(self.number, place as usize);
            note.set(OVERFLOW_TREE, &key, WriteKind::Put, &Run::encode(runs))?;
            place += runs.iter().map(|run| run.count).sum::<u32>();
        }
        Ok(note.commit_soon()?.0)
    }
}
