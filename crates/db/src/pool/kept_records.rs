//! Records of pages that left memory: those for which their page had to be read stay longer than it, to be read
//! and changed without it.
//!
//! A page has some dozens of records, of which one or two are asked for again and again. In place of the page these
//! take a twentieth of the memory. What changes here is written to its page when that is in memory: as something else
//! needs it, as the log has to be cut, or as the memory is needed here.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};

use super::frame::CLEAN;
use super::page_records::PageRecords;
use crate::DbError;
use crate::mvcc::{Change, Lookup, WriteKind};
use crate::node::Node;

/// Parts of the table, each with a lock.
const PARTS: usize = 16;

/// Bytes for a page besides its records, about: its place in the list, and what the allocator adds.
const OVERHEAD: usize = 80 + size_of::<PageRecords>();

/// Pages that are named at once to be read, for each part.
const NEEDED: usize = 2;

/// Records by their pages. Values are here while the page is not in memory; keys may be before.
pub struct KeptRecords {
    parts: Box<[Mutex<Part>]>,
    most_bytes: AtomicUsize,
}

struct Part {
    /// The list begins with the pages of which a record was used last.
    by_page: LruCache<u32, PageRecords>,
    bytes: usize,
}

impl Part {
    fn put(&mut self, page: u32, records: PageRecords) {
        if !records.is_empty() {
            self.bytes += memory_bytes(&records);
            self.by_page.put(page, records);
        }
    }

    fn remove(&mut self, page: u32) -> Option<PageRecords> {
        self.by_page.pop(&page).inspect(|records| self.bytes -= memory_bytes(records))
    }

    /// Changes the records of a page, without a change of its place in the list.
    fn alter(&mut self, page: u32, alter: impl FnOnce(&mut PageRecords)) {
        let Some(records) = self.by_page.peek_mut(&page) else { return };
        self.bytes -= memory_bytes(records);
        alter(records);
        self.bytes += memory_bytes(records);
        if records.is_empty() {
            self.remove(page);
        }
    }
}

fn memory_bytes(records: &PageRecords) -> usize {
    OVERHEAD + records.heap_bytes()
}

impl KeptRecords {
    /// None, and room for so many bytes.
    pub fn new(most_bytes: usize) -> Self {
        let part = || Mutex::new(Part { by_page: LruCache::unbounded(), bytes: 0 });
        KeptRecords { parts: (0..PARTS).map(|_| part()).collect(), most_bytes: most_bytes.into() }
    }

    /// Bytes of memory that records take at most.
    pub fn most_bytes(&self) -> usize {
        self.most_bytes.load(Relaxed)
    }

    /// Gives records so many bytes; [`Self::drop_excess`] takes them away.
    pub fn set_most_bytes(&self, bytes: usize) {
        self.most_bytes.store(bytes, Relaxed);
    }

    /// Bytes of memory that records take.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(|part| part.lock().bytes).sum()
    }

    fn part(&self, page: u32) -> MutexGuard<'_, Part> {
        self.parts[page as usize % PARTS].lock()
    }

    /// Puts the value of a record into `value`, and returns the log position of its last change, or a later one.
    /// None if it is not here, or `is_absent` says that its page is in memory by now.
    pub fn get(
        &self,
        page: u32,
        key: &[u8],
        is_absent: impl FnOnce() -> bool,
        value: &mut Vec<u8>,
    ) -> Option<u64> {
        let mut part = self.part(page);
        let records = part.by_page.get_mut(&page)?;
        let kept = records.value(key).filter(|_| is_absent())?;
        value.clear();
        value.extend_from_slice(kept);
        Some(records.position)
    }

    /// Makes the change of a record that the log has at `position`, after `keep` got a function that appends the old
    /// value. False if it is not here, `is_absent` says that its page is in memory by now, or the change
    /// needs the page.
    pub fn change(
        &self,
        page: u32,
        key: &[u8],
        is_absent: impl FnOnce() -> bool,
        (change, position): (Change<'_>, u64),
        keep: impl FnOnce(&mut dyn FnMut(&mut Vec<u8>) -> Lookup),
    ) -> bool {
        let mut part = self.part(page);
        let Some(records) = part.by_page.get_mut(&page) else { return false };
        let fits = |value: &[u8]| match change.kind {
            WriteKind::Put => change.value.len() == value.len(),
            WriteKind::Patch => true,
            WriteKind::PutOverflow | WriteKind::Delete => false,
        };
        if !records.value(key).is_some_and(fits) || !is_absent() {
            return false;
        }
        let Some(value) = records.change(key, position) else { return false };
        keep(&mut |before: &mut Vec<u8>| {
            before.extend_from_slice(value);
            Lookup::Value
        });
        match change.kind {
            WriteKind::Patch => change.patch(value),
            _ => value.copy_from_slice(change.value),
        }
        true
    }

    /// Notes that a page had to be read for a record.
    pub fn note(&self, page: u32, key: &[u8]) {
        if self.most_bytes() == 0 {
            return;
        }
        let mut part = self.part(page);
        let Part { by_page, bytes } = &mut *part;
        let records = by_page.get_or_insert_mut(page, || {
            *bytes += OVERHEAD;
            PageRecords::new()
        });
        *bytes -= records.heap_bytes();
        records.note(key);
        *bytes += records.heap_bytes();
    }

    /// Takes the values of records from a page that leaves memory; its latch is held.
    pub fn take_values(&self, page: u32, node: Node<'_>) {
        self.part(page).alter(page, |records| records.take_values(node));
    }

    /// Lets `give` write to a page what changed here, and make it known as in memory. From then on the values are
    /// there alone; after an error they are still here.
    pub fn give_back(
        &self,
        page: u32,
        give: impl FnOnce(Option<&PageRecords>) -> Result<(), DbError>,
    ) -> Result<(), DbError> {
        let mut part = self.part(page);
        give(part.by_page.peek(&page).filter(|records| records.is_dirty()))?;
        part.alter(page, PageRecords::drop_values);
        Ok(())
    }

    /// Forgets the records of a page, which is free.
    pub fn forget(&self, page: u32) {
        self.part(page).remove(page);
    }

    /// Drops records that were not used of late, until the others take no more memory than they may. Returns
    /// pages that have to come into memory first, as they lack changes of such records.
    pub fn drop_excess(&self) -> Vec<u32> {
        let most = self.most_bytes() / PARTS;
        let mut needed = Vec::new();
        for part in &self.parts {
            let (mut part, first) = (part.lock(), needed.len());
            for _ in 0..part.by_page.len() {
                if part.bytes <= most || needed.len() - first == NEEDED {
                    break;
                }
                let Some((page, mut records)) = part.by_page.pop_lru() else { break };
                part.bytes -= memory_bytes(&records);
                match records.is_dirty() && !records.is_used() {
                    true => needed.push(page),
                    false => records.drop_unused(),
                }
                part.put(page, records);
            }
        }
        needed
    }

    /// Pages that lack changes that need the log from before `position`.
    pub fn changed_before(&self, position: u64) -> Vec<u32> {
        let mut pages = Vec::new();
        for part in &self.parts {
            let part = part.lock();
            let older = part.by_page.iter().filter(|(_, records)| records.dirty_from < position);
            pages.extend(older.map(|(&page, _)| page));
        }
        pages
    }

    /// The log position from which recovery would redo all changes; [`CLEAN`] if there are none.
    pub fn needs_log_from(&self) -> u64 {
        let of_part = |part: &Mutex<Part>| {
            part.lock().by_page.iter().map(|(_, records)| records.dirty_from).min()
        };
        self.parts.iter().filter_map(of_part).min().unwrap_or(CLEAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Fences, NodeMut, PageBytes, Record};

    /// A page with one record.
    fn page(key: u8) -> Box<PageBytes> {
        let page = PageBytes::zeroed();
        let mut node = NodeMut::format(&page, 9, 0, Fences { lower: &[], upper: None });
        assert!(node.push(&[key], Record { value: &[key; 100], flags: 0 }));
        node.raise_position(7);
        page
    }

    /// Notes a record of a page that then leaves.
    fn keep(kept: &KeptRecords, number: u32) {
        let key = number as u8;
        kept.note(number, &[key]);
        kept.take_values(number, Node::of(&page(key)));
    }

    fn get(kept: &KeptRecords, page: u32) -> bool {
        let mut value = Vec::new();
        let position = kept.get(page, &[page as u8], || true, &mut value);
        assert!(position.is_none_or(|position| position >= 7 && value == [page as u8; 100]));
        position.is_some()
    }

    fn change(kept: &KeptRecords, page: u32, kind: WriteKind, value: &[u8], position: u64) -> bool {
        let change = (Change { kind, value }, position);
        kept.change(page, &[page as u8], || true, change, |_| ())
    }

    #[test]
    fn records_that_were_used_stay_and_pages_that_lack_changes_are_named() {
        // All of one part, which has room for four.
        let numbers = [0, 16, 32, 48, 64, 80];
        let kept = KeptRecords::new(PARTS * 4 * (OVERHEAD + 106));
        numbers.iter().for_each(|&number| keep(&kept, number));
        assert!(get(&kept, 0));
        assert!(change(&kept, 16, WriteKind::Put, &[16; 100], 9));
        assert!(kept.drop_excess().is_empty());
        let left =
            |kept: &KeptRecords| numbers.map(|number| kept.part(number).by_page.contains(&number));
        assert_eq!(left(&kept), [true, true, false, false, true, true]);
        // They leave later than those that came behind them and were not used.
        for (come, named) in [
            ([96, 112], vec![]),
            ([128, 144], vec![]),
            ([160, 176], vec![]),
            ([192, 208], vec![16]),
        ] {
            come.iter().for_each(|&number| keep(&kept, number));
            assert_eq!(kept.drop_excess(), named, "as {come:?} have come");
        }
        assert_eq!(left(&kept), [false, true, false, false, false, false]);
        assert_eq!((kept.changed_before(9), kept.changed_before(10)), (vec![], vec![16]));
        assert_eq!(kept.needs_log_from(), 9);
        kept.give_back(16, |records| {
            let records = records.unwrap();
            assert_eq!(records.changed().collect::<Vec<_>>(), [(&[16][..], &[16; 100][..])]);
            Ok(())
        })
        .unwrap();
        assert_eq!((kept.needs_log_from(), get(&kept, 16)), (CLEAN, false), "it is in the page");
        assert!(get(&kept, 208));
        kept.forget(208);
        assert!(!get(&kept, 208));
    }

    #[test]
    fn a_change_that_needs_the_page_or_meets_it_in_memory_is_not_made() {
        let kept = KeptRecords::new(1 << 20);
        keep(&kept, 1);
        for (kind, value) in [
            (WriteKind::Put, &[1; 99][..]),
            (WriteKind::Put, &[1; 101]),
            (WriteKind::PutOverflow, &[1; 100]),
            (WriteKind::Delete, &[]),
        ] {
            assert!(!change(&kept, 1, kind, value, 9), "{kind:?}");
        }
        let put = (Change { kind: WriteKind::Put, value: &[2; 100] }, 9);
        assert!(!kept.change(1, &[1], || false, put, |_| panic!("nothing is replaced")));
        assert!(kept.get(1, &[1], || false, &mut Vec::new()).is_none());
        assert!(!kept.change(1, &[2], || true, put, |_| panic!("nothing is replaced")));
        assert_eq!((get(&kept, 1), kept.needs_log_from()), (true, CLEAN));
        assert!(change(&kept, 1, WriteKind::Patch, &[0, 0, 1, 0, 5], 9));
    }

    #[test]
    fn an_error_of_the_page_leaves_the_changes_here() {
        let kept = KeptRecords::new(1 << 20);
        keep(&kept, 1);
        assert!(change(&kept, 1, WriteKind::Put, &[1; 100], 9));
        assert!(kept.give_back(1, |_| Err(DbError::Panicked)).is_err());
        assert_eq!((get(&kept, 1), kept.needs_log_from()), (true, 9));
    }
}
