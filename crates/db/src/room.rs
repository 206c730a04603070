//! Room in the store for the pages that commits change.
//!
//! A store may be [thin](frostline_store::Format::thin): it has more pages than fit whole. A commit
//! has no way back once it is in the log, and its pages reach the store later. So before that the
//! store promises room for all pages that changed and are not written, and for those that the
//! commit may change, whole. What is left of a promise serves the next commits. Where room is
//! short, the oldest changed pages are written: they take what they need then, and no longer that
//! of a whole page each. If it is still short, all are; and then the commit is refused.
//!
//! Deletes may use a part of the room that others may not. They make pages shorter, so it is hardly
//! ever needed.

use crate::DbError;
use crate::core::Core;
use crate::promised::Promised;

/// Pages for which a promise is asked beyond what is needed, at least; and the share of memory's
/// pages, all of which are looked at to find those that changed.
const AHEAD: (u64, u64) = (64, 4);

/// Pages that a commit may change until this is dropped.
pub(crate) struct PageRoom<'c> {
    core: &'c Core,
    pages: u64,
}

impl Core {
    /// Makes sure that this many pages can be changed, and written in time. `shrinks`: they hardly
    /// become longer.
    ///
    /// # Errors
    /// The store has no room for them.
    pub(crate) fn page_room(&self, pages: u64, shrinks: bool) -> Result<PageRoom<'_>, DbError> {
        type Write = fn(&Core) -> Result<(), DbError>;
        let writes: [Option<Write>; 3] =
            [Some(Core::checkpoint_eighth), Some(Core::checkpoint_all), None];
        for write in writes {
            let mut state = self.promised.lock();
            if state.left < pages {
                self.ask(&mut state, pages, shrinks)?;
            }
            if state.left >= pages {
                state.left -= pages;
                state.under_way += pages;
                return Ok(PageRoom { core: self, pages });
            }
            drop(state);
            // Leaves that are empty may wait for their visit. Commits that are under way do not
            // wait for this one.
            let Some(write) = write else { break };
            write(self)?;
            self.trees.trim_freed()?;
        }
        Err(DbError::Full { pages: self.trees.pages.used() })
    }

    /// Asks the store for a promise of more pages.
    fn ask(&self, state: &mut Promised, pages: u64, shrinks: bool) -> Result<(), DbError> {
        let space = self.trees.space();
        let changed = self.trees.pool.changed_pages() + state.under_way;
        let ahead = AHEAD.0.max(self.trees.pool.most_pages() / AHEAD.1);
        let (needs, wishes) = (changed + pages, changed + pages + ahead);
        let promised = space.store.promise(space.instance(), needs, wishes, shrinks)?;
        if let Some(promised) = promised {
            state.left = promised - changed;
        }
        Ok(())
    }
}

impl Drop for PageRoom<'_> {
    fn drop(&mut self) {
        // What it changed is counted among the changed pages by now.
        self.core.promised.lock().under_way -= self.pages;
    }
}
