//! What is left of a promise of room, and what is known of room that there is not.

use frostline_store::RoomFor;

/// Changed pages and refusals after which a checkpoint is tried again. The pages may compress
/// better than before.
const AGAIN: u64 = 64;

/// The room that the store has promised to a database.
#[derive(Default)]
pub(crate) struct Promised {
    /// Pages that commits may still change before the store is asked again.
    pub left: u64,
    /// Pages that commits under way may change.
    pub under_way: u64,
    /// The last checkpoint that made too little room.
    pub in_vain: Option<InVain>,
}

/// What tells that there may be more room after the next checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Freed {
    /// How often the records of a leaf became fewer or shorter.
    pub shorter: u64,
    /// Pages in use.
    pub used: u32,
}

/// A checkpoint that made too little room.
pub(crate) struct InVain {
    /// Pages for which there was no room.
    pages: u64,
    room: RoomFor,
    freed: Freed,
    /// Commits that were refused since.
    refused: u64,
}

impl InVain {
    pub(crate) fn new(pages: u64, room: RoomFor, freed: Freed) -> Self {
        InVain { pages, room, freed, refused: 0 }
    }
}

impl Promised {
    /// True if a checkpoint would make too little room again. So many pages changed since the last
    /// one.
    pub(crate) fn is_in_vain(
        &mut self,
        pages: u64,
        room: RoomFor,
        freed: Freed,
        changed: u64,
    ) -> bool {
        let Some(last) = &mut self.in_vain else { return false };
        let is_like = pages >= last.pages && room == last.room;
        if !is_like || freed.shorter != last.freed.shorter || freed.used < last.freed.used {
            return false;
        }
        last.refused += 1;
        // What makes no record longer is refused only where no page changed.
        changed == 0 || room == RoomFor::Any && changed + last.refused < AGAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREED: Freed = Freed { shorter: 5, used: 100 };

    fn promised() -> Promised {
        let in_vain = Some(InVain::new(20, RoomFor::Any, FREED));
        Promised { in_vain, ..Promised::default() }
    }

    #[test]
    fn a_checkpoint_that_made_too_little_room_is_not_repeated() {
        assert!(promised().is_in_vain(20, RoomFor::Any, FREED, 3));
        assert!(!promised().is_in_vain(19, RoomFor::Any, FREED, 3), "less may fit");
        assert!(!Promised::default().is_in_vain(20, RoomFor::Any, FREED, 0), "it was not tried");
    }

    #[test]
    fn a_checkpoint_is_tried_again_when_something_was_freed() {
        assert!(!promised().is_in_vain(20, RoomFor::Any, Freed { shorter: 6, ..FREED }, 1));
        assert!(!promised().is_in_vain(20, RoomFor::Any, Freed { used: 99, ..FREED }, 0));
    }

    #[test]
    fn a_checkpoint_is_tried_again_after_some_changes_and_refusals() {
        let mut promised = promised();
        let refused = (0..1000).take_while(|_| promised.is_in_vain(20, RoomFor::Any, FREED, 4));
        assert_eq!(refused.count() as u64, AGAIN - 5);
    }

    #[test]
    fn what_makes_no_record_longer_is_refused_only_where_no_page_changed() {
        let in_vain = Some(InVain::new(20, RoomFor::NoLonger, FREED));
        let mut promised = Promised { in_vain, ..Promised::default() };
        assert!(promised.is_in_vain(20, RoomFor::NoLonger, FREED, 0));
        assert!(!promised.is_in_vain(20, RoomFor::NoLonger, FREED, 1));
    }
}
