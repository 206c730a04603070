//! How a database is made and opened.

use std::sync::Arc;
use std::time::Duration;

use frostline_placement::registry::Registry;
use frostline_store::{Cleaning, Format};

use crate::pool::Replacement;
use crate::space::Observer;

/// How a database is made on a device.
#[derive(Clone, Debug)]
pub struct Create {
    /// How the page store is formatted; hotness records are always kept.
    pub store: Format,
    /// Bytes of the log of each instance; a sixteenth of the device, at most 1 GiB in all, unless
    /// given.
    pub log_bytes: Option<u64>,
    /// Databases that share the store, each with its own log and pages.
    pub instances: u32,
}

impl Default for Create {
    fn default() -> Self {
        // What a database tells of its pages is what this scheme goes by.
        let store = Format { scheme: "frostline".to_string(), ..Format::default() };
        Create { store, log_bytes: None, instances: 1 }
    }
}

impl Options {
    /// Bytes of versions that are kept for snapshots.
    pub(crate) fn most_version_bytes(&self) -> u64 {
        self.version_bytes.unwrap_or_else(|| (self.buffer_bytes / 2).max(16 << 20)) as u64
    }
}

/// What is told while a database is opened after a crash: bytes of the log that were read, of all.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a database is opened.
#[derive(Clone)]
pub struct Options {
    /// Bytes of memory for pages.
    pub buffer_bytes: usize,
    /// Which pages leave memory first.
    pub replacement: Replacement,
    /// Whether uses of pages are counted, so that the store learns how hot they are.
    pub hotness: bool,
    /// Whether threads of the database write pages, the log and checkpoints. Without them
    /// everything happens in the order of the callers' calls, as tests need it.
    pub background: bool,
    /// Who cleans the store.
    pub cleaning: Cleaning,
    /// Go on without synced pages of the store that are missing
    /// ([`frostline_store::Open::accept_loss`]).
    pub accept_loss: bool,
    /// The schemes that names stand for: the store's must be one of them.
    pub schemes: Registry,
    /// How long a commit that nobody waits for may take to become durable.
    pub commit_delay: Duration,
    /// Bytes of log records that may wait to be written before commits wait. The log takes twice
    /// as much memory, a sixteenth of it is written without delay, and more than the log itself has
    /// is as good as that.
    pub log_buffer_bytes: usize,
    /// Bytes of memory for what records were before, kept for transactions that began before it was
    /// overwritten; half of `buffer_bytes`, and 16 MiB at least, unless given. When more is needed
    /// the oldest transactions fail with [`crate::DbError::SnapshotTooOld`] as soon as they read
    /// what was overwritten, or commit. What commits under way replace comes on top.
    pub version_bytes: Option<usize>,
    /// Who is told of every page that reaches the store.
    pub observer: Option<Arc<dyn Observer>>,
    /// Who is told how far recovery is.
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
            accept_loss: false,
            schemes: Registry::published(),
            commit_delay: Duration::from_millis(5),
            log_buffer_bytes: 4 << 20,
            version_bytes: None,
            observer: None,
            progress: None,
        }
    }
}
