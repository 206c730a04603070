//! The three tables.

use crate::Engine;

/// The tables of an engine, once they are open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<T> {
    pub(super) nodes: T,
    pub(super) links: T,
    pub(super) counts: T,
}

impl<T> Tables<T> {
    /// The name of the table of nodes.
    pub(super) const NODES: &'static str = "linkbench.node";
    /// Of links.
    pub(super) const LINKS: &'static str = "linkbench.link";
    /// Of the number of links of each list.
    pub(super) const COUNTS: &'static str = "linkbench.count";

    /// Opens them.
    pub(super) fn open<E: Engine<Table = T>>(engine: &E) -> Result<Tables<T>, E::Error> {
        Ok(Tables {
            nodes: engine.table(Self::NODES)?,
            links: engine.table(Self::LINKS)?,
            counts: engine.table(Self::COUNTS)?,
        })
    }
}
