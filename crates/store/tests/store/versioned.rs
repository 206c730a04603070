//! Contents that say which page and version they are, all over, so that a mixture is found; and a
//! writer of them, which tells a store with deltas the words that changed: its pages become images,
//! deltas and tails.

#![allow(dead_code, reason = "each test file uses some of it")]

use std::collections::BTreeMap;
use std::ops::Range;

use frostline_store::{ChangedWords, PageWrite, Store, StoreError};

const PAGE: usize = 4096;

/// Words that change in every version, and that a tail has room for.
const OFTEN: Range<usize> = 0..12;
/// Words that change now and then: a delta with them is not written again and again.
const SOMETIMES: Range<usize> = 12..52;
/// Words of which each version changes one, and takes back that of another.
const ONE: Range<usize> = 80..120;
/// Words of which an image may have none.
const HOLE: Range<usize> = 150..400;

/// How contents follow from versions.
#[derive(Clone, Copy)]
pub(crate) struct Contents {
    /// In a store of whole pages all words are of the version.
    pub has_deltas: bool,
    /// In a store with deltas a page has a new delta after about so many versions,
    pub near: u64,
    /// and a new image after so many.
    pub far: u64,
}

impl Contents {
    /// The content of a page.
    pub(crate) fn of(self, lba: u32, version: u64) -> Vec<u8> {
        let word = |of: u64| (u64::from(lba + 1) << 40 | of).to_le_bytes();
        if !self.has_deltas {
            return word(version).repeat(PAGE / 8);
        }
        let image = version / self.far;
        let mut page = word(image).repeat(PAGE / 8);
        let mut set = |words: Range<usize>, to: [u8; 8]| {
            page[8 * words.start..8 * words.end].copy_from_slice(&to.repeat(words.len()));
        };
        let one = ONE.start + version as usize % ONE.len();
        set(OFTEN, word(version));
        set(SOMETIMES, word(version.div_ceil(self.near)));
        set(one..one + 1, word(version));
        if image % 2 == 1 {
            set(HOLE, [0; 8]);
        }
        page
    }

    /// The version of a page; panics if it is none, whole.
    pub(crate) fn version(self, lba: u32, page: &[u8]) -> u64 {
        let word = u64::from_le_bytes(page[..8].try_into().unwrap());
        let version = word & ((1 << 40) - 1);
        assert!(page == self.of(lba, version), "LBA {lba} is a mixture");
        version
    }
}

/// A writer of versions, who knows what the store has of each page.
#[derive(Clone)]
pub(crate) struct Writer {
    contents: Contents,
    /// The last version of each page, and the words in which it may differ from its base.
    pages: BTreeMap<u32, (u64, ChangedWords)>,
}

/// A page's new version.
pub(crate) struct Version {
    lba: u32,
    page: Vec<u8>,
    changed: Option<ChangedWords>,
}

impl Version {
    /// To be written.
    pub(crate) fn write(&self) -> PageWrite<'_> {
        let Version { lba, page, changed } = self;
        PageWrite { lba: *lba, page, hotness: None, changed: changed.as_ref() }
    }
}

impl Writer {
    /// A writer who knows of no page.
    pub(crate) fn new(contents: Contents) -> Self {
        Writer { contents, pages: BTreeMap::new() }
    }

    /// A page's next version, which the caller writes.
    pub(crate) fn next(&mut self, lba: u32, version: u64) -> Version {
        let page = self.contents.of(lba, version);
        let before = self.pages.get(&lba).filter(|_| self.contents.has_deltas);
        let changed = before.map(|&(before, mut changed)| {
            let before = self.contents.of(lba, before);
            let words = before.chunks(8).zip(page.chunks(8)).enumerate();
            let differ = words.filter(|(_, (before, now))| before != now);
            differ.for_each(|(word, _)| changed.add(word..word + 1));
            changed
        });
        let mut now = changed.unwrap_or_default();
        now.note_written();
        self.pages.insert(lba, (version, now));
        Version { lba, page, changed }
    }

    /// Writes a page.
    pub(crate) fn write(
        &mut self,
        store: &Store,
        lba: u32,
        version: u64,
    ) -> Result<(), StoreError> {
        let next = self.next(lba, version);
        store.write_batch(&[next.write()]).inspect_err(|_| self.forget(lba))
    }

    /// Reads the version of a page, if it has one, and what the store has of it.
    pub(crate) fn read(&mut self, store: &Store, lba: u32) -> Result<Option<u64>, StoreError> {
        let (mut page, mut changed) = (vec![0; PAGE], ChangedWords::NONE);
        self.forget(lba);
        Ok(store.read_changed(lba, &mut page, &mut changed)?.then(|| {
            let version = self.contents.version(lba, &page);
            self.pages.insert(lba, (version, changed));
            version
        }))
    }

    /// True if it is known what the store has of a page.
    pub(crate) fn knows(&self, lba: u32) -> bool {
        self.pages.contains_key(&lba)
    }

    /// The page was trimmed, or it is not known what the store has of it: its next version is
    /// written as a whole.
    pub(crate) fn forget(&mut self, lba: u32) {
        self.pages.remove(&lba);
    }
}
