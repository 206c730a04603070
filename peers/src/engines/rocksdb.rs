//! RocksDB: a log-structured merge tree. Its optimistic transactions, at a snapshot each. All tables
//! share one column family.

use frostline_workload::{Access, Direction, Engine, Ticket, Transaction, VisitRow};
use rocksdb::{
    BlockBasedOptions, Cache, DBCompressionType, Error, ErrorKind, OptimisticTransactionDB,
    OptimisticTransactionOptions, Options, WriteOptions,
};

use super::prefix::{Table, Tables};
use super::{Failure, Peer};
use crate::conditions::Conditions;
use crate::tickets::Tickets;

/// Write buffers there are: one that is filled, one that is flushed or kept for conflicts.
const WRITE_BUFFERS: u64 = 2;

/// RocksDB.
pub struct RocksDb {
    database: OptimisticTransactionDB,
    tables: Tables,
    tickets: Tickets,
}

impl Peer for RocksDb {
    fn open(conditions: &Conditions) -> Result<(Self, String), Failure> {
        let cache = conditions.memory / 2;
        let write_buffer = (conditions.memory - cache) / WRITE_BUFFERS;
        let options = options(conditions, cache, write_buffer)?;
        let database = OptimisticTransactionDB::open(&options, conditions.directory.join("rocks"))?;
        let settings = format!(
            "RocksDB, the system's: block cache of {} KiB with indexes and filters in it, \
             {WRITE_BUFFERS} write buffers of {} KiB; files as large as those, first level 4 \
             times that, dynamic level sizes; leveled, 10 bloom bits a key, blocks of 4 KiB, not \
             compressed; {}, its log in the page cache; a sync of the log as durable point",
            cache >> 10,
            write_buffer >> 10,
            if conditions.direct { "O_DIRECT" } else { "page cache" },
        );
        let (tables, tickets) = (Tables::default(), Tickets::default());
        Ok((RocksDb { database, tables, tickets }, settings))
    }

    fn durable_points(&self) -> Result<u64, Failure> {
        Ok(self.tickets.points())
    }

    fn close(self) -> Result<(), Failure> {
        self.database.cancel_all_background_work(true);
        Ok(())
    }
}

fn options(conditions: &Conditions, cache: u64, write_buffer: u64) -> Result<Options, Error> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(cache as usize)?);
    blocks.set_cache_index_and_filter_blocks(true);
    blocks.set_pin_l0_filter_and_index_blocks_in_cache(true);
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size(write_buffer as usize);
    options.set_max_write_buffer_number(WRITE_BUFFERS as i32);
    options.set_target_file_size_base(write_buffer);
    options.set_max_bytes_for_level_base(4 * write_buffer);
    options.set_level_compaction_dynamic_level_bytes(true);
    options.set_compression_type(DBCompressionType::None);
    options.set_max_total_wal_size(conditions.log);
    options.set_max_background_jobs(2);
    options.set_use_direct_reads(conditions.direct);
    options.set_use_direct_io_for_flush_and_compaction(conditions.direct);
    Ok(options)
}

impl Engine for RocksDb {
    type Error = Error;
    type Table = Table;
    type Transaction<'e> = RocksTransaction<'e>;

    fn table(&self, name: &str) -> Result<Table, Error> {
        Ok(self.tables.open(name))
    }

    fn begin(&self, access: Access) -> Result<RocksTransaction<'_>, Error> {
        let mut options = OptimisticTransactionOptions::default();
        options.set_snapshot(true);
        let inner = self.database.transaction_opt(&WriteOptions::default(), &options);
        Ok(RocksTransaction { inner, tickets: &self.tickets, access })
    }

    fn is_conflict(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain)
    }

    fn durable(&self) -> Ticket {
        self.tickets.durable()
    }

    fn wait(&self, ticket: Ticket) -> Result<(), Error> {
        self.tickets.wait(ticket, || self.database.flush_wal(true))
    }
}

/// A transaction of RocksDB.
pub struct RocksTransaction<'e> {
    inner: rocksdb::Transaction<'e, OptimisticTransactionDB>,
    tickets: &'e Tickets,
    access: Access,
}

impl Transaction for RocksTransaction<'_> {
    type Table = Table;
    type Error = Error;

    fn get(&mut self, table: Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        let snapshot = self.inner.snapshot();
        let Some(found) = snapshot.get_pinned(table.key(key))? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(&found);
        Ok(true)
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), Error> {
        self.inner.put(table.key(key), value)
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<(), Error> {
        self.inner.delete(table.key(key))
    }

    fn scan(
        &mut self,
        table: Table,
        bound: &[u8],
        direction: Direction,
        visit: VisitRow<'_>,
    ) -> Result<(), Error> {
        let snapshot = self.inner.snapshot();
        let mut records = snapshot.raw_iterator();
        let bound = table.key(bound);
        match direction {
            Direction::Forward => records.seek(&bound),
            Direction::Backward => records.seek_for_prev(&bound),
        }
        while let Some((key, value)) = records.item() {
            let Some(key) = table.own(key) else { break };
            if visit(key, value).is_break() {
                break;
            }
            match direction {
                Direction::Forward => records.next(),
                Direction::Backward => records.prev(),
            }
        }
        records.status()
    }

    fn commit(self) -> Result<Ticket, Error> {
        self.inner.commit()?;
        Ok(match self.access {
            Access::ReadOnly => self.tickets.newest(),
            Access::ReadWrite => self.tickets.commit(),
        })
    }
}
