//! The condition that the tables meet while no transaction runs: every list has the right count.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use super::rows::{ListId, NodeId, count, leading_list, leading_node, link, node, node_key};
use super::tables::Tables;
use crate::attempt::{End, attempt};
use crate::condition::{Condition, Verdict};
use crate::error::Result;
use crate::{Access, Direction, Engine, Transaction};

/// Nodes whose lists are compared in one step.
const SPAN: u64 = 100_000;

#[derive(Default)]
struct Found {
    /// For each list: its count, and the number of its visible links.
    lists: BTreeMap<ListId, (u64, u64)>,
    counts: Verdict,
    rows: Verdict,
}

/// Reads all tables; nodes with numbers below `settled` may have links.
pub(super) fn check<E: Engine>(
    engine: &E,
    tables: &Tables<E::Table>,
    settled: NodeId,
) -> Result<Vec<Condition>, E> {
    let mut found = Found::default();
    attempt(engine, Access::ReadOnly, |transaction| {
        found = Found::default();
        found.nodes::<E>(transaction, tables)?;
        for start in (0..settled).step_by(SPAN as usize) {
            found.compare::<E>(transaction, tables, start..start + SPAN)?;
        }
        Ok(End::Commit)
    })?;
    Ok(vec![
        found.counts.into_condition("every list has as many links as are counted", ""),
        found.rows.into_condition("every row has its key and its fields", ""),
    ])
}

impl Found {
    fn nodes<'e, E: Engine + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        tables: &Tables<E::Table>,
    ) -> Result<(), E> {
        transaction.scan(tables.nodes, &[], Direction::Forward, &mut |key, row| {
            self.rows.test(key.len() == 8 && row.len() >= node::FIXED, || format!("node {key:x?}"));
            ControlFlow::Continue(())
        })?;
        Ok(())
    }

    /// Compares the lists of a range of nodes.
    fn compare<'e, E: Engine + 'e>(
        &mut self,
        transaction: &mut E::Transaction<'e>,
        tables: &Tables<E::Table>,
        nodes: Range<NodeId>,
    ) -> Result<(), E> {
        self.lists.clear();
        let bound = node_key(nodes.start);
        let is_over = |key: &[u8]| leading_node(key).is_some_and(|node| node >= nodes.end);
        transaction.scan(tables.links, &bound, Direction::Forward, &mut |key, row| {
            if is_over(key) {
                return ControlFlow::Break(());
            }
            self.link(key, row);
            ControlFlow::Continue(())
        })?;
        transaction.scan(tables.counts, &bound, Direction::Forward, &mut |key, row| {
            if is_over(key) {
                return ControlFlow::Break(());
            }
            self.count(key, row);
            ControlFlow::Continue(())
        })?;
        for (list, (counted, seen)) in &self.lists {
            self.counts.test(counted == seen, || {
                let ListId { from, kind } = list;
                format!("links {kind} of node {from}: {counted} counted, {seen} there")
            });
        }
        Ok(())
    }

    fn link(&mut self, key: &[u8], row: &[u8]) {
        let list = leading_list(key).filter(|_| key.len() == 20 && row.len() >= link::FIXED);
        self.rows.test(list.is_some(), || format!("link {key:x?}"));
        if let Some(list) = list {
            self.lists.entry(list).or_default().1 += u64::from(link::VISIBLE.of(row));
        }
    }

    fn count(&mut self, key: &[u8], row: &[u8]) {
        let list = leading_list(key).filter(|_| key.len() == 12 && row.len() >= count::FIXED);
        self.rows.test(list.is_some(), || format!("count {key:x?}"));
        if let Some(list) = list {
            self.lists.entry(list).or_default().0 = count::LINKS.of(row);
        }
    }
}
