//! What the threads of a store share, its locks, and how its errors reach everyone.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use frostline_zone::Device;

use crate::format::PAGE;
use crate::layout::Layout;
use crate::meta::MetaLog;
use crate::state::{State, Written};
use crate::stats::Counters;
use crate::sync::{Condvar, Mutex, MutexGuard, sleep};
use crate::{Cleaning, Open, StoreError};

/// The state, locked.
pub type Guard<'a> = MutexGuard<'a, State>;

/// What the store's threads share.
pub struct Inner {
    /// The device.
    pub device: Arc<dyn Device>,
    /// How it is divided.
    pub layout: Arc<Layout>,
    /// Number of the store.
    pub store: u64,
    /// Who cleans.
    pub cleaning: Cleaning,
    /// Leaves that may be in memory.
    pub most_leaves: usize,
    /// What is counted beside the state.
    pub counters: Counters,
    /// Pages written before the store was opened, once it is.
    pub opened: OnceLock<Written>,
    state: Mutex<State>,
    /// Something happened that others may wait for.
    pub changed: Condvar,
    /// The cleaner, or the keeper, has something to do.
    wake: Condvar,
    /// Locked before `state`, never while it is held.
    meta: Mutex<MetaLog>,
    cleaner: Mutex<()>,
    /// Held by whoever writes leaves of the map.
    pub keeper: Mutex<()>,
}

impl Inner {
    /// What the threads of a store share from now on.
    pub fn new(device: Arc<dyn Device>, state: State, meta: MetaLog, open: &Open) -> Self {
        let layout = state.layout.clone();
        let leaf = crate::leaves::LEAF * (8 + layout.state);
        Inner {
            device,
            store: state.store,
            cleaning: open.cleaning,
            most_leaves: (open.map_bytes / leaf).max(1),
            counters: Counters::default(),
            opened: OnceLock::new(),
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Condvar::new(),
            meta: Mutex::new(meta),
            cleaner: Mutex::new(()),
            keeper: Mutex::new(()),
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

    /// Only one cleans.
    pub fn lock_cleaner(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.cleaner.lock().map_err(|_| poisoned())
    }

    /// Only one writes leaves of the map.
    pub fn lock_keeper(&self) -> Result<MutexGuard<'_, ()>, StoreError> {
        self.keeper.lock().map_err(|_| poisoned())
    }

    /// Waits until something happens. An error that ends all writing ends the wait as well.
    pub fn wait<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        let unless_failed = |state: Guard<'a>| match &state.failed {
            Some(error) => Err(StoreError::Failed(Box::new(error.clone()))),
            None => Ok(state),
        };
        // One that came before is not told again.
        let state = unless_failed(state)?;
        unless_failed(self.changed.wait(state).map_err(|_| poisoned())?)
    }

    /// Waits until the cleaner, or the keeper, may have something to do.
    pub fn sleep<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        self.wake.wait(state).map_err(|_| poisoned())
    }

    /// Wakes them.
    pub fn wake(&self) {
        self.wake.notify_all();
    }

    /// Waits a moment, for something that nobody tells.
    pub fn pause<'a>(&'a self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        drop(state);
        sleep(Duration::from_micros(100));
        self.state()
    }

    /// Notes an error after which nothing more can be promised of writes.
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

    /// Nothing more is written; users are told why at their next call.
    pub fn end_writing(&self, error: StoreError) {
        if let Ok(mut state) = self.state() {
            state.failed.get_or_insert(error);
        }
        self.changed.notify_all();
        self.wake.notify_all();
    }

    /// Checks a page that is to be written or read.
    pub fn check_page(&self, lba: u32, page: &[u8]) -> Result<(), StoreError> {
        if page.len() != PAGE {
            return Err(StoreError::PageSize { bytes: page.len() });
        }
        self.check_lba(lba)
    }

    /// Checks an LBA.
    pub fn check_lba(&self, lba: u32) -> Result<(), StoreError> {
        let pages = self.layout.fixed.logical_pages;
        match u64::from(lba) < pages {
            true => Ok(()),
            false => {
                let last = (pages - 1) as u32;
                Err(frostline_log::LogError::BadLba { lba, last }.into())
            }
        }
    }
}

fn poisoned() -> StoreError {
    StoreError::Panicked
}
