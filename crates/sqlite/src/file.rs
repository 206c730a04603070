//! A file as a connection has it open.

use std::path::PathBuf;
use std::sync::Arc;

use crate::Error;
use crate::lock::Level;
use crate::shared_memory::Held;
use crate::volume::{Journal, StoreFiles, StoredFile, hold};
use crate::volumes;

/// A file that is open.
pub(crate) struct OpenFile {
    directory: PathBuf,
    name: String,
    volume: Arc<StoreFiles>,
    kind: Kind,
    level: Level,
    held: Held,
    is_read_only: bool,
}

/// The kind of a file.
enum Kind {
    Stored(Arc<StoredFile>),
    Journal(Journal),
}

impl OpenFile {
    /// A file of a store.
    pub(crate) fn stored(
        directory: PathBuf,
        name: &str,
        volume: Arc<StoreFiles>,
        file: Arc<StoredFile>,
        is_read_only: bool,
    ) -> OpenFile {
        let (level, held, name) = (Level::None, Held::default(), name.to_string());
        OpenFile { directory, name, volume, kind: Kind::Stored(file), level, held, is_read_only }
    }

    /// A rollback journal.
    pub(crate) fn journal(
        directory: PathBuf,
        name: &str,
        volume: Arc<StoreFiles>,
        journal: Journal,
    ) -> OpenFile {
        let (level, held, name) = (Level::None, Held::default(), name.to_string());
        let kind = Kind::Journal(journal);
        OpenFile { directory, name, volume, kind, level, held, is_read_only: false }
    }

    /// Reads; returns the bytes that there are.
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> Result<usize, Error> {
        match &self.kind {
            Kind::Stored(file) => self.volume.read(file, offset, into),
            Kind::Journal(journal) => {
                let journal = hold(journal)?;
                let behind = journal.get(offset as usize..).unwrap_or_default();
                let bytes = behind.len().min(into.len());
                into[..bytes].copy_from_slice(&behind[..bytes]);
                Ok(bytes)
            }
        }
    }

    /// Writes.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        match &self.kind {
            Kind::Stored(_) if self.is_read_only => Err(Error::ReadOnly),
            Kind::Stored(file) => self.volume.write_at(file, offset, bytes),
            Kind::Journal(journal) => {
                let mut journal = hold(journal)?;
                let end = offset as usize + bytes.len();
                if journal.len() < end {
                    journal.resize(end, 0);
                }
                journal[offset as usize..end].copy_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Ends the file here.
    pub(crate) fn truncate(&self, size: u64) -> Result<(), Error> {
        match &self.kind {
            Kind::Stored(_) if self.is_read_only => Err(Error::ReadOnly),
            Kind::Stored(file) => self.volume.truncate(file, size),
            Kind::Journal(journal) => {
                hold(journal)?.truncate(size as usize);
                Ok(())
            }
        }
    }

    /// Makes durable what was written. A journal needs not be.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        match &self.kind {
            Kind::Stored(file) => self.volume.sync(file),
            Kind::Journal(_) => Ok(()),
        }
    }

    /// Bytes.
    pub(crate) fn size(&self) -> Result<u64, Error> {
        match &self.kind {
            Kind::Stored(file) => self.volume.size(file),
            Kind::Journal(journal) => Ok(hold(journal)?.len() as u64),
        }
    }

    /// A transaction was committed.
    pub(crate) fn transaction_ended(&self) -> Result<(), Error> {
        match &self.kind {
            Kind::Stored(file) => self.volume.transaction_ended(file),
            Kind::Journal(_) => Ok(()),
        }
    }

    /// Raises the connection's lock.
    pub(crate) fn lock(&mut self, to: Level) -> Result<(), Error> {
        match &self.kind {
            Kind::Stored(file) => hold(&file.locks)?.lock(&mut self.level, to),
            Kind::Journal(_) => Ok(()),
        }
    }

    /// Lowers the connection's lock.
    pub(crate) fn unlock(&mut self, to: Level) -> Result<(), Error> {
        if let Kind::Stored(file) = &self.kind {
            hold(&file.locks)?.unlock(&mut self.level, to);
        }
        Ok(())
    }

    /// The level of the connection's lock.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// True if a connection is to write.
    pub(crate) fn is_reserved(&self) -> Result<bool, Error> {
        match &self.kind {
            Kind::Stored(file) => Ok(hold(&file.locks)?.is_reserved()),
            Kind::Journal(_) => Ok(false),
        }
    }

    /// The address of a region of shared memory.
    pub(crate) fn map(
        &mut self,
        region: usize,
        bytes: usize,
        extend: bool,
    ) -> Result<Option<*mut u64>, Error> {
        match &self.kind {
            Kind::Stored(file) => {
                Ok(hold(&file.shared_memory)?.map(&mut self.held, region, bytes, extend))
            }
            Kind::Journal(_) => Ok(None),
        }
    }

    /// Takes locks on shared memory, or lets go of them.
    pub(crate) fn lock_memory(
        &mut self,
        slots: std::ops::Range<usize>,
        is_unlock: bool,
        shared: bool,
    ) -> Result<(), Error> {
        let Kind::Stored(file) = &self.kind else { return Ok(()) };
        let mut memory = hold(&file.shared_memory)?;
        if is_unlock {
            memory.unlock(&mut self.held, slots);
            return Ok(());
        }
        memory.lock(&mut self.held, slots, shared)
    }

    /// The connection has done with shared memory.
    pub(crate) fn unmap(&mut self) -> Result<(), Error> {
        if let Kind::Stored(file) = &self.kind {
            hold(&file.shared_memory)?.unmap(&mut self.held);
        }
        Ok(())
    }

    /// Closes the file, and its store after the last one.
    pub(crate) fn close(mut self) -> Result<(), Error> {
        self.unlock(Level::None)?;
        self.unmap()?;
        let OpenFile { directory, name, volume, kind, .. } = self;
        let closed = match kind {
            Kind::Stored(file) => volume.close_file(&name, file),
            Kind::Journal(_) => Ok(()),
        };
        volumes::close(&directory, volume)?;
        closed
    }
}
