//! Options for making and opening a database.

use frostline_db as engine;
use frostline_placement::registry::Registry;
use frostline_store::{Compression, Format};

use crate::retries::TRIES;

/// Options for making and opening a database.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("orders.frost");
/// let db = frostline::Options::new().memory(256 << 20).bound(64 << 30).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    pub(crate) memory: usize,
    pub(crate) bound: u64,
    pub(crate) log_bytes: Option<u64>,
    pub(crate) parity: Option<u32>,
    pub(crate) scheme: String,
    pub(crate) victim: Option<String>,
    pub(crate) unit: u32,
    pub(crate) schemes: Registry,
    pub(crate) create: bool,
    pub(crate) accept_loss: bool,
    pub(crate) serializable: bool,
    pub(crate) read_only: bool,
    pub(crate) tries: u32,
    pub(crate) compression: Compression,
    pub(crate) gp: f64,
    pub(crate) space: Option<f64>,
    pub(crate) recovery_bytes: Option<u64>,
    pub(crate) version_bytes: Option<usize>,
    pub(crate) longest_logged_value: usize,
    pub(crate) fill: f64,
}

impl Default for Options {
    fn default() -> Self {
        let Format { scheme, victim, gp, unit, .. } = engine::Create::default().store;
        Options {
            memory: 64 << 20,
            bound: 16 << 30,
            log_bytes: None,
            parity: None,
            scheme,
            victim,
            unit,
            schemes: Registry::published(),
            create: true,
            accept_loss: false,
            serializable: false,
            read_only: false,
            tries: TRIES,
            compression: Compression::default(),
            gp,
            space: None,
            recovery_bytes: None,
            version_bytes: None,
            longest_logged_value: engine::Options::default().longest_logged_value,
            fill: engine::Options::default().fill,
        }
    }
}

impl Options {
    /// The options of [`Db::open`](crate::Db::open).
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets the memory for pages, in bytes. The default is 64 MiB.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the most bytes that a new database may take on its device, garbage and log included.
    /// The default is 16 GiB. The file takes as much as it holds, and shrinks when records go.
    pub fn bound(mut self, bytes: u64) -> Self {
        self.bound = bytes;
        self
    }

    /// Sets the bytes of the bound that are for the log of a new database. A transaction has to fit
    /// into the log: it may overwrite and delete a quarter of it, and add a twelfth, or a twentieth
    /// if records are long. The default is a sixteenth of the bound, at most 1 GiB. The log takes
    /// only as much of the disk as the largest transaction needed, one and a half times the memory
    /// for small ones, and nothing once the database is closed.
    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.log_bytes = Some(bytes);
        self
    }

    /// Gives a new database a zone of parity for each `data_zones` zones, from 1 to 32: a zone of
    /// its device that is lost then costs no page, and 1 of `data_zones + 1` bytes of the bound
    /// holds parity. The default is none.
    pub fn parity(mut self, data_zones: u32) -> Self {
        self.parity = Some(data_zones);
        self
    }

    /// Sets the scheme that places the pages of a new database, as `frostline schemes` lists them.
    /// The default is `frostline`.
    pub fn scheme(mut self, scheme: impl Into<String>) -> Self {
        self.scheme = scheme.into();
        self
    }

    /// Sets the registry of schemes, which may include the program's own. The default has the
    /// published ones. A database that was made with one of the program's own schemes must be
    /// opened with that scheme, too.
    pub fn schemes(mut self, schemes: Registry) -> Self {
        self.schemes = schemes;
        self
    }

    /// Sets the victim policy of a new database. The default is the scheme's own.
    pub fn victim(mut self, victim: impl Into<String>) -> Self {
        self.victim = Some(victim.into());
        self
    }

    /// Sets the bytes of a unit of a new database: a changed page takes as many as the words that
    /// changed need. A power of two from 32 to 4,096; with 4,096 pages are always written whole, as
    /// a few schemes want them. The default is 64.
    pub fn unit(mut self, bytes: u32) -> Self {
        self.unit = bytes;
        self
    }

    /// Sets whether a database is made if it does not exist. The default is true.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether the database is opened although synced pages are missing, because a part of it
    /// is cut or can't be read: these pages are then lost for good. The default is false: such a
    /// database is not opened, and nothing in it changes.
    pub fn accept_loss(mut self, accept: bool) -> Self {
        self.accept_loss = accept;
        self
    }

    /// Runs the body of [`Db::update`](crate::Db::update) again also if another transaction changed
    /// meanwhile what it read: then all updates are as if they had run one after the other. False
    /// unless set: two that each read what the other writes, and write different keys, may both be
    /// committed (write skew).
    pub fn serializable(mut self, serializable: bool) -> Self {
        self.serializable = serializable;
        self
    }

    /// Opens the database for reading only: nothing on its device changes, and whatever writes
    /// fails with [`Error::ReadOnly`](crate::Error::ReadOnly). It may lie in a directory that can't
    /// be written. Any number of processes may read it at a time, while none has it open for
    /// writing. What a crash left is repaired in memory each time: a database that was closed needs
    /// none. False unless set.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets how often [`Db::update`](crate::Db::update) runs its body at most, each time but the
    /// first because of a conflict. The default is 1,000; 0 counts as 1.
    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Sets how pages are compressed from now on, in a database whose pages take as much room as
    /// they need. The default is LZ4; zstd needs the feature `zstd`. With that feature the log has
    /// zstd, unless nothing is compressed.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// Sets the bytes of log records that an opening after a crash redoes at most after usual loads,
    /// from this opening on. Fewer make it quicker, and write more: half as many 8 % more. The
    /// default is as many as there is [memory](Options::memory), half of the log at most.
    pub fn recovery_bytes(mut self, bytes: u64) -> Self {
        self.recovery_bytes = Some(bytes);
        self
    }

    /// Sets the memory for older versions of records, which snapshots and transactions see that
    /// began before these were overwritten, in bytes. When more is needed the oldest of them fail
    /// with [`Error::TooOld`](crate::Error::TooOld). The default is half as many
    /// bytes as there is [memory](Options::memory) for pages, and 16 MiB at least.
    pub fn version_bytes(mut self, bytes: usize) -> Self {
        self.version_bytes = Some(bytes);
        self
    }

    /// Sets the longest value that goes through the log, in bytes. A longer one goes to pages of
    /// its own before its commit, which writes it once in place of twice and waits for the device
    /// two times more. The default is 256 KiB.
    pub fn longest_logged_value(mut self, bytes: usize) -> Self {
        self.longest_logged_value = bytes;
        self
    }

    /// Sets the share of a page that records in ascending order fill from now on, from 0.7 to 1.
    /// The rest is left for records that come between them later, which would split each page
    /// otherwise. The default is 0.9. With 1, data that only grow at their end take 9 % fewer pages
    /// in memory; the file has about as many bytes.
    pub fn fill(mut self, share: f64) -> Self {
        self.fill = share;
        self
    }

    /// Sets the share of garbage above which the device of a new database is cleaned, between 0 and
    /// 1. More leaves less room for data, and lets cleaning copy less. The default is 0.15.
    pub fn gp(mut self, gp: f64) -> Self {
        self.gp = gp;
        self
    }

    /// Sets how much space the pages may take over the data, from this opening on: 1.5 is half as
    /// much again. The store then is cleaned when it takes more, in place of above a
    /// [share of garbage](Options::gp). Less space costs more bytes written: 1.3 about a half more
    /// than 1.8. Data are the pages that records are in, as compressed as they are; the log and the
    /// map, some megabytes, come on top. A target is met as far as 5 % of garbage allow, and as
    /// cleaning copies no more than four bytes for each that is written.
    pub fn space(mut self, over_data: f64) -> Self {
        self.space = Some(over_data);
        self
    }
}
