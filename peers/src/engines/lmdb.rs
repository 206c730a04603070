//! LMDB: a copy-on-write B+-tree in a mapped file, in C. One writer at a time.

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
use heed::types::Bytes;
use heed::{Env, EnvFlags, EnvOpenOptions, Error, RoTxn, RwTxn, WithoutTls};

use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// A table.
pub type Table = heed::Database<Bytes, Bytes>;

/// The most tables that a workload has.
const TABLES: u32 = 32;

/// The addresses that are mapped for each expected byte: a file grows into them.
const MAPPED: u64 = 16;

/// LMDB.
pub struct Lmdb {
    environment: Env<WithoutTls>,
    tickets: Tickets,
}

impl Peer for Lmdb {
    type Engine = Self;

    fn create(conditions: &Conditions) -> Result<Self, Failure> {
        let path = conditions.directory.join("lmdb");
        std::fs::create_dir(&path)?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        let mapped = (conditions.expected * MAPPED).next_multiple_of(1 << 20);
        options.map_size(usize::try_from(mapped)?).max_dbs(TABLES);
        Ok(Lmdb { environment: open(&mut options, &path)?, tickets: Tickets::default() })
    }

    fn engine(&self) -> &Self {
        self
    }

    fn settings(&self) -> String {
        "LMDB, by heed 0.22: a mapped file in the page cache, which no setting limits; commits \
         without a sync, and a sync as durable point"
            .to_owned()
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.environment.force_sync()?)
    }
}

#[expect(unsafe_code, reason = "the file is mapped, and a fresh directory's is nobody else's")]
fn open(
    options: &mut EnvOpenOptions<WithoutTls>,
    path: &std::path::Path,
) -> Result<Env<WithoutTls>, Error> {
    // SAFETY: No other process knows the file. That commits without a sync may damage it in a crash
    // of the system is accepted: nobody opens it afterwards.
    unsafe { options.flags(EnvFlags::NO_SYNC).open(path) }
}

impl Engine for Lmdb {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = LmdbTransaction<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        let mut transaction = self.environment.write_txn()?;
        let table = self.environment.create_database(&mut transaction, Some(name))?;
        transaction.commit()?;
        Ok(table)
    }

    fn begin(&self, access: Access) -> Result<LmdbTransaction<'_>, Error> {
        let kind = match access {
            Access::ReadOnly => Kind::Read(self.environment.read_txn()?),
            Access::ReadWrite => Kind::Write(self.environment.write_txn()?),
        };
        Ok(LmdbTransaction { tickets: &self.tickets, kind })
    }

    fn is_conflict(_: &Error) -> bool {
        false
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets.wait(ticket, || self.environment.force_sync())
    }
}

/// A transaction of LMDB.
pub struct LmdbTransaction<'e> {
    tickets: &'e Tickets,
    kind: Kind<'e>,
}

enum Kind<'e> {
    Read(RoTxn<'e, WithoutTls>),
    Write(RwTxn<'e>),
}

impl<'e> LmdbTransaction<'e> {
    /// The transaction, as one that reads.
    fn reader(&self) -> &RoTxn<'_> {
        match &self.kind {
            Kind::Read(transaction) => transaction,
            Kind::Write(transaction) => transaction,
        }
    }

    /// The transaction, which must not be for reading only.
    fn writer(&mut self) -> Result<&mut RwTxn<'e>, Error> {
        match &mut self.kind {
            Kind::Write(transaction) => Ok(transaction),
            Kind::Read(_) => Err(Error::Io(std::io::Error::other("a transaction for reading"))),
        }
    }
}

impl Transaction for LmdbTransaction<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(found) = table.get(self.reader(), key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(found);
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        table.put(self.writer()?, key, value)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        table.delete(self.writer()?, key)?;
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        use std::ops::Bound::{Included, Unbounded};
        let reader = self.reader();
        match direction {
            Direction::Forward => show(table.range(reader, &(Included(bound), Unbounded))?, visit),
            Direction::Backward => {
                show(table.rev_range(reader, &(Unbounded, Included(bound)))?, visit)
            }
        }
    }

    fn commit(self) -> Result<Ticket, Error> {
        match self.kind {
            Kind::Read(_) => Ok(self.tickets.newest()),
            Kind::Write(transaction) => {
                transaction.commit()?;
                Ok(self.tickets.commit())
            }
        }
    }
}

fn show<'t>(
    records: impl Iterator<Item = Result<(&'t [u8], &'t [u8]), Error>>,
    visit: VisitRow<'_>,
) -> Result<(), Error> {
    for record in records {
        let (key, value) = record?;
        if visit(key, value).is_break() {
            break;
        }
    }
    Ok(())
}
