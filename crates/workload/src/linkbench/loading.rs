//! Filling the tables.

use super::degree::{links_of, payload};
use super::rows::{
    LINK_PAYLOAD, LINK_TYPES, LinkId, LinkType, ListId, NODE_PAYLOAD, NodeId, count, link,
    link_key, list_key, node, node_key,
};
use super::tables::Tables;
use crate::error::Result;
use crate::filling::{self, Batches, LoadBatch};
use crate::loading::{LoadProgress, Loading};
use crate::{Contents, Engine};

/// Nodes in a part.
const PART: u64 = 2000;
/// Nodes or links in a transaction.
const BATCH: u64 = 1000;
/// The time of all loaded nodes, links and counts.
pub(super) const LOADED: u64 = 1;

/// Loads nodes 1 to `nodes`, and the links that go out from them.
pub(super) fn load<E: Engine>(
    engine: &E,
    tables: &Tables<E::Table>,
    nodes: u64,
    contents: &Contents,
    loading: Loading,
    observer: &mut dyn FnMut(LoadProgress) -> bool,
) -> Result<LoadProgress, E> {
    filling::in_parts(engine, contents, loading, nodes.div_ceil(PART), observer, |part, batches| {
        let ids = part * PART + 1..nodes.min((part + 1) * PART) + 1;
        let mut row = Vec::new();
        batches.each(ids.clone(), BATCH, |batch, id| put_node(batch, tables, id, &mut row))?;
        put_links(batches, tables, nodes, ids, &mut row)
    })
}

fn put_node<'e, E: Engine + 'e>(
    batch: &mut LoadBatch<'_, 'e, E>,
    tables: &Tables<E::Table>,
    id: NodeId,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    row.clear();
    row.resize(node::FIXED, 0);
    node::KIND.set(row, 1);
    node::TIME.set(row, LOADED);
    row.resize(node::FIXED + payload(batch.random, NODE_PAYLOAD), 0);
    batch.random.fill(&mut row[node::FIXED..]);
    batch.put(tables.nodes, &node_key(id), row)
}

/// Puts all links of the nodes, in the order of nodes, and the count of each list after its last
/// link.
fn put_links<E: Engine>(
    batches: &mut Batches<'_, E>,
    tables: &Tables<E::Table>,
    nodes: u64,
    ids: std::ops::Range<NodeId>,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    // Lists with at least one link; a link's number says in which of them it is.
    let lists: Vec<(ListId, u64)> =
        ids.flat_map(lists_of).filter(|(_, links)| *links > 0).collect();
    let mut ends = Vec::with_capacity(lists.len());
    let mut all = 0;
    for (_, links) in &lists {
        all += links;
        ends.push(all);
    }
    // The last link of a list adds a second record: its count.
    batches.each(0..all, BATCH / 2, |batch, number| {
        let at = ends.partition_point(|end| *end <= number);
        let (list, links) = lists[at];
        let position = number + links - ends[at];
        put_link(batch, tables, link_at(list, position, nodes), row)?;
        if number + 1 == ends[at] { put_count(batch, tables, list, links, row) } else { Ok(()) }
    })
}

/// The lists that a node is loaded with, and the number of links of each: links go to the lists in
/// turn.
pub(super) fn lists_of(from: NodeId) -> impl Iterator<Item = (ListId, u64)> {
    let links = links_of(from);
    (0..LINK_TYPES).map(move |kind| (ListId { from, kind }, links_in(links, kind)))
}

/// The number of links, among a node's first `links`, that are in its list of this kind.
pub(super) fn links_in(links: u64, kind: LinkType) -> u64 {
    assert!(kind < LINK_TYPES, "one of the kinds");
    (links + u64::from(LINK_TYPES - 1 - kind)) / u64::from(LINK_TYPES)
}

/// The link at a position of a list. It goes to the next nodes after its own, in turn, so that the
/// targets of a node's links are known without reading. In a list that is longer than the number of
/// nodes, the rest goes to numbers that are not nodes.
pub(super) fn link_at(list: ListId, position: u64, nodes: u64) -> LinkId {
    assert!((1..=nodes).contains(&list.from), "a list belongs to a node");
    let turn = position * u64::from(LINK_TYPES) + u64::from(list.kind);
    let to = if turn < nodes { (list.from + turn) % nodes + 1 } else { turn + 1 };
    LinkId { list, to }
}

fn put_link<'e, E: Engine + 'e>(
    batch: &mut LoadBatch<'_, 'e, E>,
    tables: &Tables<E::Table>,
    id: LinkId,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    row.clear();
    row.resize(link::FIXED, 0);
    link::VISIBLE.set(row, 1);
    link::TIME.set(row, LOADED);
    row.resize(link::FIXED + payload(batch.random, LINK_PAYLOAD), 0);
    batch.random.fill(&mut row[link::FIXED..]);
    batch.put(tables.links, &link_key(id), row)
}

fn put_count<'e, E: Engine + 'e>(
    batch: &mut LoadBatch<'_, 'e, E>,
    tables: &Tables<E::Table>,
    list: ListId,
    links: u64,
    row: &mut Vec<u8>,
) -> Result<(), E> {
    row.clear();
    row.resize(count::FIXED, 0);
    count::LINKS.set(row, links);
    count::TIME.set(row, LOADED);
    batch.put(tables.counts, &list_key(list), row)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_lists_of_a_node_have_all_its_links() {
        for from in 1..1000 {
            let sum: u64 = lists_of(from).map(|(_, links)| links).sum();
            assert_eq!(sum, links_of(from));
        }
    }

    #[test]
    fn no_link_is_there_twice_however_few_the_nodes() {
        for nodes in [1, 3, 50] {
            let list = ListId { from: 1, kind: 1 };
            let to: BTreeSet<NodeId> =
                (0..100).map(|position| link_at(list, position, nodes).to).collect();
            assert_eq!(to.len(), 100);
        }
    }
}
