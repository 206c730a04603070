//! The store as a sequence of bytes.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use frostline_store::{PageWrite, Store, StoreError};

/// Bytes of a page.
pub const PAGE: usize = 4096;
const _: () = assert!(PAGE.is_power_of_two());

/// Pages in one write call to the store: a request of a block device is rarely longer, and the
/// store sees what follows in a request by the pages of a call.
const BATCH: usize = 8192;

/// A disk without a change for so long is idle: it has time to flush.
pub const IDLE: Duration = Duration::from_millis(500);

/// A change that no client flushes is flushed after this time, however busy the disk is.
pub const OLDEST: Duration = Duration::from_secs(5);

/// Pages per look-up in the store's map.
const STEP: u32 = 8192;

/// A page of zeroes.
static ZEROES: [u8; PAGE] = [0; PAGE];

/// A range of bytes that the store holds as a whole, or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length in bytes.
    pub length: u64,
    /// True if the store holds no byte of it: it reads as zeroes.
    pub is_hole: bool,
}

/// A store with byte addresses.
pub struct Disk<'a> {
    store: &'a Store,
    /// Changes of parts of pages exclude all other changes: between reading a page and writing it
    /// changed, no other write may happen, because it would be undone.
    changes: RwLock<()>,
    /// Changes so far.
    made: AtomicU64,
    /// Those of them that are durable.
    durable: AtomicU64,
    /// What the last look at the unflushed changes saw.
    seen: Mutex<Option<Seen>>,
}

/// Unflushed changes.
#[derive(Clone, Copy)]
struct Seen {
    /// How many changes had been made in all.
    made: u64,
    /// When the last one was seen for the first time.
    last: Instant,
    /// When the first one that is unflushed was seen.
    first: Instant,
}

/// The part of a range of bytes that lies in one page.
struct PagePart {
    lba: u32,
    /// Its bytes within the page.
    within: Range<usize>,
    /// Its bytes within the range.
    at: Range<usize>,
}

impl PagePart {
    fn is_whole(&self) -> bool {
        self.within.len() == PAGE
    }
}

/// The parts of a range, page by page, in order.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = PagePart> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = offset + at as u64;
        let within = (begin % PAGE as u64) as usize;
        let bytes = (PAGE - within).min(length - at);
        let range = at..at + bytes;
        at += bytes;
        debug_assert!(begin / (PAGE as u64) <= u64::from(u32::MAX), "an LBA has 32 bits");
        let lba = (begin / PAGE as u64) as u32;
        (bytes > 0).then_some(PagePart { lba, within: within..within + bytes, at: range })
    })
}

/// The pages that lie completely in a range of bytes.
fn whole_pages(offset: u64, length: u64) -> Range<u32> {
    assert!((offset + length) / (PAGE as u64) <= u64::from(u32::MAX), "an LBA has 32 bits");
    let first = offset.div_ceil(PAGE as u64);
    let end = (offset + length) / PAGE as u64;
    first as u32..end.max(first) as u32
}

/// Adds bytes to the last extent if both are holes or both are not.
fn extend(extents: &mut Vec<Extent>, length: u64, is_hole: bool) {
    match extents.last_mut() {
        Some(last) if last.is_hole == is_hole => last.length += length,
        _ if length > 0 => extents.push(Extent { length, is_hole }),
        _ => {}
    }
}

impl<'a> Disk<'a> {
    /// The whole store.
    pub fn new(store: &'a Store) -> Self {
        let (made, durable) = (AtomicU64::new(0), AtomicU64::new(0));
        Disk { store, changes: RwLock::new(()), made, durable, seen: Mutex::new(None) }
    }

    /// The size in bytes.
    pub fn size(&self) -> u64 {
        self.store.pages() * PAGE as u64
    }

    /// Reads into `into`, which must hold zeroes; returns the extents of the range.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<Vec<Extent>, StoreError> {
        let mut extents = Vec::new();
        for part in parts(offset, into.len()) {
            let bytes = &mut into[part.at.clone()];
            let is_there = match part.is_whole() {
                true => self.store.read(part.lba, bytes)?,
                false => {
                    let (page, is_there) = self.page(part.lba)?;
                    bytes.copy_from_slice(&page[part.within]);
                    is_there
                }
            };
            extend(&mut extents, part.at.len() as u64, !is_there);
        }
        let covered: u64 = extents.iter().map(|extent| extent.length).sum();
        assert_eq!(covered, into.len() as u64, "the extents cover what is read");
        Ok(extents)
    }

    /// The content of a page, zeroes if the store does not hold it, and whether the store holds it.
    fn page(&self, lba: u32) -> Result<([u8; PAGE], bool), StoreError> {
        let mut page = [0; PAGE];
        let is_there = self.store.read(lba, &mut page)?;
        Ok((page, is_there))
    }

    /// Writes bytes.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.change(offset, bytes.len(), &mut |at| &bytes[at])
    }

    /// Writes zeroes, which take space in the store.
    pub fn write_zeroes(&self, offset: u64, length: u32) -> Result<(), StoreError> {
        self.change(offset, length as usize, &mut |at| &ZEROES[..at.len()])
    }

    /// Writes the bytes that `of` gives for each part of a range.
    fn change<'b>(
        &self,
        offset: u64,
        length: usize,
        of: &mut dyn FnMut(Range<usize>) -> &'b [u8],
    ) -> Result<(), StoreError> {
        let mut batch = Vec::with_capacity(BATCH.min(length / PAGE + 1));
        for part in parts(offset, length) {
            if part.is_whole() {
                batch.push(PageWrite {
                    lba: part.lba,
                    page: of(part.at),
                    hotness: None,
                    changed: None,
                });
            } else {
                self.patch(&part, of(part.at.clone()))?;
            }
            if batch.len() == BATCH {
                self.write_pages(&batch)?;
                batch.clear();
            }
        }
        self.write_pages(&batch)
    }

    fn write_pages(&self, batch: &[PageWrite<'_>]) -> Result<(), StoreError> {
        let _others_may = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        self.store.write_batch(batch)?;
        self.changed();
        Ok(())
    }

    /// Changes a part of a page.
    fn patch(&self, part: &PagePart, bytes: &[u8]) -> Result<(), StoreError> {
        let _alone = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        let (mut page, _) = self.page(part.lba)?;
        page[part.within.clone()].copy_from_slice(bytes);
        self.store.write(part.lba, &page)?;
        self.changed();
        Ok(())
    }

    /// Counts a change, after it was made: a flush that has counted it has made it durable.
    fn changed(&self) {
        self.made.fetch_add(1, Ordering::Release);
    }

    /// Sets a range to zeroes that take no space, except in parts of pages at its ends.
    pub fn zero(&self, offset: u64, length: u32) -> Result<(), StoreError> {
        let is_part = |part: &PagePart| !part.is_whole();
        for part in parts(offset, length as usize).filter(is_part) {
            // A page that the store does not hold is zero already.
            if self.is_there(part.lba)? {
                self.patch(&part, &ZEROES[..part.at.len()])?;
            }
        }
        self.trim(offset, length)
    }

    fn is_there(&self, lba: u32) -> Result<bool, StoreError> {
        let mut is_there = false;
        self.store.mapped(lba..lba + 1, &mut |_| is_there = true)?;
        Ok(is_there)
    }

    /// Trims the pages that lie completely in a range.
    pub fn trim(&self, offset: u64, length: u32) -> Result<(), StoreError> {
        let _others_may = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        let pages = whole_pages(offset, u64::from(length));
        let mut mapped = Vec::new();
        for first in pages.clone().step_by(STEP as usize) {
            let step = first..first.saturating_add(STEP).min(pages.end);
            self.store.mapped(step, &mut |lba| mapped.push(lba))?;
            for lba in mapped.drain(..) {
                self.store.trim(lba)?;
                self.changed();
            }
        }
        Ok(())
    }

    /// The extents of a range from its beginning on, at most `most`; they may end before the range
    /// does.
    pub fn extents(
        &self,
        offset: u64,
        length: u32,
        most: usize,
    ) -> Result<Vec<Extent>, StoreError> {
        let mut extents: Vec<Extent> = Vec::new();
        let end = offset + u64::from(length);
        let pages = (offset / PAGE as u64) as u32..end.div_ceil(PAGE as u64) as u32;
        let bytes_of = |lba: u32| {
            let begin = u64::from(lba) * PAGE as u64;
            (begin + PAGE as u64).min(end) - begin.max(offset)
        };
        for first in pages.clone().step_by(STEP as usize) {
            let step = first..first.saturating_add(STEP).min(pages.end);
            let mut next = first;
            let add = |extents: &mut Vec<Extent>, pages: Range<u32>, is_hole| {
                pages.for_each(|lba| extend(extents, bytes_of(lba), is_hole));
            };
            self.store.mapped(step.clone(), &mut |lba| {
                add(&mut extents, next..lba, true);
                add(&mut extents, lba..lba + 1, false);
                next = lba + 1;
            })?;
            add(&mut extents, next..step.end, true);
            if extents.len() > most {
                break;
            }
        }
        extents.truncate(most);
        let covered: u64 = extents.iter().map(|extent| extent.length).sum();
        assert!(covered <= u64::from(length), "the extents lie in the range");
        Ok(extents)
    }

    /// Makes all earlier changes durable.
    pub fn flush(&self) -> Result<(), StoreError> {
        let made = self.made.load(Ordering::Acquire);
        self.store.sync()?;
        self.durable.fetch_max(made, Ordering::Release);
        Ok(())
    }

    /// Flushes what no client has flushed, once the disk is idle or the oldest of it is five
    /// seconds old. Who serves a disk calls this ten times a second or so.
    ///
    /// # Errors
    /// The store can't be synced. It is not tried again before there are more changes.
    pub fn flush_when_idle(&self, now: Instant) -> Result<(), StoreError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.made.load(Ordering::Acquire);
        if made == self.durable.load(Ordering::Acquire) {
            *seen = None;
            return Ok(());
        }
        let found = seen.get_or_insert(Seen { made, last: now, first: now });
        if found.made != made {
            (found.made, found.last) = (made, now);
        }
        assert!(found.first <= found.last, "the first change came before the last");
        if now - found.last < IDLE && now - found.first < OLDEST {
            return Ok(());
        }
        *seen = None;
        let flushed = self.flush();
        if flushed.is_err() {
            self.durable.fetch_max(made, Ordering::Release);
        }
        flushed
    }
}
