//! Room in the store for the pages that commits change.
//!
//! A store may be [thin](frostline_store::Format::thin): it has more pages than fit whole. A commit
//! has no way back once it is in the log, and its pages reach the store later. So before that the
//! store promises room for all pages that changed and are not written, and for those that the
//! commit may change, whole. What is left of a promise serves the next commits. Where room is
//! short, the oldest changed pages are written: they take what they need then, and no longer that
//! of a whole page each. If it is still short, all are; and then the commit is refused.
//!
//! A checkpoint that made too little room is remembered. Commits that need as much are refused
//! without another one, until records became shorter, pages were freed, or many pages changed.
//!
//! There is room that commits may use only if they make no record longer. So a full database takes
//! them without a checkpoint for each. Deletes may use more of it than others.

use frostline_store::RoomFor;

use crate::DbError;
use crate::core::Core;
use crate::promised::{Freed, InVain, Promised};

/// Pages for which a promise is asked beyond what is needed, at least; and the share of memory's
/// pages, all of which are looked at to find those that changed.
const AHEAD: (u64, u64) = (64, 4);

/// Pages that a commit may change until this is dropped.
pub(crate) struct PageRoom<'c> {
    core: &'c Core,
    pages: u64,
}

/// With fewer changed pages, all are written at once.
const FEW: u64 = 64;

impl Core {
    /// Makes sure that this many pages can be changed, and written in time.
    ///
    /// # Errors
    /// The store has no room for them.
    pub(crate) fn page_room(&self, pages: u64, room: RoomFor) -> Result<PageRoom<'_>, DbError> {
        type Write = fn(&Core) -> Result<(), DbError>;
        if let Some(room) = self.room_at_hand(pages, room)? {
            return Ok(room);
        }
        let full = || Err(DbError::Full { pages: self.trees.pages.used() });
        // Ghosts and leaves that are empty may wait, and pages to be freed.
        self.purge_all();
        let changed = self.trees.pool.changed_pages();
        if self.promised.lock().is_in_vain(pages, room, self.freed(), changed) {
            return full();
        }
        let writes: [Write; 2] = [Core::checkpoint_eighth, Core::checkpoint_all];
        for write in &writes[usize::from(changed < FEW)..] {
            write(self)?;
            // Commits that are under way do not wait for this one.
            self.trees.trim_freed()?;
            if let Some(room) = self.room_at_hand(pages, room)? {
                return Ok(room);
            }
        }
        self.promised.lock().in_vain = Some(InVain::new(pages, room, self.freed()));
        full()
    }

    /// Room for pages without a checkpoint, if the store has it.
    pub(crate) fn room_at_hand(
        &self,
        pages: u64,
        room: RoomFor,
    ) -> Result<Option<PageRoom<'_>>, DbError> {
        let mut state = self.promised.lock();
        if state.left < pages {
            self.ask(&mut state, pages, room)?;
        }
        if state.left < pages {
            return Ok(None);
        }
        state.left -= pages;
        state.under_way += pages;
        Ok(Some(PageRoom { core: self, pages }))
    }

    /// Asks the store for a promise of more pages.
    fn ask(&self, state: &mut Promised, pages: u64, room: RoomFor) -> Result<(), DbError> {
        let changed = self.trees.pool.changed_pages() + self.room_owed() + state.under_way;
        let ahead = AHEAD.0.max(self.trees.pool.most_pages() / AHEAD.1);
        let promise = |ahead, room| {
            let (space, needs) = (self.trees.space(), changed + pages);
            space.store.promise(space.instance(), needs, needs + ahead, room)
        };
        let mut promised = promise(ahead, RoomFor::Any)?;
        if promised.is_none() && room != RoomFor::Any {
            // Nothing ahead: what is kept for some commits is not left to others.
            promised = promise(0, room)?;
        }
        if let Some(promised) = promised {
            state.left = promised - changed;
        }
        Ok(())
    }

    fn freed(&self) -> Freed {
        Freed { shorter: self.trees.visits.shorter(), used: self.trees.pages.used() }
    }
}

impl Drop for PageRoom<'_> {
    fn drop(&mut self) {
        // What it changed is counted among the changed pages by now.
        self.core.promised.lock().under_way -= self.pages;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use frostline_store::Cleaning;
    use frostline_zone::{Device, Shape, in_memory};

    use super::*;
    use crate::{Create, Db, Options};

    #[test]
    fn a_table_is_deleted_where_there_is_no_room_for_any_other_commit() {
        let shape = Shape { bytes: 24 << 20, zone_bytes: Some(1 << 17), ..Shape::default() };
        let device: Arc<dyn Device> = in_memory(&shape).unwrap();
        Db::create(&device, &Create { log_bytes: Some(4 << 20), ..Create::default() }).unwrap();
        let quiet = Options { background: false, cleaning: Cleaning::Inline, ..Options::default() };
        let db = Db::open(&device, &quiet).unwrap();
        let table = db.create_table("t").unwrap();
        let put = |n: u32| {
            let mut transaction = db.begin().unwrap();
            transaction.put(table, &n.to_be_bytes(), &[7; 500]).unwrap();
            transaction.commit()
        };
        (0..1000).for_each(|n| put(n).unwrap());
        let room = |pages| db.core().page_room(pages, RoomFor::Any);
        let taken: Vec<_> =
            [100, 1].into_iter().flat_map(|n| std::iter::from_fn(move || room(n).ok())).collect();
        assert!(matches!(put(1000), Err(DbError::Full { .. })));
        db.delete_table("t").unwrap();
        drop(taken);
    }
}
