//! The three tables.

use crate::Engine;

/// The open tables of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<T> {
    pub(super) nodes: T,
    pub(super) links: T,
    pub(super) counts: T,
}

impl<T> Tables<T> {
    /// The name of the table of nodes.
    pub(super) const NODES: &'static str = "linkbench.node";
    /// The name of the table of links.
    pub(super) const LINKS: &'static str = "linkbench.link";
    /// The name of the table of links' counts.
    pub(super) const COUNTS: &'static str = "linkbench.count";

    /// Opens the tables.
    pub(super) fn open<E: Engine<Table = T>>(engine: &E) -> Result<Tables<T>, E::Error> {
        Ok(Tables {
            nodes: engine.table(Self::NODES)?,
            links: engine.table(Self::LINKS)?,
            counts: engine.table(Self::COUNTS)?,
        })
    }
}
