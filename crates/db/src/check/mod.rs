//! A check of a database's structure: trees, long values, and the store's pages.

mod overflow;
mod tree;

use std::fmt;

use frostline_store::StoreError;
use frostline_zone::DeviceError;

use crate::core::Core;
use crate::layout::{CATALOG, LABEL_PAGE, OVERFLOW_TREE};
use crate::overflow::DeletedTree;
use crate::pages::Used;
use crate::pool::CLEAN;
use crate::{Db, DbError};
use overflow::LongValues;
use tree::Walk;

/// The result of [`Db::check`]: the trees, and the damage that was found.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Check {
    /// All damage; empty if the database is sound.
    pub findings: Vec<Finding>,
    /// All trees: the catalog, the tables by name, the pieces of long values.
    pub trees: Vec<TreeCheck>,
    /// Values that are too long for a page.
    pub long_values: u64,
    /// Pages that are these values' own: those that did not go through the log have some.
    pub value_pages: u64,
    /// Pages that the database has in the store.
    pub pages: u32,
}

/// Counters of a tree.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TreeCheck {
    /// The table's name; none for the two trees that belong to no table.
    pub table: Option<String>,
    /// Page number of the root.
    pub root: u32,
    /// Levels, the leaves' included.
    pub levels: u32,
    /// Nodes without children.
    pub leaves: u64,
    /// Nodes with children.
    pub inner: u64,
    /// Records that are not deleted.
    pub records: u64,
    /// Records that were deleted, and whose keys are still in the leaves.
    pub ghosts: u64,
    /// Bytes of the records' keys and values, as far as they are in the leaves.
    pub bytes: u64,
    /// Share of the leaves' room that is taken.
    pub fill: f64,
}

/// Damage of a database, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Finding {
    /// The page, if it concerns one.
    pub page: Option<u32>,
    /// The damage.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(page) = self.page {
            write!(f, "page {page}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl Finding {
    fn at(page: u32, what: impl Into<String>) -> Self {
        Finding { page: Some(page), what: what.into() }
    }

    /// The damage that an error in reading a page stands for. An error that ends the check is
    /// returned as such.
    fn of(page: u32, error: DbError) -> Result<Self, DbError> {
        match &error {
            DbError::Page { page, what } | DbError::Misplaced { page, what, .. } => {
                Ok(Finding::at(*page, *what))
            }
            DbError::Store(store) => match &**store {
                StoreError::Device(device) if matches!(**device, DeviceError::Crashed) => {
                    Err(error)
                }
                StoreError::Panicked => Err(error),
                told => Ok(Finding::at(page, told.to_string())),
            },
            _ => Err(error),
        }
    }
}

impl Db {
    /// Checks the structure: that every node is where its parent says and holds keys in order
    /// between its fences, that long values have all their pieces, and that the store has the
    /// pages of the trees and no others. Writes everything that changed first. No transaction may
    /// commit meanwhile, or the findings mean nothing.
    ///
    /// # Errors
    /// A database or a device that no longer works at all. Damage is no error, but a [`Finding`].
    pub fn check(&self) -> Result<Check, DbError> {
        let core = self.core();
        core.make_all_visits()?;
        // No page changes its place meanwhile.
        let _no_visits = core.trees.visits.pause();
        // Nor is a leaf split, for changes that waited for it.
        core.load_lacking(CLEAN)?;
        core.write_all()?;
        let mut check = Check::default();
        let mut reached = Used::none(core.trees.pages.limit());
        reached.set(LABEL_PAGE, true)?;
        // A table whose pages are being freed is no whole tree any more.
        let deleted = core.unowned.trees();
        let mut is_complete = deleted.iter().all(|tree| tree.from.is_empty());
        let mut long_values = LongValues::new(!is_complete);
        for (table, root) in roots(core, &deleted) {
            let mut walk = Walk::new(&core.trees, root, &mut reached);
            walk.tree(&mut |page, record| match root {
                CATALOG => None,
                OVERFLOW_TREE => long_values.take_piece(page, &record),
                _ => long_values.note(page, &record),
            })?;
            is_complete &= walk.is_complete();
            check.findings.append(&mut walk.findings);
            if !deleted.iter().any(|tree| tree.root == root) {
                check.trees.push(walk.counted(table));
            }
        }
        check.long_values = long_values.count();
        check.value_pages = long_values.pages();
        check.findings.extend(long_values.reach(&mut reached)?);
        let mut under_way = Used::none(core.trees.pages.limit());
        long_values.mark_under_way(&mut under_way);
        if is_complete {
            check.findings.extend(long_values.left_over());
            check.findings.extend(long_values.read(&core.trees)?);
        }
        check.compare_pages(core, &reached, &under_way, is_complete)?;
        Ok(check)
    }
}

/// The trees in the order in which they are checked: a long value is found before its pieces.
/// Tables that were deleted are whole while snapshots see them.
fn roots(core: &Core, deleted: &[DeletedTree]) -> Vec<(Option<String>, u32)> {
    let tables = core.catalog.list().into_iter().map(|(name, table)| (Some(name), table.root));
    let deleted = deleted.iter().filter(|tree| tree.from.is_empty()).map(|tree| (None, tree.root));
    std::iter::once((None, CATALOG))
        .chain(tables)
        .chain(deleted)
        .chain([(None, OVERFLOW_TREE)])
        .collect()
}

impl Check {
    /// Compares the pages of the trees with those that the store has. Of values under way it may lack
    /// some. What was not reached counts only if everything could be read.
    fn compare_pages(
        &mut self,
        core: &Core,
        reached: &Used,
        under_way: &Used,
        is_complete: bool,
    ) -> Result<(), DbError> {
        let (space, limit) = (core.trees.space(), core.trees.pages.limit());
        let mut stored = Used::none(limit);
        space.store.mapped(space.first..space.first + limit, &mut |lba| {
            // The store calls with LBAs of the range only.
            let _ = stored.set(lba - space.first, true);
        })?;
        let mut unwritten = 0;
        for page in 0..limit {
            self.pages += u32::from(stored.has(page));
            match (reached.has(page), stored.has(page)) {
                (true, false) if under_way.has(page) => unwritten += 1,
                (true, false) => {
                    self.findings.push(Finding::at(page, "it is in a tree, but not in the store"));
                }
                (false, true) if is_complete => {
                    self.findings.push(Finding::at(page, "it is in the store, but in no tree"));
                }
                _ => {}
            }
        }
        let used = core.trees.pages.used();
        if used != self.pages + unwritten && is_complete {
            let what = format!("{used} pages count as used, the store has {}", self.pages);
            self.findings.push(Finding { page: None, what });
        }
        Ok(())
    }
}
