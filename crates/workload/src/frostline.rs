//! Frostline's own database as an engine.

use std::ops::ControlFlow;

use frostline_db as db;

use crate::{Access, Direction, Engine, Ticket, Transaction, VisitRow};

impl Engine for db::Db {
    type Error = db::DbError;
    type Table = db::Table;
    type Transaction<'e> = db::Transaction<'e>;

    fn table(&self, name: &str) -> Result<db::Table, db::DbError> {
        match self.existing(name)? {
            Some(table) => Ok(table),
            None => self.create_table(name),
        }
    }

    fn existing(&self, name: &str) -> Result<Option<db::Table>, db::DbError> {
        match db::Db::table(self, name) {
            Err(db::DbError::NoTable { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn begin(&self, access: Access) -> Result<db::Transaction<'_>, db::DbError> {
        match access {
            Access::ReadOnly => self.begin_read(),
            Access::ReadWrite => db::Db::begin(self),
        }
    }

    fn is_conflict(error: &db::DbError) -> bool {
        error.is_retryable()
    }

    fn is_too_large(error: &db::DbError) -> bool {
        matches!(error, db::DbError::TooLarge { .. })
    }

    fn durable(&self) -> Ticket {
        Ticket(db::Db::durable(self).0)
    }

    fn wait(&self, ticket: Ticket) -> Result<(), db::DbError> {
        db::Db::wait(self, db::Commit(ticket.0))
    }
}

impl Transaction for db::Transaction<'_> {
    type Table = db::Table;
    type Error = db::DbError;

    fn get(
        &mut self,
        table: db::Table,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool, db::DbError> {
        self.get_into(table, key, value)
    }

    fn prefetch(&mut self, records: &[(db::Table, &[u8])]) -> Result<(), db::DbError> {
        db::Transaction::prefetch(self, records.iter().copied())
    }

    fn put(&mut self, table: db::Table, key: &[u8], value: &[u8]) -> Result<(), db::DbError> {
        db::Transaction::put(self, table, key, value)
    }

    fn patch(
        &mut self,
        table: db::Table,
        key: &[u8],
        at: usize,
        bytes: &[u8],
        _: &mut Vec<u8>,
    ) -> Result<(), db::DbError> {
        db::Transaction::patch(self, table, key, at, bytes)
    }

    fn delete(&mut self, table: db::Table, key: &[u8]) -> Result<(), db::DbError> {
        db::Transaction::delete(self, table, key)
    }

    fn scan(
        &mut self,
        table: db::Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), db::DbError> {
        let direction = match direction {
            Direction::Forward => db::Direction::Forward,
            Direction::Backward => db::Direction::Backward,
        };
        let mut scan = db::Transaction::scan(self, table, bound, direction);
        while let Some((key, value)) = scan.next()? {
            if let ControlFlow::Break(()) = visit(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn commit(self) -> Result<Ticket, db::DbError> {
        self.commit_soon().map(|commit| Ticket(commit.0))
    }
}
