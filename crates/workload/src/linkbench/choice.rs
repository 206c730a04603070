//! The choice of nodes and links for an operation.

use frostline_random::Zipf;

use super::degree::links_of;
use super::loading::{link_at, links_in};
use super::rows::{LINK_TYPES, LinkId, ListId, NodeId};
use crate::random::Random;

/// Chooses among the loaded nodes.
///
/// The paper found power laws for all accesses, with flatter ones for nodes than for links, and
/// shows them as curves. Ours are Zipf distributions; the exponents for nodes are those of its
/// benchmark's configuration, the exponent for links is our choice.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    nodes: u64,
    node_reads: Zipf,
    node_updates: Zipf,
    lists: Zipf,
}

const NODE_READS: f64 = 0.625;
const NODE_UPDATES: f64 = 0.606;
const LISTS: f64 = 0.8;

impl Choice {
    /// Choices among nodes 1 to `nodes`.
    pub(super) fn new(nodes: u64) -> Choice {
        assert!(nodes > 0, "there is something to choose from");
        let zipf = |theta| Zipf::new(nodes, theta);
        let (node_reads, node_updates) = (zipf(NODE_READS), zipf(NODE_UPDATES));
        Choice { nodes, node_reads, node_updates, lists: zipf(LISTS) }
    }

    pub(super) fn node_to_read(&self, random: &mut Random) -> NodeId {
        self.scattered(random.rank(&self.node_reads), 0)
    }

    pub(super) fn node_to_update(&self, random: &mut Random) -> NodeId {
        self.scattered(random.rank(&self.node_updates), 0)
    }

    /// A random node, all with the same probability.
    pub(super) fn any_node(&self, random: &mut Random) -> NodeId {
        random.below(self.nodes) + 1
    }

    pub(super) fn list_to_read(&self, random: &mut Random) -> ListId {
        self.list(random, 1)
    }

    pub(super) fn list_to_write(&self, random: &mut Random) -> ListId {
        self.list(random, 2)
    }

    /// A link that was loaded into a list; if the list has none, a link that was not loaded.
    pub(super) fn loaded_link(&self, random: &mut Random, list: ListId) -> LinkId {
        let links = links_in(links_of(list.from), list.kind);
        link_at(list, random.below(links.max(1)), self.nodes)
    }

    fn list(&self, random: &mut Random, curve: u64) -> ListId {
        let from = self.scattered(random.rank(&self.lists), curve);
        ListId { from, kind: random.below(u64::from(LINK_TYPES)) as u32 }
    }

    /// The node of a rank: different ranks have different nodes, and neighbouring ranks have
    /// distant nodes. Each curve starts at another node, so the most read nodes are not the most
    /// written ones.
    fn scattered(&self, rank: u64, curve: u64) -> NodeId {
        // A prime, so that no two ranks meet unless it divides the number of nodes.
        const STRIDE: u128 = 2_654_435_761;
        let start = u128::from(curve) * u128::from(self.nodes) / 3;
        ((u128::from(rank) * STRIDE + start) % u128::from(self.nodes)) as NodeId + 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rank_has_another_node() {
        for nodes in [1, 2, 1000, 4096] {
            let choice = Choice::new(nodes);
            for curve in 0..3 {
                let all: BTreeSet<NodeId> =
                    (0..nodes).map(|rank| choice.scattered(rank, curve)).collect();
                assert_eq!(all, (1..=nodes).collect());
            }
        }
    }

    #[test]
    fn the_likeliest_node_has_its_probability() {
        let choice = Choice::new(1000);
        let mut random = Random::stream(1, 0);
        let first = choice.scattered(0, 0);
        let hits = (0..100_000).filter(|_| choice.node_to_read(&mut random) == first).count();
        let total: f64 = (1..=1000).map(|k| f64::from(k).powf(-NODE_READS)).sum();
        assert!((hits as f64 / 100_000.0 - 1.0 / total).abs() < 0.003, "{hits}");
    }

    #[test]
    fn loaded_links_are_of_their_list() {
        let choice = Choice::new(500);
        let mut random = Random::stream(2, 0);
        for _ in 0..1000 {
            let list = choice.list_to_write(&mut random);
            let link = choice.loaded_link(&mut random, list);
            assert_eq!(link.list, list);
            let links = links_in(links_of(list.from), list.kind).max(1);
            assert!((0..links).any(|position| link_at(list, position, 500) == link));
        }
    }
}
