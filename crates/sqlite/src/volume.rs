//! A store and the files in it. What is written to a file waits in memory until the file is synced,
//! and is then one group: durable at once, or not at all.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use frostline_store::{ChangedWords, PageWrite, Store};

use crate::Error;
use crate::content::{FileContent, PageBytes, PagePart, parts};
use crate::directory::{Directory, EXTENT, PAGE};
use crate::lock::Locks;
use crate::make::{Shape, open_store};
use crate::shared_memory::SharedMemory;
use crate::stored_pages::{Difference, StoredPage, StoredPages};

/// Pages that wait without a sync, as `synchronous=OFF` has it, before they are written all the
/// same.
const UNSYNCED: usize = 1024;

/// Pages that stay in memory as the store has them: 4 MiB.
const STORED_PAGES: usize = 1024;

/// The use of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A database.
    Database,
    /// A write-ahead log. It needs no groups, and its size is known by its content.
    Log,
}

/// A file of a store, shared by its connections.
pub(crate) struct StoredFile {
    number: usize,
    of: Use,
    /// Held for moments only, never while a device is waited for.
    content: Mutex<FileContent>,
    /// The locks of a database.
    pub locks: Mutex<Locks>,
    /// The memory of a database with a write-ahead log.
    pub shared_memory: Mutex<SharedMemory>,
}

/// A rollback journal: in memory only, since a store needs none after a crash.
pub(crate) type Journal = Arc<Mutex<Vec<u8>>>;

/// A page that is to be written, by LBA, and the words that may differ from its base if not all
/// may.
type ChangedPage = (u32, Arc<PageBytes>, Option<ChangedWords>);

/// A store and its files.
pub(crate) struct StoreFiles {
    store: Store,
    directory: Mutex<Directory>,
    open: Mutex<BTreeMap<String, Arc<StoredFile>>>,
    journals: Mutex<BTreeMap<String, Journal>>,
    /// Held for moments only. Of a store with deltas; another writes whole pages, whatever changed.
    stored: Option<Mutex<StoredPages>>,
    /// One group at a time: a page of the directory has the changes of all groups before.
    committing: Mutex<()>,
}

/// Locks; a thread that panicked is an error.
pub(crate) fn hold<T: ?Sized>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, Error> {
    mutex.lock().map_err(|_| Error::Panicked)
}

impl StoreFiles {
    /// Opens the store in a directory, with so much space over its data if that is given; makes it
    /// in the given shape if it is absent and that is asked for.
    pub(crate) fn open(
        path: &Path,
        make: Option<&Shape>,
        space: Option<f64>,
    ) -> Result<StoreFiles, Error> {
        StoreFiles::over(open_store(path, make, space)?)
    }

    /// The files of a store.
    fn over(store: Store) -> Result<StoreFiles, Error> {
        let read = |lba, page: &mut [u8]| Ok(store.read(lba, page)?);
        let directory = match Directory::read(store.pages(), read)? {
            Some(directory) => directory,
            None => {
                let mut any = false;
                store.mapped(0..u32::MAX, &mut |_| any = true)?;
                if any {
                    return Err(Error::Foreign);
                }
                Directory::new(store.pages())?
            }
        };
        let stored = store.has_deltas().then(|| Mutex::new(StoredPages::new(STORED_PAGES)));
        let volume = StoreFiles {
            store,
            stored,
            directory: Mutex::new(directory),
            open: Mutex::default(),
            journals: Mutex::default(),
            committing: Mutex::default(),
        };
        volume.sweep()?;
        Ok(volume)
    }

    /// Trims what files gave up when a crash came before it was trimmed.
    fn sweep(&self) -> Result<(), Error> {
        let mut directory = hold(&self.directory)?;
        if directory.is_swept() {
            return Ok(());
        }
        let mut unused = Vec::new();
        self.store.mapped(0..u32::MAX, &mut |lba| {
            if !directory.is_used(lba) {
                unused.push(lba);
            }
        })?;
        unused.into_iter().try_for_each(|lba| self.store.trim(lba).map(drop))?;
        directory.swept();
        Ok(())
    }

    /// A file, which is made if it is absent and that is asked for.
    pub(crate) fn file(&self, name: &str, of: Use, create: bool) -> Result<Arc<StoredFile>, Error> {
        let mut open = hold(&self.open)?;
        if let Some(file) = open.get(name) {
            return Ok(file.clone());
        }
        let mut directory = hold(&self.directory)?;
        let number = match directory.find(name) {
            Some(number) => number,
            None if create => directory.add(name)?,
            None => return Err(Error::Absent(name.to_string())),
        };
        let file = Arc::new(StoredFile {
            number,
            of,
            content: Mutex::new(FileContent::of(directory.size(number))),
            locks: Mutex::default(),
            shared_memory: Mutex::default(),
        });
        open.insert(name.to_string(), file.clone());
        Ok(file)
    }

    /// A connection has done with a file. After the last one, what was not synced is written.
    pub(crate) fn close_file(&self, name: &str, file: Arc<StoredFile>) -> Result<(), Error> {
        let mut open = hold(&self.open)?;
        // One is the list's, one is this.
        if Arc::strong_count(&file) == 2 {
            open.remove(name);
            return self.sync(&file);
        }
        Ok(())
    }

    /// A rollback journal, which is made if it is absent.
    pub(crate) fn journal(&self, name: &str) -> Result<Journal, Error> {
        Ok(hold(&self.journals)?.entry(name.to_string()).or_default().clone())
    }

    /// True if there is such a file or journal.
    pub(crate) fn exists(&self, name: &str) -> Result<bool, Error> {
        Ok(hold(&self.journals)?.contains_key(name) || hold(&self.directory)?.find(name).is_some())
    }

    /// Removes a file or journal; false if there is none.
    pub(crate) fn delete(&self, name: &str) -> Result<bool, Error> {
        if hold(&self.journals)?.remove(name).is_some() {
            return Ok(true);
        }
        let _one = hold(&self.committing)?;
        let mut directory = hold(&self.directory)?;
        let Some(number) = directory.find(name) else { return Ok(false) };
        let given_up = directory.remove(number);
        self.write(directory, Vec::new(), given_up)?;
        Ok(true)
    }

    /// Reads; returns the bytes that there are.
    pub(crate) fn read(
        &self,
        file: &StoredFile,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, Error> {
        let size = hold(&file.content)?.size;
        let bytes = size.saturating_sub(offset).min(into.len() as u64) as usize;
        let mut rest = &mut into[..bytes];
        for part in parts(offset, bytes) {
            let (now, behind) = rest.split_at_mut(part.bytes);
            self.read_part(file, &part, now)?;
            rest = behind;
        }
        Ok(bytes)
    }

    fn read_part(&self, file: &StoredFile, part: &PagePart, into: &mut [u8]) -> Result<(), Error> {
        let content = hold(&file.content)?;
        if let Some(page) = content.waiting(part.page) {
            into.copy_from_slice(&page[part.at..part.at + part.bytes]);
            return Ok(());
        }
        drop(content);
        if part.bytes == PAGE {
            return self.read_stored(file, part.page, into);
        }
        let mut page = [0; PAGE];
        self.read_stored(file, part.page, &mut page)?;
        into.copy_from_slice(&page[part.at..part.at + part.bytes]);
        Ok(())
    }

    /// Reads the durable version of a page: zeroes if there is none.
    fn read_stored(&self, file: &StoredFile, page: u32, into: &mut [u8]) -> Result<(), Error> {
        let lba = hold(&self.directory)?.lba(file.number, page);
        let found = match (lba, &self.stored) {
            (None, _) => false,
            (Some(lba), None) => self.store.read(lba, into)?,
            (Some(lba), Some(stored)) => {
                let page = self.stored_page(stored, lba)?;
                page.inspect(|page| into.copy_from_slice(&page.bytes[..])).is_some()
            }
        };
        if !found {
            into.fill(0);
        }
        Ok(())
    }

    /// A page as the store has it; none if it has none.
    fn stored_page(
        &self,
        stored: &Mutex<StoredPages>,
        lba: u32,
    ) -> Result<Option<StoredPage>, Error> {
        let mut pages = hold(stored)?;
        if let Some(page) = pages.get(lba) {
            drop(pages);
            // Cleaning may have merged its words.
            let is_base = !self.store.has_delta(lba)?;
            let changed = if is_base { ChangedWords::NONE } else { page.changed };
            return Ok(Some(StoredPage { changed, ..page }));
        }
        let written = pages.written();
        drop(pages);
        let (mut bytes, mut changed) = (Arc::new([0; PAGE]), ChangedWords::NONE);
        if !self.store.read_changed(lba, &mut Arc::make_mut(&mut bytes)[..], &mut changed)? {
            return Ok(None);
        }
        let page = StoredPage { bytes, changed };
        hold(stored)?.add_read(lba, page.clone(), written);
        Ok(Some(page))
    }

    /// Writes; nothing of it is durable before the next sync.
    pub(crate) fn write_at(
        &self,
        file: &StoredFile,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let mut rest = bytes;
        for part in parts(offset, bytes.len()) {
            let (now, behind) = rest.split_at(part.bytes);
            self.write_part(file, &part, now)?;
            rest = behind;
        }
        let mut content = hold(&file.content)?;
        content.size = content.size.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn write_part(&self, file: &StoredFile, part: &PagePart, bytes: &[u8]) -> Result<(), Error> {
        if hold(&file.content)?.change(part, bytes) {
            return Ok(());
        }
        let mut page = [0; PAGE];
        if part.bytes < PAGE {
            self.read_stored(file, part.page, &mut page)?;
        }
        page[part.at..part.at + part.bytes].copy_from_slice(bytes);
        let waiting = hold(&file.content)?.count();
        if waiting >= UNSYNCED && file.may_be_written_in_parts()? {
            self.sync(file)?;
        } else if waiting >= UNSYNCED && waiting as u64 >= self.room()? {
            let mut stored = [0; PAGE];
            self.read_stored(file, part.page, &mut stored)?;
            // So a transaction that was too large can be rolled back.
            return match stored == page {
                true => Ok(()),
                false => {
                    Err(Error::Full("the transaction has more pages than the store has room for"))
                }
            };
        }
        hold(&self.directory)?.place(file.number, part.page)?;
        hold(&file.content)?.put(part.page, page);
        Ok(())
    }

    /// Pages that a file may write at once: the rest of a group is the directory's.
    fn room(&self) -> Result<u64, Error> {
        let own = self.store.pages() / u64::from(EXTENT) / 1024 + 2;
        Ok(self.store.group_room()?.saturating_sub(own))
    }

    /// The file ends here from now on.
    pub(crate) fn truncate(&self, file: &StoredFile, size: u64) -> Result<(), Error> {
        hold(&file.content)?.truncate(size);
        Ok(())
    }

    /// A transaction ended: nothing that waits is of an unfinished one. Without syncs it is written
    /// once it is much.
    pub(crate) fn transaction_ended(&self, file: &StoredFile) -> Result<(), Error> {
        let much = hold(&file.content)?.count() >= UNSYNCED;
        if much { self.sync(file) } else { Ok(()) }
    }

    /// Makes everything that was written to a file durable, at once.
    pub(crate) fn sync(&self, file: &StoredFile) -> Result<(), Error> {
        let _one = hold(&self.committing)?;
        let content = hold(&file.content)?;
        let (pages, size) = (content.snapshot(), file.recorded(content.size));
        drop(content);
        let directory = hold(&self.directory)?;
        let place = |(number, page): &(u32, Arc<PageBytes>)| {
            directory.lba(file.number, *number).map(|lba| (lba, page.clone()))
        };
        let placed: Vec<_> = pages.iter().filter_map(place).collect();
        assert_eq!(placed.len(), pages.len(), "each page that waits has a place");
        drop(directory);
        let group = self.changed_pages(file, placed)?;
        let mut directory = hold(&self.directory)?;
        let given_up = directory.set_size(file.number, size);
        self.write(directory, group, given_up)?;
        hold(&file.content)?.synced(&pages);
        Ok(())
    }

    /// Of these pages of a file those that differ from what the store has, with the words in which
    /// they differ from their bases. Only the caller writes meanwhile.
    fn changed_pages(
        &self,
        file: &StoredFile,
        pages: Vec<(u32, Arc<PageBytes>)>,
    ) -> Result<Vec<ChangedPage>, Error> {
        // The records of a log are new all over.
        let stored = self.stored.as_ref().filter(|_| file.of == Use::Database);
        let mut changed = Vec::with_capacity(pages.len());
        for (lba, page) in pages {
            let before = stored.map_or(Ok(None), |stored| self.stored_page(stored, lba))?;
            match before.map_or(Difference::Much, |before| before.difference(&page)) {
                Difference::None => {}
                Difference::Words(words) => changed.push((lba, page, Some(words))),
                Difference::Much => changed.push((lba, page, None)),
            }
        }
        Ok(changed)
    }

    /// Writes pages and what changed of the directory as a group, and trims what files gave up.
    fn write(
        &self,
        mut directory: MutexGuard<'_, Directory>,
        pages: Vec<ChangedPage>,
        given_up: Vec<u32>,
    ) -> Result<(), Error> {
        // A new place alone need not be durable before there is something in it.
        let own = directory.take_changed();
        drop(directory);
        if own.is_empty() && pages.is_empty() {
            return Ok(());
        }
        let write = |lba, page, changed| PageWrite { lba, page, hotness: None, changed };
        let of_file = pages.iter().map(|(lba, page, words)| write(*lba, &page[..], words.as_ref()));
        let of_own = own.iter().map(|(lba, page)| write(*lba, &page[..], None));
        let group: Vec<_> = of_file.chain(of_own).collect();
        if let Err(error) = self.store.write_group(&group) {
            hold(&self.directory)?.not_written(own.iter().map(|(lba, _)| *lba));
            if let Some(stored) = &self.stored {
                hold(stored)?.clear();
            }
            return Err(error.into());
        }
        if let Some(stored) = &self.stored {
            let written = pages.into_iter().map(|(lba, bytes, words)| {
                let mut changed = words.unwrap_or_default();
                changed.note_written();
                (lba, StoredPage { bytes, changed })
            });
            hold(stored)?.add_written(written);
        }
        if given_up.is_empty() {
            return Ok(());
        }
        given_up.iter().try_for_each(|&lba| self.store.trim(lba).map(drop))?;
        if let Some(stored) = &self.stored {
            hold(stored)?.remove(&given_up);
        }
        hold(&self.directory)?.swept();
        Ok(())
    }

    /// Bytes of the size of a file.
    pub(crate) fn size(&self, file: &StoredFile) -> Result<u64, Error> {
        Ok(hold(&file.content)?.size)
    }

    /// The store, once its last file was closed.
    pub(crate) fn close(self) -> Result<(), Error> {
        Ok(self.store.close()?)
    }
}

impl StoredFile {
    /// True if it need not be durable at once: it is a write-ahead log, whose records have sums, or
    /// is brought up to date from one, which is durable by then.
    fn may_be_written_in_parts(&self) -> Result<bool, Error> {
        Ok(self.of == Use::Log || hold(&self.shared_memory)?.is_used())
    }

    /// The size that the directory has. A log's is that of whole extents, so that it need not be
    /// written with each transaction; zeroes behind its end are no records.
    fn recorded(&self, size: u64) -> u64 {
        match self.of {
            Use::Database => size,
            Use::Log => size.next_multiple_of(u64::from(EXTENT) * PAGE as u64),
        }
    }
}
