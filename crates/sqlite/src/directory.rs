//! The files of a store: their names and sizes, and which pages they have. docs/sqlite.md draws it.
//!
//! LBAs are divided into extents of 256 pages, each of one file or free. The first page of the
//! store has the files, those behind it the owner of each extent; both are written in the same
//! group as the pages of the file that changed them.

use std::collections::BTreeSet;

use crate::Error;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;

/// Pages of an extent.
pub(crate) const EXTENT: u32 = 256;

/// Files that there is room for.
const FILES: usize = 31;

/// Bytes of a file's entry, and of the head before the entries.
const ENTRY: usize = 128;

/// Bytes of a name, at most.
const NAME: usize = ENTRY - 16;

/// Owners in a page.
const OWNERS: usize = PAGE / 4;

const MAGIC: &[u8; 8] = b"FRSQLITE";
const VERSION: u32 = 1;

/// The owner of the extents that hold the directory itself.
const OWN: u32 = u32::MAX;
const _: () = {
    assert!(ENTRY * (1 + FILES) <= PAGE && 16 + NAME <= ENTRY, "the entries fit in a page");
    assert!(u32::MAX / EXTENT < 1 << 24, "an extent's number in its file has 24 bits");
    assert!(FILES + 1 < (OWN >> 24) as usize, "no file is taken for the directory");
};

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Entry {
    name: String,
    /// Bytes that are durable.
    size: u64,
    /// The extents, in order; 0 where there is none.
    extents: Vec<u32>,
}

/// The files of a store.
#[derive(Clone, Debug)]
pub(crate) struct Directory {
    files: Vec<Option<Entry>>,
    /// By extent: 0 is free, [`OWN`] the directory's; else the number of the file from 1, and in
    /// the low 24 bits the extent's in the file.
    owners: Vec<u32>,
    /// Where a free extent is looked for first.
    next: usize,
    /// Pages were given up, and the store may still hold some of them.
    is_swept: bool,
    /// Pages of the directory that are to be written.
    changed: BTreeSet<u32>,
}

impl Directory {
    /// That of a store without files, of so many pages.
    ///
    /// # Errors
    /// The store is too small.
    pub(crate) fn new(pages: u64) -> Result<Directory, Error> {
        let extents = (pages / u64::from(EXTENT)) as usize;
        let own = (1 + extents.div_ceil(OWNERS)).div_ceil(EXTENT as usize);
        if extents <= own {
            return Err(Error::Full("the store is too small for a file"));
        }
        let mut owners = vec![0; extents];
        owners[..own].fill(OWN);
        let changed = (0..=extents.div_ceil(OWNERS) as u32).collect();
        Ok(Directory { files: vec![None; FILES], owners, next: own, is_swept: true, changed })
    }

    /// That of a store of so many pages, which `read` reads; none if there is no directory.
    ///
    /// # Errors
    /// Those of `read`; a directory of another program.
    pub(crate) fn read(
        pages: u64,
        mut read: impl FnMut(u32, &mut [u8]) -> Result<bool, Error>,
    ) -> Result<Option<Directory>, Error> {
        let mut directory = Directory::new(pages)?;
        let mut page = vec![0; PAGE];
        if !read(0, &mut page)? {
            return Ok(None);
        }
        directory.decode_files(&page)?;
        for number in 0..directory.owners.len().div_ceil(OWNERS) {
            page.fill(0);
            read(1 + number as u32, &mut page)?;
            directory.decode_owners(number, &page)?;
        }
        directory.changed.clear();
        Ok(Some(directory))
    }

    fn decode_files(&mut self, page: &[u8]) -> Result<(), Error> {
        if page[..8] != *MAGIC {
            return Err(Error::Foreign);
        }
        match u32_at(page, 8) {
            ..=VERSION => {}
            found => return Err(Error::Newer { found }),
        }
        self.is_swept = u32_at(page, 12) == 0;
        for (file, entry) in self.files.iter_mut().zip(page[ENTRY..].chunks_exact(ENTRY)) {
            let length = (u32_at(entry, 8) as usize).min(NAME);
            if length > 0 {
                let name = String::from_utf8_lossy(&entry[16..16 + length]).into_owned();
                let size = u64::from_le_bytes(entry[..8].try_into().unwrap_or_default());
                *file = Some(Entry { name, size, extents: Vec::new() });
            }
        }
        Ok(())
    }

    fn decode_owners(&mut self, number: usize, page: &[u8]) -> Result<(), Error> {
        let first = number * OWNERS;
        let end = self.owners.len().min(first + OWNERS);
        for extent in first..end {
            let owner = u32_at(page, (extent - first) * 4);
            let Some(file) = (owner >> 24).checked_sub(1).filter(|_| owner != OWN) else {
                continue;
            };
            let at = (owner & 0xff_ffff) as usize;
            let entry = self.files.get_mut(file as usize).and_then(Option::as_mut);
            // An extent of a file that is gone, or as no store of this size can have it, is free.
            let Some(entry) = entry.filter(|_| at < self.owners.len() && self.owners[extent] == 0)
            else {
                continue;
            };
            if entry.extents.len() <= at {
                entry.extents.resize(at + 1, 0);
            }
            entry.extents[at] = extent as u32;
            self.owners[extent] = owner;
        }
        Ok(())
    }

    /// The number of a file.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.files.iter().position(|file| file.as_ref().is_some_and(|file| file.name == name))
    }

    /// Adds an empty file; returns its number.
    ///
    /// # Errors
    /// The name is too long, or there are too many files.
    pub(crate) fn add(&mut self, name: &str) -> Result<usize, Error> {
        if name.is_empty() || name.len() > NAME {
            return Err(Error::Name(name.to_string()));
        }
        let free = self.files.iter().position(Option::is_none);
        let file = free.ok_or(Error::Full("a store holds 31 files at most"))?;
        self.files[file] = Some(Entry { name: name.to_string(), ..Entry::default() });
        self.changed.insert(0);
        Ok(file)
    }

    /// Bytes of a file that are durable.
    pub(crate) fn size(&self, file: usize) -> u64 {
        self.files[file].as_ref().map_or(0, |file| file.size)
    }

    /// The LBA of a page of a file, if the page has a place.
    pub(crate) fn lba(&self, file: usize, page: u32) -> Option<u32> {
        let extents = &self.files[file].as_ref()?.extents;
        let extent = *extents.get((page / EXTENT) as usize)?;
        (extent != 0).then(|| extent * EXTENT + page % EXTENT)
    }

    /// The LBA of a page of a file, which gets a place if it has none.
    ///
    /// # Errors
    /// No extent is free.
    pub(crate) fn place(&mut self, file: usize, page: u32) -> Result<u32, Error> {
        if let Some(lba) = self.lba(file, page) {
            return Ok(lba);
        }
        let count = self.owners.len();
        let free = (0..count).map(|i| (self.next + i) % count).find(|&at| self.owners[at] == 0);
        let extent = free.ok_or(Error::Full("the store is full"))?;
        let at = page / EXTENT;
        let Some(entry) = &mut self.files[file] else { return Err(Error::Full("no such file")) };
        if entry.extents.len() <= at as usize {
            entry.extents.resize(at as usize + 1, 0);
        }
        entry.extents[at as usize] = extent as u32;
        self.owners[extent] = (file as u32 + 1) << 24 | at;
        self.next = extent + 1;
        self.changed.insert(1 + (extent / OWNERS) as u32);
        Ok(extent as u32 * EXTENT + page % EXTENT)
    }

    /// A file has so many bytes from now on. Returns the LBAs of pages that it gave up.
    pub(crate) fn set_size(&mut self, file: usize, size: u64) -> Vec<u32> {
        let before = self.size(file);
        if size == before {
            return Vec::new();
        }
        let pages = |bytes: u64| bytes.div_ceil(PAGE as u64) as u32;
        let given_up: Vec<u32> =
            (pages(size)..pages(before)).filter_map(|page| self.lba(file, page)).collect();
        if size < before {
            self.free(file, pages(size).div_ceil(EXTENT) as usize);
        }
        if let Some(entry) = &mut self.files[file] {
            entry.size = size;
        }
        self.is_swept &= given_up.is_empty();
        self.changed.insert(0);
        given_up
    }

    /// Removes a file. Returns the LBAs that it had.
    pub(crate) fn remove(&mut self, file: usize) -> Vec<u32> {
        let given_up = self.set_size(file, 0);
        self.free(file, 0);
        self.files[file] = None;
        self.changed.insert(0);
        given_up
    }

    fn free(&mut self, file: usize, from: usize) {
        let Some(entry) = &mut self.files[file] else { return };
        let kept = from.min(entry.extents.len());
        for extent in entry.extents.split_off(kept).into_iter().filter(|&extent| extent != 0) {
            let owner = self.owners[extent as usize] >> 24;
            assert_eq!(owner, file as u32 + 1, "a file frees extents of its own");
            self.owners[extent as usize] = 0;
            self.changed.insert(1 + extent / OWNERS as u32);
        }
    }

    /// True if the store holds no page that was given up.
    pub(crate) fn is_swept(&self) -> bool {
        self.is_swept
    }

    /// All pages that were given up are trimmed.
    pub(crate) fn swept(&mut self) {
        self.is_swept = true;
    }

    /// True if a page of the store is of the directory, or of a file and not behind its end.
    pub(crate) fn is_used(&self, lba: u32) -> bool {
        match self.owners.get((lba / EXTENT) as usize).copied().unwrap_or_default() {
            0 => false,
            OWN => true,
            owner => {
                let page =
                    u64::from(owner & 0xff_ffff) * u64::from(EXTENT) + u64::from(lba % EXTENT);
                page * (PAGE as u64) < self.size((owner >> 24) as usize - 1)
            }
        }
    }

    /// Takes the pages of the directory that changed: LBA and content.
    pub(crate) fn take_changed(&mut self) -> Vec<(u32, Vec<u8>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|lba| (lba, self.page(lba))).collect()
    }

    /// These pages were not written.
    pub(crate) fn not_written(&mut self, lbas: impl Iterator<Item = u32>) {
        self.changed.extend(lbas);
    }

    fn page(&self, lba: u32) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        match lba.checked_sub(1) {
            None => {
                page[..8].copy_from_slice(MAGIC);
                page[8..12].copy_from_slice(&VERSION.to_le_bytes());
                page[12..16].copy_from_slice(&u32::from(!self.is_swept).to_le_bytes());
                for (file, entry) in self.files.iter().zip(page[ENTRY..].chunks_exact_mut(ENTRY)) {
                    let Some(file) = file else { continue };
                    entry[..8].copy_from_slice(&file.size.to_le_bytes());
                    entry[8..12].copy_from_slice(&(file.name.len() as u32).to_le_bytes());
                    entry[16..16 + file.name.len()].copy_from_slice(file.name.as_bytes());
                }
            }
            Some(number) => {
                let owners = self.owners.chunks(OWNERS).nth(number as usize).unwrap_or_default();
                for (owner, at) in owners.iter().zip(page.chunks_exact_mut(4)) {
                    at.copy_from_slice(&owner.to_le_bytes());
                }
            }
        }
        page
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    const PAGES: u64 = 256 * 40;

    fn reread(device: &BTreeMap<u32, Vec<u8>>) -> Directory {
        let read = |lba: u32, into: &mut [u8]| {
            let found = device.get(&lba);
            found.inspect(|page| into.copy_from_slice(page));
            Ok(found.is_some())
        };
        Directory::read(PAGES, read).unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back_and_no_page_has_two_owners(
            steps in prop::collection::vec((0..3usize, 0..4u8, 0..6000u32), 1..60)
        ) {
            let mut directory = Directory::new(PAGES).unwrap();
            let mut device = BTreeMap::new();
            for (file, step, page) in steps {
                let name = format!("file{file}");
                let number = match directory.find(&name) {
                    Some(number) => number,
                    None => directory.add(&name).unwrap(),
                };
                match step {
                    0 => drop(directory.remove(number)),
                    1 => drop(directory.set_size(number, u64::from(page) * 1000)),
                    _ => {
                        let _ = directory.place(number, page);
                        let size = directory.size(number).max((u64::from(page) + 1) * PAGE as u64);
                        directory.set_size(number, size);
                    }
                }
                device.extend(directory.take_changed());
                let read = reread(&device);
                let mut seen = BTreeSet::new();
                for number in 0..FILES {
                    prop_assert_eq!(read.size(number), directory.size(number));
                    // The pages of an extent lie together.
                    for first in (0..6000).step_by(EXTENT as usize) {
                        let last = first + EXTENT - 1;
                        let lba = directory.lba(number, first);
                        prop_assert_eq!(read.lba(number, first), lba);
                        prop_assert_eq!(read.lba(number, last), lba.map(|lba| lba + EXTENT - 1));
                        prop_assert!(lba.is_none_or(|lba| seen.insert(lba) && lba >= EXTENT));
                    }
                }
            }
        }
    }

    #[test]
    fn another_program_s_page_and_a_newer_directory_are_refused() {
        let of = |page: Vec<u8>| {
            let result = Directory::read(PAGES, |lba, into| {
                if lba == 0 {
                    into.copy_from_slice(&page);
                }
                Ok(lba == 0)
            });
            result.map(|directory| directory.is_some())
        };
        assert!(matches!(of(vec![7; PAGE]), Err(Error::Foreign)));
        let mut newer = Directory::new(PAGES).unwrap().page(0);
        newer[8] = 2;
        assert!(matches!(of(newer), Err(Error::Newer { found: 2 })));
    }
}
