//! A transaction on the three tables, and the operations that it consists of.

use std::ops::ControlFlow;

use super::rows::{LinkId, ListId, NodeId, count, link, link_key, list_key, node, node_key};
use super::tables::Tables;
use crate::error::{Error, Result};
use crate::{Direction, Engine, Transaction};

/// The most links that a list returns: the paper's limit.
const LIMIT: usize = 10_000;

/// Memory that is reused.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    row: Vec<u8>,
    scratch: Vec<u8>,
    list: Vec<ListedLink>,
    /// The payloads of the links in the list, one after the other.
    payloads: Vec<u8>,
}

/// A link of a list.
#[derive(Clone, Copy, Debug)]
struct ListedLink {
    time: u64,
    /// The offset of its payload.
    payload: usize,
}

/// A payload to write, and its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedPayload<'c> {
    pub(super) payload: &'c [u8],
    pub(super) time: u64,
}

/// A transaction and the tables.
pub(super) struct LinkBenchSession<'s, 'e, E: Engine + 'e> {
    pub(super) transaction: &'s mut E::Transaction<'e>,
    pub(super) tables: &'s Tables<E::Table>,
    pub(super) buffers: &'s mut Buffers,
}

impl<'e, E: Engine + 'e> LinkBenchSession<'_, 'e, E> {
    /// Reads a node; false if it does not exist.
    pub(super) fn get_node(&mut self, id: NodeId) -> Result<bool, E> {
        let LinkBenchSession { transaction, tables, buffers } = self;
        let found = transaction.get(tables.nodes, &node_key(id), &mut buffers.row)?;
        long_enough::<E>(found, &buffers.row, node::FIXED, Tables::<()>::NODES)
    }

    /// Writes a node, whether it exists or not.
    pub(super) fn put_node(
        &mut self,
        id: NodeId,
        version: u64,
        content: TimedPayload<'_>,
    ) -> Result<(), E> {
        let LinkBenchSession { transaction, tables, buffers } = self;
        let row = &mut buffers.row;
        row.clear();
        row.resize(node::FIXED, 0);
        node::KIND.set(row, 1);
        node::VERSION.set(row, version);
        node::TIME.set(row, content.time);
        row.extend_from_slice(content.payload);
        Ok(transaction.put(tables.nodes, &node_key(id), row)?)
    }

    /// Writes a node's next version, if the node exists.
    pub(super) fn update_node(&mut self, id: NodeId, content: TimedPayload<'_>) -> Result<(), E> {
        if self.get_node(id)? {
            let version = node::VERSION.of(&self.buffers.row).wrapping_add(1);
            self.put_node(id, version, content)?;
        }
        Ok(())
    }

    /// Deletes a node; its links stay, as in the paper.
    pub(super) fn delete_node(&mut self, id: NodeId) -> Result<(), E> {
        Ok(self.transaction.delete(self.tables.nodes, &node_key(id))?)
    }

    /// Reads a link and returns whether it is visible; `None` if it does not exist.
    pub(super) fn get_link(&mut self, id: LinkId) -> Result<Option<bool>, E> {
        let LinkBenchSession { transaction, tables, buffers } = self;
        let found = transaction.get(tables.links, &link_key(id), &mut buffers.row)?;
        let found = long_enough::<E>(found, &buffers.row, link::FIXED, Tables::<()>::LINKS)?;
        Ok(found.then(|| link::VISIBLE.of(&buffers.row) == 1))
    }

    /// Reads the visible links of a list, newest first; returns their number.
    pub(super) fn get_list(&mut self, id: ListId) -> Result<usize, E> {
        let LinkBenchSession { transaction, tables, buffers } = self;
        let Buffers { list, payloads, .. } = &mut **buffers;
        list.clear();
        payloads.clear();
        let prefix = list_key(id);
        transaction.scan(tables.links, &prefix, Direction::Forward, &mut |key, row| {
            if !key.starts_with(&prefix) {
                return ControlFlow::Break(());
            }
            if row.len() >= link::FIXED && link::VISIBLE.of(row) == 1 {
                list.push(ListedLink { time: link::TIME.of(row), payload: payloads.len() });
                payloads.extend_from_slice(&row[link::FIXED..]);
            }
            ControlFlow::Continue(())
        })?;
        list.sort_unstable_by_key(|shown| (std::cmp::Reverse(shown.time), shown.payload));
        list.truncate(LIMIT);
        Ok(list.len())
    }

    /// Adds a link that does not exist or is hidden, and counts it; a visible link gets the new
    /// content.
    pub(super) fn put_link(&mut self, id: LinkId, content: TimedPayload<'_>) -> Result<(), E> {
        let (version, was_visible) = match self.get_link(id)? {
            Some(visible) => (link::VERSION.of(&self.buffers.row).wrapping_add(1), visible),
            None => (0, false),
        };
        let LinkBenchSession { transaction, tables, buffers } = self;
        let row = &mut buffers.row;
        row.clear();
        row.resize(link::FIXED, 0);
        link::VISIBLE.set(row, 1);
        link::VERSION.set(row, version);
        link::TIME.set(row, content.time);
        row.extend_from_slice(content.payload);
        transaction.put(tables.links, &link_key(id), row)?;
        if was_visible { Ok(()) } else { self.count(id.list, 1, content.time) }
    }

    /// Hides a link and subtracts it from the count, if it is visible.
    pub(super) fn hide_link(&mut self, id: LinkId, time: u64) -> Result<(), E> {
        if self.get_link(id)? != Some(true) {
            return Ok(());
        }
        let LinkBenchSession { transaction, tables, buffers } = self;
        let at = link::VISIBLE.start();
        transaction.patch(tables.links, &link_key(id), at, &[0], &mut buffers.scratch)?;
        self.count(id.list, -1, time)
    }

    /// The number of visible links of a list.
    pub(super) fn links(&mut self, id: ListId) -> Result<u64, E> {
        let found = self.get_count(id)?;
        Ok(if found { count::LINKS.of(&self.buffers.row) } else { 0 })
    }

    fn get_count(&mut self, id: ListId) -> Result<bool, E> {
        let LinkBenchSession { transaction, tables, buffers } = self;
        let found = transaction.get(tables.counts, &list_key(id), &mut buffers.row)?;
        long_enough::<E>(found, &buffers.row, count::FIXED, Tables::<()>::COUNTS)
    }

    fn count(&mut self, id: ListId, by: i64, time: u64) -> Result<(), E> {
        let found = self.get_count(id)?;
        let LinkBenchSession { transaction, tables, buffers } = self;
        let (row, key) = (&mut buffers.row, list_key(id));
        if !found {
            row.clear();
            row.resize(count::FIXED, 0);
        }
        let links = count::LINKS.of(row).wrapping_add_signed(by);
        count::LINKS.set(row, links);
        count::VERSION.add(row, 1);
        count::TIME.set(row, time);
        if found {
            transaction.patch(
                tables.counts,
                &key,
                0,
                &row[..count::FIXED],
                &mut buffers.scratch,
            )?;
        } else {
            transaction.put(tables.counts, &key, row)?;
        }
        Ok(())
    }
}

/// `found`, or an error if the row that was found is shorter than its fixed-width fields.
fn long_enough<E: Engine>(
    found: bool,
    row: &[u8],
    fixed: usize,
    table: &'static str,
) -> Result<bool, E> {
    match found && row.len() < fixed {
        true => Err(Error::Data { table, what: "a row is too short" }),
        false => Ok(found),
    }
}
