//! The part of a store that its threads share: its locks, and the way of errors to all of them.

use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use frostline_zone::Device;

use crate::engine::buffer::Buffer;
use crate::engine::meta::{MetaLog, MetaUsage};
use crate::format::PAGE;
use crate::format::compression::Compressor;
use crate::format::layout::Layout;
use crate::state::State;
use crate::state::counters::Counters;
use crate::state::written::Written;
use crate::sync::{Condvar, Instant, Mutex, MutexGuard, sleep};
use crate::{Cleaning, Open, PageWrite, StoreError};

/// The state, locked.
pub type Guard<'a> = MutexGuard<'a, State>;

/// The part of a store that its threads share.
pub struct Inner {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Its division.
    pub layout: Arc<Layout>,
    /// Number of the store.
    pub store: u64,
    /// The thread that cleans.
    pub cleaning: Cleaning,
    /// The compressor of images.
    pub compressor: Compressor,
    /// Bytes of the map that may be in memory.
    pub map_bytes: usize,
    /// Times of calls and of cleaning.
    pub counters: Counters,
    /// Pages and free space of the metadata log.
    pub meta_usage: Arc<MetaUsage>,
    /// Pages written before the store was opened, once it is.
    pub opened: OnceLock<Written>,
    /// The moment at which it was opened.
    pub begun: Instant,
    state: Mutex<State>,
    /// Notified when something happened that threads may wait for.
    pub changed: Condvar,
    /// Notified when the cleaner, or the checkpointer, has something to do.
    wake: Condvar,
    /// Locked before `state`, never while it is held.
    meta: Mutex<MetaLog>,
    cleaner: Mutex<()>,
    /// Buffers that may hold newer pages than the device. Locked after `cleaner`, before `state`.
    buffers: Mutex<Vec<Weak<dyn Buffer>>>,
    /// Held by the thread that writes leaves of the map.
    pub checkpointer: Mutex<()>,
}

impl Inner {
    /// A store whose state was recovered.
    pub fn new(device: Arc<dyn Device>, state: State, meta: MetaLog, open: &Open) -> Self {
        let layout = state.layout.clone();
        Inner {
            device,
            store: state.store,
            cleaning: open.cleaning,
            compressor: Compressor::new(open.compression),
            map_bytes: open.map_bytes,
            counters: Counters::default(),
            meta_usage: meta.usage(),
            opened: OnceLock::new(),
            begun: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Condvar::new(),
            meta: Mutex::new(meta),
            cleaner: Mutex::new(()),
            buffers: Mutex::new(Vec::new()),
            checkpointer: Mutex::new(()),
            layout,
        }
    }

    /// Locks the state.
    pub fn state(&self) -> Result<Guard<'_>, StoreError> {
        self.state.lock().map_err(|_| poisoned())
    }

    /// Locks the metadata log.
    pub fn meta(&self) -> Result<MutexGuard<'_, MetaLog>, StoreError> {
        self.meta.lock().map_err(|_| poisoned())
    }

    /// Locks cleaning: one thread cleans.
    pub fn lock_cleaner(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.cleaner.lock().map_err(|_| poisoned())
    }

    /// Locks the buffers that may hold newer pages than the device.
    pub fn buffers(&self) -> Result<MutexGuard<'_, Vec<Weak<dyn Buffer>>>, StoreError> {
        self.buffers.lock().map_err(|_| poisoned())
    }

    /// Locks checkpoints: one thread writes leaves of the map.
    pub fn lock_checkpointer(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.checkpointer.lock().map_err(|_| poisoned())
    }

    /// Waits until something happens. An error that ends all writing ends the wait as well.
    pub fn wait<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        // An earlier error sends no notification.
        state.check_writable()?;
        let state = self.changed.wait(state).map_err(|_| poisoned())?;
        state.check_writable()?;
        Ok(state)
    }

    /// Waits until the cleaner, or the checkpointer, may have something to do.
    pub fn sleep<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        self.wake.wait(state).map_err(|_| poisoned())
    }

    /// Wakes the cleaner and the checkpointer.
    pub fn wake(&self) {
        self.wake.notify_all();
    }

    /// Waits a moment, for something that sends no notification.
    pub fn pause<'a>(&'a self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        drop(state);
        sleep(Duration::from_micros(100));
        self.state()
    }

    /// Takes note of an error. Some end all writing.
    pub fn fail(&self, error: StoreError) -> StoreError {
        let fatal = matches!(
            error,
            StoreError::Device(_) | StoreError::Damaged { .. } | StoreError::NoMetadataZone
        );
        if fatal {
            self.end_writing(error.clone());
        }
        error
    }

    /// Nothing more is written; calls of users fail with this error from now on.
    pub fn end_writing(&self, error: StoreError) {
        tracing::error!(%error, "nothing more is written");
        if let Ok(mut state) = self.state() {
            state.fail(error);
        }
        self.changed.notify_all();
        self.wake.notify_all();
    }

    /// Checks a page that is to be written.
    pub fn check_write(&self, write: &PageWrite<'_>) -> Result<(), StoreError> {
        self.check_page(write.lba, write.page)
    }

    /// Checks the LBA and the length of a page.
    pub fn check_page(&self, lba: u32, page: &[u8]) -> Result<(), StoreError> {
        if page.len() != PAGE {
            return Err(StoreError::PageSize { bytes: page.len() });
        }
        self.layout.check_lba(lba)
    }
}

fn poisoned() -> StoreError {
    StoreError::Panicked
}
