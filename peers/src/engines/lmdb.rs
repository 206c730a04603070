//! LMDB: a copy-on-write B+-tree in a mapped file, in C. One writer at a time. All tables share one
//! tree, also because no key of LMDB is empty.

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
use heed::types::Bytes;
use heed::{Env, EnvFlags, EnvOpenOptions, Error, RoTxn, RwTxn, WithoutTls};

use super::prefix::{Table, Tables};
use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// The addresses that are mapped for each expected byte: a file grows into them.
const MAPPED: u64 = 16;

/// LMDB.
pub struct Lmdb {
    environment: Env<WithoutTls>,
    records: Records,
    tables: Tables,
    tickets: Tickets,
}

/// The tree of all records.
type Records = heed::Database<Bytes, Bytes>;

impl Peer for Lmdb {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let path = conditions.directory.join("lmdb");
        std::fs::create_dir_all(&path)?;
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        let mapped = (conditions.expected * MAPPED).next_multiple_of(1 << 20);
        options.map_size(usize::try_from(mapped)?);
        let environment = open(&mut options, &path)?;
        let mut transaction = environment.write_txn()?;
        let records = environment.create_database(&mut transaction, None)?;
        transaction.commit()?;
        let (tables, tickets) = (Tables::default(), Tickets::default());
        let settings = "LMDB, by heed 0.22: a mapped file in the page cache, which no setting limits; \
                        commits without a sync, and a sync as durable point";
        Ok((Lmdb { environment, records, tables, tickets }, settings.to_owned()))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.environment.force_sync()?)
    }
}

#[expect(unsafe_code, reason = "LMDB maps a file; no other process opens one in a fresh directory")]
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
        Ok(self.tables.open(name))
    }

    fn begin(&self, access: Access) -> Result<LmdbTransaction<'_>, Error> {
        let kind = match access {
            Access::ReadOnly => Kind::Read(self.environment.read_txn()?),
            Access::ReadWrite => Kind::Write(self.environment.write_txn()?),
        };
        Ok(LmdbTransaction { records: self.records, tickets: &self.tickets, kind })
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
    records: Records,
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
        let found = self.records.get(self.reader(), &table.key(key))?;
        let Some(found) = found else { return Ok(false) };
        value.clear();
        value.extend_from_slice(found);
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        let records = self.records;
        records.put(self.writer()?, &table.key(key), value)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        let records = self.records;
        records.delete(self.writer()?, &table.key(key))?;
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
        let (reader, bound) = (self.reader(), table.key(bound));
        match direction {
            Direction::Forward => {
                let range = (Included(&bound[..]), Unbounded);
                show(table, self.records.range(reader, &range)?, visit)
            }
            Direction::Backward => {
                let range = (Unbounded, Included(&bound[..]));
                show(table, self.records.rev_range(reader, &range)?, visit)
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
    table: Table,
    records: impl Iterator<Item = Result<(&'t [u8], &'t [u8]), Error>>,
    visit: VisitRow<'_>,
) -> Result<(), Error> {
    for record in records {
        let (key, value) = record?;
        let Some(key) = table.own(key) else { break };
        if visit(key, value).is_break() {
            break;
        }
    }
    Ok(())
}
