//! fjall: a log-structured merge tree in Rust. Its optimistic transactions, which check what they
//! read. All tables share one keyspace.

use std::ops::Bound;

use fjall::config::{BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry};
use fjall::{
    Guard, KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx,
    PersistMode, Readable, Snapshot,
};
use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};

use super::prefix::{Table, Tables};
use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// The least log that can be set.
const LEAST_LOG: u64 = 64 << 20;

/// Threads that flush and compact.
const WORKERS: usize = 2;

/// fjall.
pub struct Fjall {
    database: OptimisticTxDatabase,
    records: OptimisticTxKeyspace,
    tables: Tables,
    tickets: Tickets,
}

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] fjall::Error),
    /// Another transaction changed what this one had read.
    #[error("another transaction changed what this one had read")]
    Conflict,
    /// The transaction is one for reading.
    #[error("a transaction for reading")]
    ReadOnly,
}

impl Peer for Fjall {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let cache = conditions.memory / 2;
        let memtable = (conditions.memory - cache) / 2;
        let log = conditions.log.max(LEAST_LOG);
        let database = OptimisticTxDatabase::builder(conditions.directory.join("fjall"))
            .cache_size(cache)
            .max_journaling_size(log)
            .manual_journal_persist(true)
            .worker_threads(WORKERS)
            .open()?;
        let bits = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
        let records = database.keyspace("records", || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(memtable)
                .filter_policy(FilterPolicy::all(bits))
        })?;
        let settings = format!(
            "fjall 3.1: block cache of {} KiB, memtables of {} KiB; leveled, 10 bloom bits a key, \
             blocks of 4 KiB, not compressed; journals of {} MiB; page cache; a sync of the \
             journal as durable point",
            cache >> 10,
            memtable >> 10,
            log >> 20,
        );
        let (tables, tickets) = (Tables::default(), Tickets::default());
        Ok((Fjall { database, records, tables, tickets }, settings))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

impl Engine for Fjall {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = FjallTransaction<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        Ok(self.tables.open(name))
    }

    fn begin(&self, access: Access) -> Result<FjallTransaction<'_>, Error> {
        let kind = match access {
            Access::ReadOnly => Kind::Read(self.database.read_tx()),
            Access::ReadWrite => Kind::Write(Box::new(self.database.write_tx()?)),
        };
        Ok(FjallTransaction { records: &self.records, tickets: &self.tickets, kind })
    }

    fn is_conflict(error: &Error) -> bool {
        matches!(error, Error::Conflict)
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets.wait(ticket, || Ok(self.database.persist(PersistMode::SyncData)?))
    }
}

/// A transaction of fjall.
pub struct FjallTransaction<'e> {
    records: &'e OptimisticTxKeyspace,
    tickets: &'e Tickets,
    kind: Kind,
}

enum Kind {
    Read(Snapshot),
    Write(Box<OptimisticWriteTx>),
}

impl FjallTransaction<'_> {
    /// The transaction, which must not be for reading only.
    fn writer(&mut self) -> Result<&mut OptimisticWriteTx, Error> {
        match &mut self.kind {
            Kind::Write(transaction) => Ok(transaction),
            Kind::Read(_) => Err(Error::ReadOnly),
        }
    }
}

impl Transaction for FjallTransaction<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        let key = table.key(key);
        let found = match &self.kind {
            Kind::Read(snapshot) => snapshot.get(self.records, key)?,
            Kind::Write(transaction) => transaction.get(self.records, key)?,
        };
        let Some(found) = found else { return Ok(false) };
        value.clear();
        value.extend_from_slice(&found);
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let records = self.records;
        self.writer()?.insert(records, table.key(key), value);
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        let records = self.records;
        self.writer()?.remove(records, table.key(key));
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        let bound = Bound::Included(table.key(bound));
        let range = match direction {
            Direction::Forward => (bound, Bound::Unbounded),
            Direction::Backward => (Bound::Unbounded, bound),
        };
        let mut records = match &self.kind {
            Kind::Read(snapshot) => snapshot.range(self.records, range),
            Kind::Write(transaction) => transaction.range(self.records, range),
        };
        let mut next = || match direction {
            Direction::Forward => records.next(),
            Direction::Backward => records.next_back(),
        };
        while let Some((key, value)) = next().map(Guard::into_inner).transpose()? {
            let Some(key) = table.own(&key) else { break };
            if visit(key, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn commit(self) -> Result<Ticket, Error> {
        match self.kind {
            Kind::Read(_) => Ok(self.tickets.newest()),
            Kind::Write(transaction) => {
                transaction.commit()?.map_err(|_| Error::Conflict)?;
                Ok(self.tickets.commit())
            }
        }
    }
}
