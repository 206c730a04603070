//! What is left of a promise of room.

/// The room that the store has promised to a database.
#[derive(Default)]
pub(crate) struct Promised {
    /// Pages that commits may still change before the store is asked again.
    pub left: u64,
    /// Pages that commits under way may change.
    pub under_way: u64,
}
