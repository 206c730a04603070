//! redb: a copy-on-write B-tree in one file, in Rust. One writer at a time.

use std::ops::{Bound, ControlFlow};

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
use redb::{
    Database, Durability, Error, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

use super::direct_file::DirectFile;
use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// A table. It is opened anew for each operation, since an open table borrows its transaction.
pub type Table = TableDefinition<'static, &'static [u8], &'static [u8]>;

/// redb.
pub struct Redb {
    database: Database,
    tickets: Tickets,
}

impl Peer for Redb {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let path = conditions.directory.join("redb");
        let mut builder = Database::builder();
        builder.set_cache_size(conditions.memory as usize);
        let database = match conditions.direct {
            true => builder.create_with_backend(DirectFile::open(&path)?)?,
            false => builder.create(path)?,
        };
        let settings = format!(
            "redb 4.5: cache of {} KiB; pages of 4 KiB; {}; commits without durability, and an \
             empty one with it as durable point",
            conditions.memory >> 10,
            if conditions.direct { "O_DIRECT by a backend of ours" } else { "page cache" },
        );
        Ok((Redb { database, tickets: Tickets::default() }, settings))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        Ok(self.database.close()?)
    }
}

impl Redb {
    fn write(&self, durability: Durability) -> Result<WriteTransaction, Error> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        Ok(transaction)
    }
}

impl Engine for Redb {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = RedbTransaction<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        // Lives as long as the process: there are a dozen of them.
        let table = TableDefinition::new(String::leak(name.to_owned()));
        let transaction = self.write(Durability::Immediate)?;
        transaction.open_table(table)?;
        transaction.commit()?;
        Ok(table)
    }

    fn begin(&self, access: Access) -> Result<RedbTransaction<'_>, Error> {
        let kind = match access {
            Access::ReadOnly => Kind::Read(self.database.begin_read()?),
            Access::ReadWrite => Kind::Write(Box::new(self.write(Durability::None)?)),
        };
        Ok(RedbTransaction { tickets: &self.tickets, kind })
    }

    fn is_conflict(_: &Error) -> bool {
        false
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets.wait(ticket, || Ok(self.write(Durability::Immediate)?.commit()?))
    }
}

/// A transaction of redb.
pub struct RedbTransaction<'e> {
    tickets: &'e Tickets,
    kind: Kind,
}

enum Kind {
    Read(ReadTransaction),
    Write(Box<WriteTransaction>),
}

impl RedbTransaction<'_> {
    /// The transaction, which must not be for reading only.
    fn writer(&self) -> Result<&WriteTransaction, Error> {
        match &self.kind {
            Kind::Write(transaction) => Ok(transaction),
            Kind::Read(_) => Err(Error::Io(std::io::Error::other("a transaction for reading"))),
        }
    }
}

impl Transaction for RedbTransaction<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        match &self.kind {
            Kind::Read(transaction) => copy(&transaction.open_table(table)?, key, value),
            Kind::Write(transaction) => copy(&transaction.open_table(table)?, key, value),
        }
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.writer()?.open_table(table)?.insert(key, value)?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        self.writer()?.open_table(table)?.remove(key)?;
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        match &self.kind {
            Kind::Read(transaction) => {
                show(&transaction.open_table(table)?, bound, direction, visit)
            }
            Kind::Write(transaction) => {
                show(&transaction.open_table(table)?, bound, direction, visit)
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

fn copy(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    key: &[u8],
    value: &mut Vec<u8>,
) -> Result<bool, Error> {
    let Some(found) = table.get(key)? else { return Ok(false) };
    value.clear();
    value.extend_from_slice(found.value());
    Ok(true)
}

fn show(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    bound: &[u8],
    direction: Direction,
    visit: VisitRow<'_>,
) -> Result<(), Error> {
    let mut range = match direction {
        Direction::Forward => table.range::<&[u8]>((Bound::Included(bound), Bound::Unbounded))?,
        Direction::Backward => table.range::<&[u8]>((Bound::Unbounded, Bound::Included(bound)))?,
    };
    let mut next = || match direction {
        Direction::Forward => range.next(),
        Direction::Backward => range.next_back(),
    };
    while let Some(record) = next() {
        let (key, value) = record?;
        if let ControlFlow::Break(()) = visit(key.value(), value.value()) {
            break;
        }
    }
    Ok(())
}
