//! The part of a store that everything in `engine/` shares: device, state, and the way of errors to
//! all threads.

use std::sync::Arc;
use std::time::Duration;

use frostline_zone::Device;

use crate::StoreError;
use crate::format::PAGE;
use crate::format::image::Packer;
use crate::format::layout::Layout;
use crate::state::State;
use crate::state::counters::Counters;
use crate::sync::{Condvar, Mutex, MutexGuard, sleep};

/// The state, locked.
pub(crate) type Guard<'a> = MutexGuard<'a, State>;

/// The part of a store that everything in `engine/` shares.
pub(crate) struct Core {
    /// The device.
    pub device: Arc<dyn Device>,
    /// Its division.
    pub layout: Arc<Layout>,
    /// Number of the store.
    pub store: u64,
    /// Packs images.
    pub packer: Packer,
    /// Times of calls and of cleaning.
    pub counters: Counters,
    state: Mutex<State>,
    /// Notified when something happened that threads may wait for.
    changed: Condvar,
    /// Notified when the cleaner, or the checkpointer, has something to do.
    wake: Condvar,
}

impl Core {
    /// The core of a store with this state.
    pub(crate) fn new(device: Arc<dyn Device>, state: State, packer: Packer) -> Self {
        Core {
            device,
            layout: state.layout().clone(),
            store: state.store(),
            packer,
            counters: Counters::default(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Condvar::new(),
        }
    }

    /// Locks the state.
    pub(crate) fn state(&self) -> Result<Guard<'_>, StoreError> {
        lock(&self.state)
    }

    /// Something happened that threads may wait for.
    pub(crate) fn changed(&self) {
        self.changed.notify_all();
    }

    /// Waits until something happens. An error that ends all writing ends the wait as well.
    pub(crate) fn wait<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        // An earlier error sends no notification.
        state.check_writable()?;
        let state = self.changed.wait(state).map_err(|_| StoreError::Panicked)?;
        state.check_writable()?;
        Ok(state)
    }

    /// Waits until the cleaner, or the checkpointer, may have something to do.
    pub(crate) fn sleep<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        self.wake.wait(state).map_err(|_| StoreError::Panicked)
    }

    /// Wakes the cleaner and the checkpointer.
    pub(crate) fn wake(&self) {
        self.wake.notify_all();
    }

    /// Waits a moment, for something that sends no notification.
    pub(crate) fn pause<'a>(&'a self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        drop(state);
        sleep(Duration::from_micros(100));
        self.state()
    }

    /// Takes note of an error. Some end all writing.
    pub(crate) fn fail(&self, error: StoreError) -> StoreError {
        let fatal = matches!(
            error,
            StoreError::Device(_) | StoreError::Damaged { .. } | StoreError::NoMetadataZone
        );
        if fatal {
            self.end_writing(&error);
        }
        error
    }

    /// Nothing more is written; calls of users fail with this error from now on.
    pub(crate) fn end_writing(&self, error: &StoreError) {
        tracing::error!(%error, "nothing more is written");
        if let Ok(mut state) = self.state() {
            state.fail(error.clone());
        }
        self.changed.notify_all();
        self.wake.notify_all();
    }

    /// Checks the LBA and the length of a page.
    pub(crate) fn check_page(&self, lba: u32, page: &[u8]) -> Result<(), StoreError> {
        if page.len() != PAGE {
            return Err(StoreError::PageSize { bytes: page.len() });
        }
        self.layout.check_lba(lba)
    }
}

/// Locks what the store's threads share.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, StoreError> {
    mutex.lock().map_err(|_| StoreError::Panicked)
}
