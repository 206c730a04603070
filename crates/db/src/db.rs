//! The public interface of the database.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;

use frostline_store::{Buffer, Open, Store};
use frostline_zone::Device;
use parking_lot::Mutex;

use crate::aio::Aio;
use crate::catalog::{Catalog, Table};
use crate::core::Core;
use crate::layout::{DatabaseLayout, Label, log_id, read_label};
use crate::logs::logs_behind;
use crate::mvcc::{CommitWindow, Versions};
use crate::node::SLOT_ARRAY;
use crate::pages::Pages;
use crate::pool::{Division, Pool};
use crate::recovery::{Recovered, recover};
use crate::space::PageSpace;
use crate::stats::Stats;
use crate::transaction::{Commit, Isolation, Transaction};
use crate::tree::{Trees, Visits};
use crate::wal::{Flusher, FoundLog, WalOptions};
use crate::{Create, DbError, Options};

/// An ordered, transactional key-value database on a zoned device, shared by threads.
///
/// See the [crate's documentation](crate) for an example.
pub struct Db {
    core: Arc<Core>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    recovered: Recovered,
}

/// Databases that share one store, each with tables, a log and a buffer of its own.
pub struct Databases {
    /// The store.
    pub store: Arc<Store>,
    /// The databases.
    pub all: Vec<Db>,
}

impl Databases {
    /// Makes an empty store with empty databases of a device.
    ///
    /// # Errors
    /// The device holds data that must not be lost, or is too small; options that contradict it; an
    /// error of the device.
    pub fn create(device: &Arc<dyn Device>, create: &Create) -> Result<(), DbError> {
        DatabaseLayout::format(device, create)
    }

    /// Opens a store and its databases, and repairs what a crash left.
    ///
    /// # Errors
    /// No database, one of a newer version, or one too damaged to be opened; no thread can be
    /// started; an error of the device.
    pub fn open(device: &Arc<dyn Device>, options: &Options) -> Result<Databases, DbError> {
        let store_zones = Store::zones_on(&**device)?;
        let whole = DatabaseLayout::new(device, store_zones, 0, 0)?;
        let Options { cleaning, compression, accept_loss, space, schemes, .. } = *options;
        let (mut logs, durable) = logs_behind(device, store_zones)?;
        let (map_bytes, slots) = (Open::DEFAULT.map_bytes, Some(SLOT_ARRAY));
        let open =
            Open { cleaning, map_bytes, space, compression, slots, accept_loss, schemes, durable };
        let store = Arc::new(Store::open(whole.store, open)?);
        let label = read_label(&store)?;
        let divided = DatabaseLayout::new(device, store_zones, label.log_zones, label.instances)?;
        let open = |(n, device): (usize, Arc<dyn Device>)| {
            let id = log_id(&store, n as u32)?;
            let found = logs.remove(&id).filter(|log| log.zones() == label.log_zones);
            let log = match found {
                Some(log) => log.on(device),
                None => FoundLog::find(device, id)?,
            };
            Db::open_instance(&store, log, n as u32, &label, options)
        };
        let all = divided.logs.into_iter().enumerate().map(open).collect::<Result<_, _>>()?;
        Ok(Databases { store, all })
    }

    /// Writes everything that changed, so that nothing has to be recovered, and ends the
    /// databases and the store.
    ///
    /// # Errors
    /// An error of the device: durable commits stay durable.
    pub fn close(self) -> Result<(), DbError> {
        for db in self.all {
            db.end_log()?;
        }
        Ok(self.store.leave()?)
    }
}

impl Db {
    /// Makes an empty database of a device.
    ///
    /// # Errors
    /// As for [`Databases::create`].
    pub fn create(device: &Arc<dyn Device>, create: &Create) -> Result<(), DbError> {
        Databases::create(device, &Create { instances: 1, ..create.clone() })
    }

    /// Opens the database of a device that has one, and repairs what a crash left.
    ///
    /// # Errors
    /// As for [`Databases::open`].
    pub fn open(device: &Arc<dyn Device>, options: &Options) -> Result<Db, DbError> {
        let mut instances = Databases::open(device, options)?;
        match (instances.all.pop(), instances.all.is_empty()) {
            (Some(db), true) => Ok(db),
            _ => {
                let why = "several share the store".to_string();
                Err(DbError::Options { what: "databases", why })
            }
        }
    }

    fn open_instance(
        store: &Arc<Store>,
        log: FoundLog,
        instance: u32,
        label: &Label,
        options: &Options,
    ) -> Result<Db, DbError> {
        let spare = options.spare()?;
        let flusher = if options.background { Flusher::Background } else { Flusher::Inline };
        let (delay, buffer_bytes) = (options.commit_delay, options.log_buffer_bytes);
        let durable = store.mark(instance)?;
        let compression = options.compression_of_log();
        let wal_options = WalOptions { flusher, delay, buffer_bytes, durable, compression };
        let wal = Arc::new(log.open(&wal_options)?);
        let space =
            PageSpace { store: store.clone(), first: instance * label.pages, pages: label.pages };
        let memory = Division::of(options.buffer_bytes, space.has_deltas());
        let clock = store.stats()?.written.user;
        let end = wal.end();
        let window = Arc::new(CommitWindow::new(end, options.most_version_bytes()));
        let versions = Arc::new(Versions::new(options.most_version_bytes()));
        let (replacement, hotness) = (options.replacement, options.hotness);
        let shared = (window.clone(), versions.clone());
        let pool = Pool::new(space, wal, shared, memory, (replacement, hotness), clock)?;
        let trees = Trees {
            pool,
            pages: Pages::new(label.pages),
            window,
            versions,
            visits: Visits::default(),
            spare: 0,
        };
        let mut core = Core::new(trees, options);
        // Recovery needs no more pages than there were.
        let recovered = recover(&core, options.progress.as_ref())?;
        core.begin_overfull();
        core.trees.spare = spare;
        let core = Arc::new(core);
        let db = Db { core, threads: Mutex::default(), recovered };
        if options.rewriting {
            store.add_buffer(db.buffer())?;
        }
        if options.background {
            db.start("frostline-evictor", Core::evict_always)?;
            db.start("frostline-checkpoint", Core::checkpoint_always)?;
        }
        Ok(db)
    }

    /// The asynchronous form of the database. The first call starts the thread that reads for it.
    /// If the system refuses that, the threads of the callers read.
    pub fn aio(&self) -> Aio<'_> {
        let core = &*self.core;
        if core.trees.pool.reader.begin()
            && let Err(error) = self.start("frostline-reader", Core::read_always)
        {
            tracing::warn!(%error, "futures read on their own threads");
            core.trees.pool.reader.end();
        }
        Aio::new(core)
    }

    /// Counters of the recovery when it was opened.
    pub fn recovered(&self) -> Recovered {
        self.recovered
    }

    /// Makes a table.
    ///
    /// # Errors
    /// There is one of this name, or there are 4,096; a name that is too long for a key; as for
    /// [`Transaction::commit`].
    pub fn create_table(&self, name: &str) -> Result<Table, DbError> {
        let core = &*self.core;
        let _one_at_a_time = core.catalog.lock();
        if core.catalog.find(name).is_some() {
            return Err(DbError::TableExists { name: name.to_string() });
        }
        let promised = core.catalog.next_number()?;
        let number = promised.number;
        let reservation = core.reserve_pages(1)?;
        let root = core.trees.take_page()?;
        drop(reservation);
        core.trees.pool.name_tree(root, number + 2);
        // It begins under the lock, as all that write to the catalog: so it loses against none.
        let made = Transaction::begin(core, Isolation::Snapshot).and_then(|mut transaction| {
            transaction.create_tree(name, root, number)?;
            transaction.commit_soon()
        });
        let commit = made.inspect_err(|_| {
            // Once the record is in the log, a later error makes the database fail.
            if core.check().is_ok() {
                core.trees.pages.give_back(root);
            }
        })?;
        let table = core.catalog.add(name.as_bytes(), &Catalog::entry(root, number, false), 0)?;
        self.wait(commit)?;
        Ok(table)
    }

    /// The table of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn table(&self, name: &str) -> Result<Table, DbError> {
        self.core.catalog.find(name).ok_or_else(|| DbError::NoTable { name: name.to_string() })
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<(String, Table)> {
        self.core.catalog.list()
    }

    /// Begins a transaction that reads and writes.
    ///
    /// # Errors
    /// An earlier error after which nothing can be written.
    pub fn begin(&self) -> Result<Transaction<'_>, DbError> {
        Transaction::begin(&self.core, Isolation::Snapshot)
    }

    /// Begins a transaction that reads and writes, and is committed only if no other changed
    /// meanwhile what it read.
    ///
    /// ```
    /// # use frostline_db::{Create, Db, DbError, Options};
    /// # use frostline_zone::{Shape, in_memory};
    /// # let device = in_memory(&Shape { bytes: 64 << 20, ..Shape::default() })?;
    /// # Db::create(&device, &Create::default())?;
    /// # let db = Db::open(&device, &Options::default())?;
    /// let on_call = db.create_table("on call")?;
    /// let mut all = db.begin()?;
    /// ["alice", "bob"].iter().try_for_each(|name| all.put(on_call, name.as_bytes(), b"yes"))?;
    /// all.commit()?;
    ///
    /// // Each may go if the other stays.
    /// let (mut alice, mut bob) = (db.begin_serializable()?, db.begin_serializable()?);
    /// if alice.get(on_call, b"bob")?.as_deref() == Some(b"yes") {
    ///     alice.put(on_call, b"alice", b"no")?;
    /// }
    /// if bob.get(on_call, b"alice")?.as_deref() == Some(b"yes") {
    ///     bob.put(on_call, b"bob", b"no")?;
    /// }
    /// alice.commit()?;
    /// assert!(matches!(bob.commit(), Err(DbError::Conflict)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Db::begin`].
    pub fn begin_serializable(&self) -> Result<Transaction<'_>, DbError> {
        Transaction::begin(&self.core, Isolation::Serializable)
    }

    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// As for [`Db::begin`].
    pub fn begin_read(&self) -> Result<Transaction<'_>, DbError> {
        Transaction::begin(&self.core, Isolation::ReadOnly)
    }

    /// Reads together, into memory, what is needed to read or write records: see
    /// [`Transaction::prefetch`].
    ///
    /// # Errors
    /// [`DbError::ForeignTable`]; as for [`Db::begin`].
    pub fn prefetch<'k>(
        &self,
        records: impl IntoIterator<Item = (Table, &'k [u8])>,
    ) -> Result<(), DbError> {
        self.begin_read()?.prefetch(records)
    }

    /// Commits up to here survive a crash.
    pub fn durable(&self) -> Commit {
        Commit(self.core.trees.wal().durable())
    }

    /// Waits until a commit survives a crash.
    ///
    /// # Errors
    /// An error of the device.
    pub fn wait(&self, commit: Commit) -> Result<(), DbError> {
        Ok(self.core.trees.wal().wait(commit.0)?)
    }

    /// Writes all changed pages: after a crash, nothing up to here has to be recovered.
    ///
    /// # Errors
    /// An error of the device.
    pub fn checkpoint(&self) -> Result<(), DbError> {
        self.core.checkpoint_all()
    }

    /// Counters since it was opened.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn stats(&self) -> Result<Stats, DbError> {
        Stats::of(&self.core)
    }

    /// The store that the pages are on, for its counters, maintenance and views. What is written to
    /// it or trimmed by other means than the database's is missing from its trees.
    pub fn store(&self) -> &Arc<Store> {
        self.core.trees.store()
    }

    pub(crate) fn core(&self) -> &Core {
        &self.core
    }

    /// Writes all changed pages and ends the database. A database that is dropped instead is as
    /// after a crash: durable commits are there.
    ///
    /// # Errors
    /// An error of the device.
    pub fn close(self) -> Result<(), DbError> {
        self.end_log()?;
        Ok(self.store().leave()?)
    }

    /// Writes all changed pages, and ends the threads and the log.
    fn end_log(&self) -> Result<(), DbError> {
        // The checkpoint must find no page on its way to the store. No thread may free or change a
        // page beside it: the log would be kept for that page.
        self.store().remove_buffer(&self.buffer())?;
        self.end();
        self.checkpoint()?;
        let wal = self.core.trees.wal();
        wal.wait(wal.end())?;
        self.core.release_log()?;
        wal.close()?;
        self.core.trees.space().publish_durable(wal.durable())
    }

    /// Commits that were made, and those that lost against another, since it was opened.
    pub fn commits(&self) -> (u64, u64) {
        (self.core.commits.load(Relaxed), self.core.conflicts.load(Relaxed))
    }

    /// Starts a background thread, whose error is kept in the core. If it can't be, the database is
    /// dropped, which ends the others.
    fn start(&self, name: &str, live: fn(&Core) -> Result<(), DbError>) -> Result<(), DbError> {
        let core = self.core.clone();
        let live = move || {
            if let Err(error) = live(&core) {
                core.fail(error);
            }
        };
        let started = std::thread::Builder::new().name(name.to_string()).spawn(live);
        self.threads.lock().push(started.map_err(|error| DbError::Thread(Arc::new(error)))?);
        Ok(())
    }

    /// The pages in memory, as the store's cleaning asks for them.
    fn buffer(&self) -> Weak<dyn Buffer> {
        let core: Arc<dyn Buffer> = self.core.clone();
        Arc::downgrade(&core)
    }

    fn end(&self) {
        // If a thread of the store panicked, it cleans no more.
        let _ = self.store().remove_buffer(&self.buffer());
        self.core.alarm.close();
        self.core.trees.pool.reader.end();
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // Its errors are kept in the core.
            let _ = thread.join();
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.end();
    }
}
