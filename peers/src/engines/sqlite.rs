//! SQLite: a B-tree in one file, changed in place, with a write-ahead log. One writer at a time,
//! and one connection here, so threads take turns.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
use rusqlite::{Connection, Error, ErrorCode, OptionalExtension};

use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

const PAGE_BYTES: u64 = 4096;

/// SQLite.
pub struct Sqlite {
    connection: Mutex<Connection>,
    log: PathBuf,
    log_file: Mutex<Option<File>>,
    tickets: Tickets,
}

impl Peer for Sqlite {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let path = conditions.directory.join("sqlite");
        let connection = Connection::open(&path)?;
        let log_pages = conditions.log / PAGE_BYTES;
        connection.execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES};
             PRAGMA journal_mode = WAL;
             PRAGMA synchronous = NORMAL;
             PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA wal_autocheckpoint = {log_pages};
             PRAGMA cache_size = -{};
             PRAGMA mmap_size = 0;
             PRAGMA temp_store = MEMORY;",
            conditions.memory >> 10,
        ))?;
        connection.set_prepared_statement_cache_capacity(256);
        let settings = format!(
            "SQLite {}: cache of {} KiB, and the system's page cache, which it can't do without \
             and which nothing limits; pages of {PAGE_BYTES} B, tables WITHOUT ROWID; write-ahead \
             log of {} MiB, synchronous=NORMAL, and an fdatasync of the log as durable point",
            rusqlite::version(),
            conditions.memory >> 10,
            conditions.log >> 20,
        );
        let engine = Sqlite {
            connection: Mutex::new(connection),
            log: conditions.directory.join("sqlite-wal"),
            log_file: Mutex::default(),
            tickets: Tickets::default(),
        };
        Ok((engine, settings))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        let connection = self.connection.into_inner().unwrap_or_else(PoisonError::into_inner);
        connection.close().map_err(|(_, error)| error.into())
    }
}

impl Sqlite {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits are in the log's file when they return; this makes them durable there. The
    /// connection is held meanwhile, so that no checkpoint begins the log anew.
    fn sync_log(&self) -> Result<(), std::io::Error> {
        let _held = self.connection();
        let mut file = self.log_file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(File::open(&self.log)?),
        };
        file.sync_data()
    }
}

impl Engine for Sqlite {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = SqliteTransaction<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        let name = format!("\"{name}\"");
        let connection = self.connection();
        connection.execute_batch(&format!(
            "CREATE TABLE IF NOT EXISTS {name} \
             (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID"
        ))?;
        // Lives as long as the process: there are a dozen of them.
        Ok(Table(Box::leak(Box::new(Statements::for_table(&name)))))
    }

    fn begin(&self, access: Access) -> Result<SqliteTransaction<'_>, Error> {
        let connection = self.connection();
        let begin = match access {
            Access::ReadOnly => "BEGIN",
            Access::ReadWrite => "BEGIN IMMEDIATE",
        };
        connection.prepare_cached(begin)?.execute([])?;
        Ok(SqliteTransaction { connection, tickets: &self.tickets, access, ended: false })
    }

    fn is_conflict(error: &Error) -> bool {
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy))
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets
            .wait(ticket, || self.sync_log())
            .map_err(|error| Error::ToSqlConversionFailure(error.into()))
    }
}

/// The statements of a table.
#[derive(Clone, Copy)]
pub struct Table(&'static Statements);

struct Statements {
    get: String,
    put: String,
    delete: String,
    forward: String,
    backward: String,
}

impl Statements {
    fn for_table(name: &str) -> Statements {
        Statements {
            get: format!("SELECT value FROM {name} WHERE key = ?"),
            put: format!("INSERT OR REPLACE INTO {name} VALUES (?, ?)"),
            delete: format!("DELETE FROM {name} WHERE key = ?"),
            forward: format!("SELECT key, value FROM {name} WHERE key >= ? ORDER BY key"),
            backward: format!("SELECT key, value FROM {name} WHERE key <= ? ORDER BY key DESC"),
        }
    }
}

/// A transaction of SQLite.
pub struct SqliteTransaction<'e> {
    connection: MutexGuard<'e, Connection>,
    tickets: &'e Tickets,
    access: Access,
    ended: bool,
}

impl Transaction for SqliteTransaction<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        let mut statement = self.connection.prepare_cached(&table.0.get)?;
        let found = statement.query_row([key], |row| {
            value.clear();
            value.extend_from_slice(row.get_ref(0)?.as_blob()?);
            Ok(())
        });
        Ok(found.optional()?.is_some())
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.connection.prepare_cached(&table.0.put)?.execute([key, value])?;
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        self.connection.prepare_cached(&table.0.delete)?.execute([key])?;
        Ok(())
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        let statement = match direction {
            Direction::Forward => &table.0.forward,
            Direction::Backward => &table.0.backward,
        };
        let mut statement = self.connection.prepare_cached(statement)?;
        let mut rows = statement.query([bound])?;
        while let Some(row) = rows.next()? {
            let (key, value) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
            if let ControlFlow::Break(()) = visit(key, value) {
                break;
            }
        }
        Ok(())
    }

    fn commit(mut self) -> Result<Ticket, Error> {
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.ended = true;
        Ok(match self.access {
            Access::ReadOnly => self.tickets.newest(),
            Access::ReadWrite => self.tickets.commit(),
        })
    }
}

impl Drop for SqliteTransaction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            // There is no way to return the error; if this fails, the next transaction fails to
            // begin.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}
