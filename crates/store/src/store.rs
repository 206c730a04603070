//! The store as its users see it, and its threads.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use frostline_zone::Device;

use crate::format::PAGE;
use crate::layout::Layout;
use crate::leaves::Evicted;
use crate::meta::MetaLog;
use crate::state::{State, Written};
use crate::stats::{Counters, Stats};
use crate::{Cleaning, Format, Open, PageWrite, StoreError, recovery};

/// Writers are slowed with so many zones more than those below which the store is cleaned.
const SLOWER_BEFORE: usize = 3;

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
    keeper: Mutex<()>,
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
        let state = self.changed.wait(state).map_err(|_| poisoned())?;
        match &state.failed {
            Some(error) => Err(StoreError::Failed(Box::new(error.clone()))),
            None => Ok(state),
        }
    }

    /// Waits a moment, for something that nobody tells.
    pub fn pause<'a>(&self, state: Guard<'a>) -> Result<Guard<'a>, StoreError> {
        let moment = Duration::from_micros(100);
        let (state, _) = self.changed.wait_timeout(state, moment).map_err(|_| poisoned())?;
        Ok(state)
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
    fn end_writing(&self, error: StoreError) {
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

    fn check_lba(&self, lba: u32) -> Result<(), StoreError> {
        let pages = self.layout.fixed.logical_pages;
        match u64::from(lba) < pages {
            true => Ok(()),
            false => {
                let last = (pages - 1) as u32;
                Err(frostline_log::LogError::BadLba { lba, last }.into())
            }
        }
    }

    /// Locks the state for `pages` user writes. As free zones run out, writers are slowed to the
    /// pace at which cleaning frees pages.
    pub fn admit(&self, pages: usize) -> Result<Guard<'_>, StoreError> {
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        if self.cleaning == Cleaning::Inline {
            return Ok(state);
        }
        let slow = self.layout.fixed.reserve as usize + SLOWER_BEFORE;
        if state.placer.free_zones() < slow {
            let begun = Instant::now();
            let behind = (slow - state.placer.free_zones()) as u32;
            self.wake_cleaner();
            // The pace of cleaning itself with two zones left, and none at all below.
            let debt = self.counters.pace() * behind * pages as u32 / (slow - 2) as u32;
            if debt > Duration::ZERO {
                drop(state);
                self.counters.pay(debt);
                state = self.state()?;
            }
            // The last zones are the cleaner's.
            while state.placer.free_zones() < 2 && state.stuck != Some(state.time) {
                self.wake_cleaner();
                state = self.wait(state)?;
            }
            self.counters.stalled(begun.elapsed());
        }
        Ok(state)
    }

    /// Tells the cleaner that there may be something to clean.
    pub fn wake_cleaner(&self) {
        self.wake.notify_all();
    }

    /// Tells the keeper that a checkpoint is due.
    pub fn wake_keeper(&self) {
        self.wake.notify_all();
    }

    /// Forgets a page.
    fn trim(&self, lba: u32) -> Result<bool, StoreError> {
        self.check_lba(lba)?;
        let mut state = self.state()?;
        if let Some(error) = &state.failed {
            return Err(StoreError::Failed(Box::new(error.clone())));
        }
        state = self.with_leaf(state, lba)?;
        let had = state.placer.trim(lba)?;
        if had {
            state.note_trim(lba);
        }
        let waiting = state.notes.len();
        drop(state);
        if waiting >= crate::layout::NOTES {
            self.write_notes().map_err(|error| self.fail(error))?;
            match self.cleaning {
                Cleaning::Inline => self.keep()?,
                Cleaning::Background => self.wake_keeper(),
            }
        }
        self.shrink_map()?;
        Ok(had)
    }

    /// Keeps the map within its memory.
    pub fn shrink_map(&self) -> Result<(), StoreError> {
        if self.most_leaves >= self.layout.leaves() as usize {
            return Ok(());
        }
        // Whoever holds it is writing leaves, and comes by here afterwards.
        let Ok(one) = self.keeper.try_lock() else { return Ok(()) };
        loop {
            let mut state = self.state()?;
            if state.placer.resident_leaves() <= self.most_leaves {
                return Ok(());
            }
            if self.counters.meta_is_low() {
                // What is left of the metadata log is for a checkpoint.
                drop((state, one));
                return self.keep();
            }
            let time = state.time;
            match state.placer.evict_leaf() {
                Evicted::Gone => {}
                Evicted::Nothing => return Ok(()),
                Evicted::Changed(leaf, image) => {
                    drop(state);
                    let written = self.write_leaves(&[(leaf, image)], time);
                    let places = written.map_err(|error| self.fail(error))?;
                    let mut state = self.state()?;
                    for (leaf, at) in places {
                        state.root[leaf as usize] = at;
                        state.placer.leaf_written(leaf);
                    }
                }
            }
        }
    }

    /// Keeps the map within its memory as far as that needs no writing.
    pub fn drop_clean_leaves(&self) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let above = state.placer.resident_leaves().saturating_sub(self.most_leaves);
        // Looking for them costs a pass over all leaves.
        if above > self.layout.leaves() as usize / 64 {
            state.placer.drop_clean_leaves(above);
        }
        Ok(())
    }

    /// The cleaner's life.
    fn clean_always(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !(state.closing || state.failed.is_some())
                && (!state.placer.cleaning_due() || state.stuck == Some(state.time))
            {
                state = self.wake.wait(state).map_err(|_| poisoned())?;
            }
            if state.closing || state.failed.is_some() {
                return Ok(());
            }
            let before = (state.placer.free_zones(), state.placer.valid_pages());
            drop(state);
            let begun = Instant::now();
            let cleaned = self.clean()?;
            let state = self.state()?;
            let zone_pages = self.layout.fixed.zone_pages;
            let freed = (state.placer.free_zones().saturating_sub(before.0)) as u32 * zone_pages;
            drop(state);
            if cleaned {
                self.counters.set_pace(begun.elapsed() / freed.max(zone_pages / 8).max(1));
            }
        }
    }

    /// The keeper's life.
    fn keep_always(&self) -> Result<(), StoreError> {
        loop {
            let mut state = self.state()?;
            while !(state.closing || state.failed.is_some() || self.is_checkpoint_due(&state)) {
                state = self.wake.wait(state).map_err(|_| poisoned())?;
            }
            if state.closing || state.failed.is_some() {
                return Ok(());
            }
            drop(state);
            self.checkpoint()?;
        }
    }
}

fn poisoned() -> StoreError {
    StoreError::Panicked
}

/// A page store: pages of 4,096 bytes by LBA, kept on a zoned device.
///
/// It is shared by reference among threads. A write is atomic: after a crash a page is old or
/// new, never a mixture. After [`Store::sync`] everything that was written or trimmed before
/// survives any crash; without it a crash may lose it, in any order, but nothing older. What is
/// damaged on the device is reported when it is read, and never returned.
///
/// ```
/// use frostline_store::{Format, Open, Store};
/// use frostline_zone::{Shape, in_memory};
///
/// let shape = Shape { bytes: 64 << 20, ..Shape::default() };
/// let device = in_memory(&shape)?;
/// Store::format(device.clone(), &Format::default())?;
///
/// let store = Store::open(device.clone(), Open::default())?;
/// store.write(7, &[1; 4096])?;
/// store.sync()?;
/// let mut page = [0; 4096];
/// assert!(store.read(7, &mut page)?);
/// assert_eq!(page, [1; 4096]);
/// assert!(!store.read(8, &mut page)?);
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    pub(crate) inner: Arc<Inner>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Store {
    /// Makes an empty store of a device.
    ///
    /// # Errors
    /// The device holds data and `force` is not set, is too small or has too few open zones for
    /// the scheme; an unknown scheme or victim policy; an error of the device.
    pub fn format(device: Arc<dyn Device>, format: &Format) -> Result<(), StoreError> {
        recovery::format(device, format)
    }

    /// Opens a store, and repairs what a crash left. Reads the headers of what was written since
    /// the last checkpoint, and the contents of what is not known to have been durable.
    ///
    /// # Errors
    /// No store, one of a newer format, or one too damaged to be opened; an error of the device.
    pub fn open(device: Arc<dyn Device>, open: Open) -> Result<Store, StoreError> {
        let inner = Arc::new(recovery::open(device, &open)?);
        let before = Stats::of(&inner)?.written;
        inner.opened.get_or_init(|| before);
        let mut threads = Vec::new();
        if open.cleaning == Cleaning::Background {
            for live in [Inner::clean_always, Inner::keep_always] {
                let inner = inner.clone();
                threads.push(std::thread::spawn(move || {
                    if let Err(error) = live(&inner) {
                        inner.end_writing(error);
                    }
                }));
            }
        }
        Ok(Store { inner, threads: Mutex::new(threads) })
    }

    /// Writes a page.
    ///
    /// # Errors
    /// An LBA beyond the store, a content that is no page, a full store; an error of the device
    /// after which the store can only be read.
    pub fn write(&self, lba: u32, page: &[u8]) -> Result<(), StoreError> {
        self.write_batch(&[PageWrite { lba, page, hotness: None }])
    }

    /// Writes pages in order, quicker than one by one. Each is atomic, not all together.
    ///
    /// # Errors
    /// As for [`Store::write`]; pages before the one that failed are written.
    pub fn write_batch(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        let begun = Instant::now();
        let written = self.inner.write_pages(pages);
        self.inner.counters.wrote(begun.elapsed());
        written
    }

    /// Reads a page into `page`, 4,096 bytes. False, and `page` is as it was, if the page was
    /// never written or was trimmed.
    ///
    /// # Errors
    /// An LBA beyond the store; a page whose content is damaged or lost; an error of the device.
    pub fn read(&self, lba: u32, page: &mut [u8]) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let read = self.inner.read_page(lba, page);
        self.inner.counters.read(begun.elapsed());
        read
    }

    /// Forgets a page; true if there was one. Works on a full store.
    ///
    /// # Errors
    /// An LBA beyond the store; an error of the device.
    pub fn trim(&self, lba: u32) -> Result<bool, StoreError> {
        self.inner.trim(lba)
    }

    /// Makes everything that was written or trimmed before durable.
    ///
    /// # Errors
    /// An error of the device; then nothing is promised of what was not synced before.
    pub fn sync(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let synced = self.inner.sync();
        self.inner.counters.synced(begun.elapsed());
        synced
    }

    /// Writes a checkpoint: opening the store then reads no header before it.
    ///
    /// # Errors
    /// As for [`Store::sync`].
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.inner.checkpoint()
    }

    /// What happened so far.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        Stats::of(&self.inner)
    }

    /// Pages that the store can hold: LBAs are below this.
    pub fn pages(&self) -> u64 {
        self.inner.layout.fixed.logical_pages
    }

    /// Pages of the user that a zone can hold: those of the volume that places and cleans.
    pub fn zone_pages(&self) -> u32 {
        self.inner.layout.fixed.zone_pages
    }

    /// Writes a checkpoint and ends the store. A store that is dropped instead is as after a
    /// crash: nothing that was synced is lost.
    ///
    /// # Errors
    /// As for [`Store::sync`].
    pub fn close(self) -> Result<(), StoreError> {
        self.end();
        self.inner.checkpoint()
    }

    fn end(&self) {
        if let Ok(mut state) = self.inner.state() {
            state.closing = true;
        }
        self.inner.wake.notify_all();
        let threads = self.threads.lock().map(|mut all| std::mem::take(&mut *all));
        for thread in threads.unwrap_or_default() {
            // It tells its errors through the state.
            let _ = thread.join();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.end();
    }
}
