//! Options for making and opening a database.

use std::sync::Arc;
use std::time::Duration;

use frostline_placement::registry::Registry;
use frostline_store::compression::BEST;
use frostline_store::{Cleaning, Compression, Format};

use crate::DbError;
use crate::node::{PAGE_BYTES, SLOTS};

/// Options for making a database on a device.
#[derive(Clone, Debug)]
pub struct Create {
    /// Format of the page store; hotness records are always kept.
    pub store: Format,
    /// Bytes of the log of each instance; a sixteenth of the device, at most 1 GiB in all, unless
    /// given. A transaction takes a quarter of it, if it overwrites and deletes; new records, for
    /// which pages are split, take a twelfth to a twentieth. They are room on the device, which on
    /// `file:` and in a sparse file is used only as the log needs it.
    pub log_bytes: Option<u64>,
    /// Databases that share the store, each with its own log and pages.
    pub instances: u32,
}

impl Default for Create {
    fn default() -> Self {
        // This scheme uses the hotness records that a database gives.
        let store = Format { scheme: "frostline".to_string(), ..Format::default() };
        Create { store, log_bytes: None, instances: 1 }
    }
}

/// The least of [`Options::recovery_bytes`], and the least unless it is given.
const LEAST_RECOVERY: u64 = 64 << 10;
const USUAL_RECOVERY: u64 = 4 << 20;

impl Options {
    /// [`Self::recovery_bytes`] as it is given, or follows from the memory.
    pub fn recovery_bytes(&self) -> u64 {
        let usual = || (self.buffer_bytes as u64).max(USUAL_RECOVERY);
        self.recovery_bytes.unwrap_or_else(usual).max(LEAST_RECOVERY)
    }

    /// Bytes of versions that are kept for snapshots.
    pub(crate) fn most_version_bytes(&self) -> u64 {
        self.version_bytes.unwrap_or_else(|| (self.buffer_bytes / 2).max(16 << 20)) as u64
    }

    /// Bytes of a leaf that insertions in ascending order leave free.
    pub(crate) fn spare(&self) -> Result<usize, DbError> {
        if !(0.7..=1.0).contains(&self.fill) {
            let why = format!("{} is not from 0.7 to 1", self.fill);
            return Err(DbError::Options { what: "fill", why });
        }
        Ok(((1.0 - self.fill) * (PAGE_BYTES - SLOTS) as f64) as usize)
    }

    /// How the log is compressed: best, as only recovery decompresses it.
    pub(crate) fn compression_of_log(&self) -> Compression {
        match self.compression {
            Compression::None => Compression::None,
            _ => BEST,
        }
    }
}

/// A function that is called while a database recovers, with the bytes of the log that are read and
/// their total.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Replacement policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replacement {
    /// Second chance: pages that were not used since the hand passed them last leave first.
    Clock,
    /// Write-aware timestamps: of a sample, pages that were read and changed least often of late
    /// leave first; those that would have to be written soon again leave later.
    #[default]
    Watt,
}

/// Options for opening a database.
#[derive(Clone)]
pub struct Options {
    /// Bytes of memory for pages; in a store with deltas a quarter is for changes, and up to seven
    /// sixteenths for records, of pages that are not in memory.
    pub buffer_bytes: usize,
    /// The replacement policy of the buffer.
    pub replacement: Replacement,
    /// True if accesses to pages are counted for hotness records.
    pub hotness: bool,
    /// True if background threads write pages, the log and checkpoints. Without them everything
    /// happens in the order of the callers' calls, as tests need it.
    pub background: bool,
    /// The thread that cleans the store.
    pub cleaning: Cleaning,
    /// True if changed pages in memory are written when cleaning would copy them as they are on the
    /// device.
    pub rewriting: bool,
    /// How images of pages are compressed ([`frostline_store::Open::compression`]). The log is
    /// compressed with zstd unless this is none, as only recovery decompresses it; without the
    /// feature `zstd` with LZ4.
    pub compression: Compression,
    /// Go on without synced pages of the store that are missing
    /// ([`frostline_store::Open::accept_loss`]).
    pub accept_loss: bool,
    /// Space over data that the store may take ([`frostline_store::Open::space`]): the log comes on
    /// top.
    pub space: Option<f64>,
    /// The schemes that names stand for: the store's must be one of them.
    pub schemes: Registry,
    /// Delay after which a commit is made durable although no thread waits for it.
    pub commit_delay: Duration,
    /// Bytes of log records that may wait to be written before commits wait. The log takes twice as
    /// much memory. A sixteenth of it is written without delay. A value above the size of the log
    /// counts as that size.
    pub log_buffer_bytes: usize,
    /// Bytes of records that recovery should redo after a crash at most: when more are in use a
    /// checkpoint begins, and commits wait at one and a half times as many. A transaction that
    /// needs more log than that waits until it is alone. As many as `buffer_bytes` unless given, and
    /// 4 MiB at least: more save hardly any bytes written. Half of the log counts as the
    /// most, 64 KiB as the least.
    pub recovery_bytes: Option<u64>,
    /// Bytes of memory for older versions of records, kept for transactions that began before they
    /// were overwritten; half of `buffer_bytes`, and 16 MiB at least, unless given. When more is
    /// needed the oldest transactions fail with [`crate::DbError::SnapshotTooOld`] as soon as they
    /// read an overwritten record, or commit. Versions that commits under way replace come on top.
    pub version_bytes: Option<usize>,
    /// Bytes of the longest value that goes through the log, as part of its commit. A longer one,
    /// or one that takes more than a quarter of the largest record of the log, is written to pages
    /// of its own before, and the commit waits until these are durable. 256 KiB unless given.
    pub longest_logged_value: usize,
    /// The share of a leaf that insertions in ascending order fill, from 0.7 to 1; 0.9 unless
    /// given. The rest is left for records that come between them later, which would split each
    /// leaf otherwise. Records that are longer than the rest fill leaves. The device hardly has
    /// more bytes for it, as images leave out what is free (unless units are whole pages); memory
    /// has whole pages.
    pub fill: f64,
    /// Sees the progress of recovery.
    pub progress: Option<Progress>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            buffer_bytes: 64 << 20,
            replacement: Replacement::default(),
            hotness: true,
            background: true,
            cleaning: Cleaning::Background,
            rewriting: true,
            compression: Compression::default(),
            accept_loss: false,
            space: None,
            schemes: Registry::published(),
            commit_delay: Duration::from_millis(5),
            log_buffer_bytes: 4 << 20,
            recovery_bytes: None,
            version_bytes: None,
            longest_logged_value: 256 << 10,
            fill: 0.9,
            progress: None,
        }
    }
}
