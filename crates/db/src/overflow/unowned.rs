//! Pages that no value has any more: of values that were replaced or deleted, or never committed.

use std::collections::VecDeque;

use parking_lot::Mutex;

use super::{HEAD, IN_PAGES, Owner, Pinned, Run, head_key, piece_key, piece_number};
use crate::DbError;
use crate::core::Core;
use crate::direction::Direction;
use crate::layout::OVERFLOW_TREE;
use crate::mvcc::WriteKind;
use crate::scan::Scan;
use crate::transaction::{Also, Isolation, Transaction};
use crate::view::View;

/// Records of pages that are deleted together.
const TOGETHER: usize = 16;

/// The numbers of values whose pages are to be freed.
#[derive(Default)]
pub struct Unowned {
    /// With the position of the commit from which on they have no owner: snapshots before that see them.
    waiting: Mutex<VecDeque<(u64, u64)>>,
    freeing: Mutex<()>,
}

impl Unowned {
    /// The pages of a value have no owner from the commit at a position on.
    pub fn add(&self, since: u64, number: u64) {
        self.waiting.lock().push_back((since, number));
    }

    /// The next one that no snapshot sees, if all see the log up to `oldest`.
    fn next(&self, oldest: u64) -> Option<(u64, u64)> {
        let mut waiting = self.waiting.lock();
        let index = waiting.iter().position(|&(since, _)| since <= oldest)?;
        waiting.remove(index)
    }
}

/// Notes all values whose pages have no owner, or never got one, as it is after a crash.
pub fn note_unowned(core: &Core, view: &View<'_>) -> Result<(), DbError> {
    let first = piece_key(HEAD, 0);
    let mut heads = Scan::new(view, Ok(OVERFLOW_TREE), Some(&first), Direction::Forward);
    while let Some((key, state)) = heads.next()? {
        let wrong = || DbError::Page { page: OVERFLOW_TREE, what: "has a head of no value" };
        let (number, _) = piece_number(key).ok_or_else(wrong)?;
        if Owner::parse(state).ok_or_else(wrong)? != Owner::Record {
            core.unowned.add(0, number & !HEAD | IN_PAGES);
        }
    }
    Ok(())
}

impl Core {
    /// Frees the pages that have no owner, and that no snapshot sees.
    pub fn free_unowned(&self) {
        // One at a time: the log may ask for it while it is made room in for this.
        let Some(_one) = self.unowned.freeing.try_lock() else { return };
        while self.check().is_ok()
            && let Some((since, number)) = self.unowned.next(self.trees.oldest_seen())
        {
            if let Err(error) = self.free_value(number) {
                tracing::debug!(number, %error, "pages of a value are not freed yet");
                self.unowned.add(since, number);
                return;
            }
        }
    }

    fn free_value(&self, number: u64) -> Result<(), DbError> {
        loop {
            let mut transaction = Transaction::begin(self, Isolation::Snapshot)?;
            let (mut keys, mut freed) = (Vec::new(), Vec::new());
            let now = View::begin(&self.trees, None, false);
            let first = piece_key(number, 0);
            let mut scan = Scan::new(&now, Ok(OVERFLOW_TREE), Some(&first), Direction::Forward);
            while keys.len() < TOGETHER
                && let Some((key, runs)) = scan.next()?
                && piece_number(key).is_some_and(|(of, _)| of == number)
            {
                let what = "names pages that are none";
                let wrong = DbError::Page { page: OVERFLOW_TREE, what };
                freed.extend(Run::parse(runs).ok_or(wrong)?);
                keys.push(key.to_vec());
            }
            drop(scan);
            drop(now);
            for key in &keys {
                transaction.set(OVERFLOW_TREE, key, WriteKind::Delete, &[])?;
            }
            let is_last = keys.len() < TOGETHER;
            if is_last {
                transaction.set(OVERFLOW_TREE, &head_key(number), WriteKind::Delete, &[])?;
            }
            transaction.also(Also::Gives(freed.clone()));
            // Until they are noted as freed, which needs the log as well.
            let _pinned = Pinned::from_now(self);
            let position = transaction.commit_soon()?.0;
            for page in freed.into_iter().flat_map(Run::pages) {
                self.trees.pool.forget(page)?;
                self.trees.pages.free(position, page);
            }
            if is_last {
                return Ok(());
            }
        }
    }
}
