//! The content of a file: the durable pages, and over them those that wait for the next sync.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::directory::PAGE;

/// A page in memory.
pub(crate) type PageBytes = [u8; PAGE];

/// What was written since the last sync, and the size of the file.
#[derive(Default)]
pub(crate) struct FileContent {
    /// Bytes, the unsynced ones included.
    pub size: u64,
    /// By number in the file.
    waiting: BTreeMap<u32, Arc<PageBytes>>,
}

/// A part of a page: its number, where in it, and how many bytes.
pub(crate) struct PagePart {
    pub page: u32,
    pub at: usize,
    pub bytes: usize,
}

/// The parts of pages that a range of bytes takes.
pub(crate) fn parts(offset: u64, bytes: usize) -> impl Iterator<Item = PagePart> {
    let end = offset + bytes as u64;
    let mut next = offset;
    std::iter::from_fn(move || {
        let (page, at) = ((next / PAGE as u64) as u32, (next % PAGE as u64) as usize);
        let bytes = (end - next).min((PAGE - at) as u64) as usize;
        next += bytes as u64;
        (bytes > 0).then_some(PagePart { page, at, bytes })
    })
}

impl FileContent {
    /// A file of so many bytes, all durable.
    pub(crate) fn of(size: u64) -> FileContent {
        FileContent { size, waiting: BTreeMap::new() }
    }

    /// A page that waits for the next sync.
    pub(crate) fn waiting(&self, page: u32) -> Option<&PageBytes> {
        self.waiting.get(&page).map(|page| &**page)
    }

    /// Pages that wait.
    pub(crate) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Puts a page.
    pub(crate) fn put(&mut self, number: u32, page: PageBytes) {
        self.waiting.insert(number, Arc::new(page));
    }

    /// Changes a page that waits; false if it does not.
    pub(crate) fn change(&mut self, part: &PagePart, bytes: &[u8]) -> bool {
        let Some(page) = self.waiting.get_mut(&part.page) else { return false };
        Arc::make_mut(page)[part.at..part.at + part.bytes].copy_from_slice(bytes);
        true
    }

    /// The file ends here.
    pub(crate) fn truncate(&mut self, size: u64) {
        self.size = size;
        drop(self.waiting.split_off(&(size.div_ceil(PAGE as u64) as u32)));
    }

    /// The pages that wait.
    pub(crate) fn snapshot(&self) -> Vec<(u32, Arc<PageBytes>)> {
        self.waiting.iter().map(|(&number, page)| (number, page.clone())).collect()
    }

    /// These pages are durable. Those that were changed since still wait.
    pub(crate) fn synced(&mut self, pages: &[(u32, Arc<PageBytes>)]) {
        for (number, page) in pages {
            if self.waiting.get(number).is_some_and(|waiting| Arc::ptr_eq(waiting, page)) {
                self.waiting.remove(number);
            }
        }
    }
}
