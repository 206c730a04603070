//! Bf-Tree: a B-tree of Microsoft Research whose memory holds hot records of a page in place of the
//! page. It has no transactions: what one changes is changed at once.

use std::io::Error;

use bf_tree::{Config, LeafInsertResult, LeafReadResult, ScanReturnField, StorageBackend};
use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};

use super::prefix::{Table, Tables};
use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// The longest record that it is set to, key and value. Records that are longer are an error.
const LONGEST_RECORD: usize = 1024;

/// Bf-Tree.
pub struct BfTree {
    tree: bf_tree::BfTree,
    tables: Tables,
    tickets: Tickets,
}

impl Peer for BfTree {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let memory = largest_power_of_two(conditions.memory);
        let mut config = Config::new(conditions.directory.join("bf-tree"), memory as usize);
        config.cb_max_record_size(LONGEST_RECORD).storage_backend(match conditions.direct {
            true => StorageBackend::StdDirect,
            false => StorageBackend::Std,
        });
        let tree = bf_tree::BfTree::with_config(config, None)
            .map_err(|why| format!("bf-tree: {why:?}"))?;
        let settings = format!(
            "bf-tree 0.5: circular buffer of {} KiB, which has to be a power of two; pages of 4 KiB; \
             {}; no log, as its own makes each operation wait for a write of it: nothing is durable",
            memory >> 10,
            if conditions.direct { "O_DIRECT" } else { "page cache" },
        );
        let (tables, tickets) = (Tables::default(), Tickets::default());
        Ok((BfTree { tree, tables, tickets }, settings))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(0)
    }

    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}

fn largest_power_of_two(memory: u64) -> u64 {
    1 << memory.max(1).ilog2()
}

impl Engine for BfTree {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = Operations<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        Ok(self.tables.open(name))
    }

    fn begin(&self, _: Access) -> Result<Operations<'_>, Error> {
        Ok(Operations { engine: self, wrote: false })
    }

    fn is_conflict(_: &Error) -> bool {
        false
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets.wait(ticket, || Ok(()))
    }
}

/// Operations one after the other: they are not undone if they are not committed.
pub struct Operations<'e> {
    engine: &'e BfTree,
    wrote: bool,
}

impl Transaction for Operations<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        value.resize(LONGEST_RECORD, 0);
        match self.engine.tree.read(&table.key(key), value) {
            LeafReadResult::Found(bytes) => {
                value.truncate(bytes as usize);
                Ok(true)
            }
            LeafReadResult::Deleted | LeafReadResult::NotFound => Ok(false),
            LeafReadResult::InvalidKey => Err(Error::other("a key that bf-tree does not take")),
        }
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.wrote = true;
        match self.engine.tree.insert(&table.key(key), value) {
            LeafInsertResult::Success => Ok(()),
            LeafInsertResult::InvalidKV(why) => Err(Error::other(why)),
        }
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        self.wrote = true;
        self.engine.tree.delete(&table.key(key));
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        if direction == Direction::Backward {
            return Err(Error::other("bf-tree does not scan backward"));
        }
        let mut records = (self.engine.tree)
            .scan_with_count(&table.key(bound), usize::MAX, ScanReturnField::KeyAndValue)
            .map_err(|why| Error::other(format!("{why:?}")))?;
        let mut record = [0; LONGEST_RECORD];
        while let Some((key, value)) = records.next(&mut record) {
            let (key, value) = record[..key + value].split_at(key);
            let Some(key) = table.own(key) else { break };
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(self) -> Result<Ticket, Error> {
        let tickets = &self.engine.tickets;
        Ok(if self.wrote { tickets.commit() } else { tickets.newest() })
    }
}
