//! The store as its users see it.

use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::Instant;

use frostline_placement::Hotness;
use frostline_zone::{Device, Overlay};

use crate::engine::Engine;
use crate::format::MOST_MARKS;
use crate::format::delta::ChangedWords;
use crate::recovery::Opened;
use crate::sync::{Builder, JoinHandle, Mutex};
use crate::{
    Buffer, Cleaning, DeltaWrite, Durable, Format, Loss, Observer, Open, PageDelta, PageRead,
    PageWrite, Rebuilt, RecordKind, RoomFor, StoreError, StoreEvent, Written, recovery,
};

/// A page store: pages of 4,096 bytes by LBA, kept on a zoned device.
///
/// It is shared by reference among threads. A write is atomic: after a crash a page is old or
/// new, never a mixture. After [`Store::sync`] everything that was written or trimmed before
/// survives any crash; without it a crash may lose it, in any order, but nothing older. What is
/// damaged on the device is reported when it is read, and never returned.
pub struct Store {
    pub(crate) engine: Arc<Engine>,
    /// Synced pages that were missing when it was opened.
    missing: Vec<Loss>,
    /// The device below, if the store is only looked into.
    pub(crate) below: Option<Arc<dyn Device>>,
    /// Pages written before it was opened.
    pub(crate) opened: Written,
    /// The moment at which it was opened.
    pub(crate) begun: Instant,
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

    /// The zones that the store on a device was formatted with. The device may have more: then
    /// the store is on its first ones, and opened on a [`frostline_zone::Span`] of them.
    ///
    /// # Errors
    /// No store, or one of a newer format; an error of the device.
    pub fn zones_on(device: &dyn Device) -> Result<u32, StoreError> {
        recovery::zones_on(device)
    }

    /// The number of the store on a device, drawn when it was formatted.
    ///
    /// # Errors
    /// As for [`Store::zones_on`].
    pub fn number_on(device: &dyn Device) -> Result<u64, StoreError> {
        recovery::number_on(device)
    }

    /// Opens a store, and repairs what a crash left. Reads the headers of what was written since
    /// the last checkpoint, and the contents of what is not known to have been durable.
    ///
    /// # Errors
    /// No store, one of a newer format, or one too damaged to be opened; synced pages are missing
    /// ([`StoreError::Missing`]) and [`Open::accept_loss`] is not set; no thread can be started; an
    /// error of the device.
    pub fn open(device: Arc<dyn Device>, open: Open) -> Result<Store, StoreError> {
        let Opened { engine, missing, dropped } = recovery::open(device, &open)?;
        let engine = Arc::new(engine);
        let opened = engine.core.state()?.written(engine.metadata.usage().pages());
        let (begun, threads) = (Instant::now(), Mutex::default());
        let store = Store { engine, missing, below: None, opened, begun, threads };
        if open.cleaning == Cleaning::Background {
            store.start("frostline-cleaner", |engine| engine.upkeep.run_cleaner())?;
            store.start("frostline-checkpointer", |engine| engine.upkeep.run_checkpointer())?;
        }
        store.engine.rewrite_dropped(&dropped)?;
        Ok(store)
    }

    /// Starts a thread of the store's own. If it can't be, the store is dropped, which ends the
    /// others.
    fn start(
        &self,
        name: &str,
        run: impl Fn(&Engine) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), StoreError> {
        let engine = self.engine.clone();
        let live = move || {
            if let Err(error) = run(&engine) {
                engine.core.end_writing(&error);
            }
        };
        let started = Builder::new().name(name.to_string()).spawn(live);
        let thread = started.map_err(|error| StoreError::Thread(Arc::new(error)))?;
        self.threads.lock().map_err(|_| StoreError::Panicked)?.push(thread);
        Ok(())
    }

    /// Opens a store to look into it, whatever it lacks: what recovery would write, and whatever is
    /// written through this store, stays in memory ([`Overlay`]) and is gone when the store is
    /// dropped. So the device may be open for reading only. Memory is that of a store and what
    /// recovery writes: the leaves that changed since the last checkpoint and a table, at most the
    /// map once more.
    ///
    /// # Errors
    /// As for [`Store::open`], except that missing pages are no error: see [`Store::missing`].
    pub fn inspect(device: Arc<dyn Device>) -> Result<Store, StoreError> {
        let view = Overlay::over(device.clone(), u64::MAX)?;
        let open = Open { cleaning: Cleaning::Inline, accept_loss: true, ..Open::default() };
        let mut store = Store::open(view, open)?;
        store.below = Some(device);
        Ok(store)
    }

    /// Synced pages that were missing when the store was opened, by zone of the device.
    pub fn missing(&self) -> &[Loss] {
        &self.missing
    }

    /// Makes the metadata of a store anew from the headers of its chunks, whatever superblocks,
    /// tables and leaves are lost or damaged. Data zones stay as they are, unless a crash left
    /// copies of pages that do not count: such pages are written once more. Where no superblock is
    /// left, `format` must have the options that the store was formatted with; the other way round
    /// only its `schemes` are looked at. Memory is about 80 bytes for each page that is written,
    /// valid or not.
    ///
    /// Pages that were trimmed may be back: notes of trims are kept until the next checkpoint only.
    /// If pages are known to be missing ([`Rebuilt::missing`]) older copies of them may be back;
    /// that is refused unless `accept_loss` is set.
    ///
    /// # Errors
    /// Nothing of a store is there; options that can't have been the store's; missing pages
    /// ([`StoreError::Missing`]); an error of the device.
    pub fn rebuild(
        device: Arc<dyn Device>,
        format: &Format,
        accept_loss: bool,
    ) -> Result<Rebuilt, StoreError> {
        let (rebuilt, dropped) = recovery::rebuild(device.clone(), format, accept_loss)?;
        if !dropped.is_empty() {
            // The next write to the store may destroy the evidence that these copies do not count.
            let (cleaning, schemes) = (Cleaning::Inline, format.schemes);
            let open = Open { cleaning, schemes, accept_loss, ..Open::DEFAULT };
            let store = Store::open(device, open)?;
            store.engine.rewrite_dropped(&dropped)?;
            store.close()?;
        }
        Ok(rebuilt)
    }

    /// Writes a page.
    ///
    /// # Errors
    /// An LBA beyond the store, a content that is no page, a full store; an error of the device
    /// after which the store can only be read.
    pub fn write(&self, lba: u32, page: &[u8]) -> Result<(), StoreError> {
        self.write_batch(&[PageWrite { lba, page, hotness: None, changed: None }])
    }

    /// Writes pages in order, quicker than one by one. Each is atomic, not all together. Pages with
    /// successive LBAs are taken for one request by schemes that go by what follows in it.
    ///
    /// # Errors
    /// As for [`Store::write`]; pages before the one that failed are written.
    pub fn write_batch(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        let begun = Instant::now();
        let written = self.engine.write_pages(pages);
        self.engine.core.counters.wrote(begun.elapsed());
        written
    }

    /// The changed words of a page, 4,096 bytes, to be kept apart from it: those that its delta or
    /// its tail would have, as [`ChangedWords::kind`] says. None if they are too many, or the store
    /// has no deltas.
    pub fn delta(&self, page: &[u8], changed: &ChangedWords) -> Option<PageDelta> {
        PageDelta::of(page, changed, self.engine.core.layout.sizes)
    }

    /// Writes pages as deltas or tails, in order, as [`Store::write_batch`] writes whole pages.
    /// Returns the LBAs of those whose base does not take a delta: they have to be written as a
    /// whole.
    ///
    /// # Errors
    /// As for [`Store::write_batch`].
    pub fn write_deltas(&self, writes: &[DeltaWrite<'_>]) -> Result<Vec<u32>, StoreError> {
        let begun = Instant::now();
        let written = self.engine.write_deltas(writes);
        self.engine.core.counters.wrote(begun.elapsed());
        written
    }

    /// Writes pages as a group, and makes it durable with everything that was written or trimmed
    /// before. After a crash the store has all pages of the group or none; readers may see it
    /// before it is durable. Of a page that is there more than once the last content counts. Memory
    /// is that of the pages; other threads' writes and trims wait until the group is durable.
    ///
    /// # Errors
    /// As for [`Store::write`] and [`Store::sync`]. A group that is larger than
    /// [`Store::group_room`] is refused ([`StoreError::GroupTooLarge`]), and so is one with
    /// more new pages than the store can hold; nothing is written then.
    pub fn write_group(&self, pages: &[PageWrite<'_>]) -> Result<(), StoreError> {
        let begun = Instant::now();
        let written = self.engine.write_group(pages);
        self.engine.core.counters.synced(begun.elapsed());
        written
    }

    /// Pages that a group may have now: those that fit into the free zones but one. A store that is
    /// full has about as many free zones as its reserve ([`Format::reserve`]).
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn group_room(&self) -> Result<u64, StoreError> {
        Ok(self.engine.core.state()?.group_room())
    }

    /// Reads a page into `page`, 4,096 bytes. False, and `page` is as it was, if the page was
    /// never written or was trimmed.
    ///
    /// # Errors
    /// An LBA beyond the store; a page whose content is damaged or lost; an error of the device.
    pub fn read(&self, lba: u32, page: &mut [u8]) -> Result<bool, StoreError> {
        self.read_changed(lba, page, &mut ChangedWords::default())
    }

    /// The same, and finds the words in which the page may differ from its base: a writer that
    /// changes more of them has those for its next [write](PageWrite::changed).
    ///
    /// # Errors
    /// As for [`Store::read`].
    pub fn read_changed(
        &self,
        lba: u32,
        page: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let read = self.engine.read_page(lba, None, page, changed);
        self.engine.core.counters.read(begun.elapsed());
        read
    }

    /// Reads a page as changes make it that were [kept apart](Store::delta) from it and are not
    /// written; and finds the words in which it may differ from its base. What these changes
    /// replace is not read. Words that were no longer in use, and were left out, hold anything.
    ///
    /// # Errors
    /// As for [`Store::read`].
    pub fn read_with(
        &self,
        lba: u32,
        kept: &PageDelta,
        page: &mut [u8],
        changed: &mut ChangedWords,
    ) -> Result<bool, StoreError> {
        let begun = Instant::now();
        let read = self.engine.read_page(lba, Some(kept), page, changed);
        self.engine.core.counters.read(begun.elapsed());
        read
    }

    /// Reads pages, all that is on the device of them side by side. Returns for each what a read of
    /// it alone would have: an error of one leaves the others as they are.
    pub fn read_pages(&self, reads: &mut [PageRead<'_>]) -> Vec<Result<bool, StoreError>> {
        let begun = Instant::now();
        let results = self.engine.read_pages(reads);
        self.engine.core.counters.read(begun.elapsed());
        results
    }

    /// True if a page has a delta: if not, it differs from its base in no word. A writer that
    /// remembers the words of its last write learns by this that cleaning merged them.
    ///
    /// # Errors
    /// An LBA beyond the store; an error of the device.
    pub fn has_delta(&self, lba: u32) -> Result<bool, StoreError> {
        self.engine.has_delta(lba)
    }

    /// Calls `visit` with the LBA of every page of a range that was written and not trimmed, in
    /// order: how an engine learns which of its pages are in use. Pages that [`Store::read`] would
    /// report as damaged or lost are among them; beyond the store there are none.
    ///
    /// No page is read, and of the map only leaves that are not in memory. What other threads write
    /// or trim meanwhile may be among them or not. `visit` may use the store.
    ///
    /// # Errors
    /// A part of the map is damaged; an error of the device.
    pub fn mapped(&self, lbas: Range<u32>, visit: &mut dyn FnMut(u32)) -> Result<(), StoreError> {
        self.engine.reader.mapped_pages(lbas, visit)
    }

    /// Calls `visit` with parts of a range of LBAs, in order, and how many pages [`Store::mapped`]
    /// has of each. Of LBAs between them it has none.
    ///
    /// No page is read. Of the map the two leaves are in which the range begins and ends, and those
    /// that an earlier build wrote.
    ///
    /// # Errors
    /// As for [`Store::mapped`].
    pub fn mapped_counts(
        &self,
        lbas: Range<u32>,
        visit: &mut dyn FnMut(Range<u32>, u32),
    ) -> Result<(), StoreError> {
        self.engine.reader.mapped_counts(lbas, visit)
    }

    /// Forgets a page; true if there was one. Works on a full store.
    ///
    /// # Errors
    /// An LBA beyond the store; an error of the device.
    pub fn trim(&self, lba: u32) -> Result<bool, StoreError> {
        self.engine.trim_page(lba)
    }

    /// Makes everything that was written or trimmed before durable.
    ///
    /// # Errors
    /// An error of the device; then nothing is promised of what was not synced before.
    pub fn sync(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        let synced = self.engine.chunks.sync();
        self.engine.core.counters.synced(begun.elapsed());
        synced
    }

    /// Writes a checkpoint: opening the store then reads no header before it.
    ///
    /// # Errors
    /// As for [`Store::sync`].
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        self.engine.checkpoint(false)
    }

    /// A number that an engine keeps with the store, so that what it has elsewhere can be held
    /// against it: the position up to which a log was durable, say. It is the largest that it was
    /// [set](Store::set_mark) to, or, after a crash, that of the last chunk or checkpoint; 0 if it
    /// never was.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn mark(&self, slot: u32) -> Result<u64, StoreError> {
        Ok(self.engine.core.state()?.marks().get(slot))
    }

    /// Sets a mark, unless it is larger already. What is written from now on takes it along: each
    /// chunk the one that was set last, a checkpoint all of them.
    ///
    /// # Errors
    /// A number of 256 or more; a thread of the store panicked.
    pub fn set_mark(&self, slot: u32, value: u64) -> Result<(), StoreError> {
        if slot >= MOST_MARKS {
            let why = format!("{slot} is not below {MOST_MARKS}");
            return Err(StoreError::Options { what: "number of a mark", why });
        }
        self.engine.core.state()?.marks_mut().set(slot, value);
        Ok(())
    }

    /// Writes a checkpoint, and tells in another zone that it was written, as [`Store::close`]
    /// does: for the last user of a store that is shared. More may be written behind it.
    ///
    /// # Errors
    /// As for [`Store::sync`].
    pub fn leave(&self) -> Result<(), StoreError> {
        self.engine.upkeep.tidy()?;
        self.engine.checkpointer.write_last()?;
        self.engine.cleaner.write_witness()
    }

    /// How much of what was written is durable, as far as the store knows.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn durable(&self) -> Result<Durable, StoreError> {
        let state = self.engine.core.state()?;
        Ok(Durable { chunks: state.chunks().durable(), notes: state.notes().durable() })
    }

    /// The number of victims since the store was opened, by garbage as in
    /// [`Counts::victim_garbage`](frostline_log::Counts). It is long, so it is not among the
    /// statistics.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn victim_garbage(&self) -> Result<Vec<u64>, StoreError> {
        Ok(self.engine.core.state()?.counts().victim_garbage.clone())
    }

    /// Counts from now on which copies were of frozen pages
    /// ([`Stats::copied`](crate::Stats::copied)), for as long as the store is open. Takes 4 bytes
    /// for each page that the store can hold.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn count_copies(&self) -> Result<(), StoreError> {
        self.engine.core.state()?.count_copies();
        Ok(())
    }

    /// Promises an engine of a [thin](crate::Format::thin) store that it can write so many pages,
    /// whole, whatever others write. It replaces what the engine was promised before, so the pages
    /// that it has not written since are to be among them. It gets `wishes` pages if there are
    /// many, and `needs` at least. None, and the former promise stays, if there are fewer. Writes
    /// of the engine do not count against the promise: it asks again when it has changed as many
    /// pages.
    ///
    /// A part of the room is kept for what makes pages shorter or leaves them as they are: see
    /// [`RoomFor`].
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn promise(
        &self,
        engine: u32,
        needs: u64,
        wishes: u64,
        room: RoomFor,
    ) -> Result<Option<u64>, StoreError> {
        Ok(self.engine.core.state()?.promise(engine, needs, wishes, room))
    }

    /// Cleaning asks this buffer for newer versions of the pages that it is about to copy, until it
    /// is
    /// [removed](Store::remove_buffer).
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn add_buffer(&self, buffer: Weak<dyn Buffer>) -> Result<(), StoreError> {
        self.engine.cleaner.add_buffer(buffer)
    }

    /// Cleaning asks this buffer no more, and does not use it any more when this returns.
    ///
    /// # Errors
    /// A thread of the store panicked.
    pub fn remove_buffer(&self, buffer: &Weak<dyn Buffer>) -> Result<(), StoreError> {
        self.engine.cleaner.remove_buffer(buffer)
    }

    /// Tells an observer of all pages that are there, and of every event from now on. Those that
    /// are there are taken for written in the order of their LBAs, and for synced.
    ///
    /// # Errors
    /// A part of the map is damaged; an error of the device.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> Result<(), StoreError> {
        let mut pages = Vec::new();
        self.mapped(0..u32::MAX, &mut |lba| pages.push(lba))?;
        for lba in pages {
            let page = self.engine.loader.mapped(self.engine.core.state()?, lba)?;
            let unit = self.engine.core.layout.sizes.unit();
            let kinds = [RecordKind::Image, RecordKind::Delta, RecordKind::Tail];
            let records = kinds.map(|kind| (page.place_of(kind), kind));
            drop(page);
            for (place, kind) in records {
                if let Some((at, _)) = place {
                    let bytes = (at.units * unit) as u16;
                    let hotness = Hotness::default();
                    let following = 0;
                    observer.on(StoreEvent::Written { lba, hotness, bytes, kind, following });
                }
            }
        }
        observer.on(StoreEvent::Synced);
        self.engine.core.state()?.set_observer(observer);
        Ok(())
    }

    /// Pages that the store can hold: LBAs are below this.
    pub fn pages(&self) -> u64 {
        self.engine.core.layout.fixed.logical_pages
    }

    /// Bytes of a unit: pages take as many as their records need
    /// ([`Format::unit`](crate::Format::unit)).
    pub fn unit(&self) -> u32 {
        self.engine.core.layout.sizes.unit()
    }

    /// True if a page may be written as the words that [changed](crate::PageWrite::changed): its
    /// units are shorter than a page.
    pub fn has_deltas(&self) -> bool {
        self.engine.core.layout.sizes.has_deltas()
    }

    /// Pages of the user that a zone can hold: those of the volume that places and cleans.
    pub fn zone_pages(&self) -> u32 {
        self.engine.core.layout.fixed.zone_pages
    }

    /// Writes a checkpoint and ends the store. A store that is dropped instead is as after a
    /// crash: nothing that was synced is lost.
    ///
    /// # Errors
    /// As for [`Store::sync`].
    pub fn close(self) -> Result<(), StoreError> {
        self.end();
        self.leave()
    }

    fn end(&self) {
        if let Ok(mut state) = self.engine.core.state() {
            state.close();
        }
        self.engine.core.wake();
        let threads = self.threads.lock().map(|mut all| std::mem::take(&mut *all));
        for thread in threads.unwrap_or_default() {
            // Its errors are in the state.
            let _ = thread.join();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.end();
    }
}
