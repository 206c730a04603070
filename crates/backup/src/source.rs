//! A device that can be backed up while it is in use.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use frostline_zone::{Device, DeviceError, Geometry, ZoneInfo};
use parking_lot::{Mutex, RwLock};

use crate::BackupError;
use crate::cut::Cut;
use crate::directory::Directory;
use crate::manifest::Manifest;

/// A device that passes everything on, and can be backed up at any time.
pub struct Source {
    device: Arc<dyn Device>,
    /// Locked for each change, and as a whole while the moment of a backup is taken.
    changes: RwLock<()>,
    /// The backup that is under way.
    cut: RwLock<Option<Arc<Cut>>>,
    one_at_a_time: Mutex<()>,
}

/// Counts of a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backup {
    /// Zones that are not empty.
    pub zones: u32,
    /// Bytes that they hold.
    pub bytes: u64,
    /// Bytes that were copied: the rest was there.
    pub copied_bytes: u64,
}

impl Source {
    /// A device that all its users use through this from now on.
    pub fn new(device: Arc<dyn Device>) -> Arc<Source> {
        Arc::new(Source {
            device,
            changes: RwLock::new(()),
            cut: RwLock::new(None),
            one_at_a_time: Mutex::new(()),
        })
    }

    /// Copies the device as it is now to a directory, which is made if it is absent. Only content
    /// that an earlier backup of the same device lacks is copied. That backup is replaced once this
    /// one is whole.
    ///
    /// Changes of the device wait while the moment is taken, which takes a flush; and a reset of a
    /// zone that is not copied yet waits for its copy. Backups wait for each other.
    ///
    /// # Errors
    /// A zone can't be read, or is offline; a file can't be written: then the last backup is as it
    /// was.
    pub fn back_up(&self, directory: &Path) -> Result<Backup, BackupError> {
        let _one = self.one_at_a_time.lock();
        let directory = Directory::at(directory);
        directory.make()?;
        let before = directory.read()?;
        // Most is durable before changes have to wait.
        self.device.flush()?;
        let cut = self.cut_now(directory.clone(), before)?;
        let copied = cut.finish();
        *self.cut.write() = None;
        let (manifest, copied_bytes) = copied?;
        directory.write(&manifest)?;
        directory.keep_only(&manifest)?;
        let zones = manifest.copies.len() as u32;
        let bytes = manifest.copies.iter().map(|copy| copy.bytes()).sum();
        tracing::info!(zones, bytes, copied_bytes, "backed up");
        Ok(Backup { zones, bytes, copied_bytes })
    }

    /// Takes the moment. All that is written is durable: no power cut can undo it, and let the same
    /// opening of a zone get another content.
    fn cut_now(
        &self,
        directory: Directory,
        before: Option<Manifest>,
    ) -> Result<Arc<Cut>, BackupError> {
        let _none = self.changes.write();
        self.device.flush()?;
        let zones = self.device.report(0, self.device.geometry().zones)?;
        let cut = Arc::new(Cut::new(self.device.clone(), zones, directory, before));
        *self.cut.write() = Some(cut.clone());
        Ok(cut)
    }
}

impl Device for Source {
    fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    fn report(&self, first: u32, count: u32) -> Result<Vec<ZoneInfo>, DeviceError> {
        self.device.report(first, count)
    }

    fn append_vectored(
        &self,
        zone: u32,
        at: u64,
        parts: &[IoSlice<'_>],
    ) -> Result<(), DeviceError> {
        let _change = self.changes.read();
        self.device.append_vectored(zone, at, parts)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.device.read(zone, offset, buffer)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        let _change = self.changes.read();
        let cut = self.cut.read().clone();
        if let Some(cut) = cut {
            cut.copy(zone);
        }
        self.device.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        let _change = self.changes.read();
        self.device.finish(zone)
    }

    fn flush(&self) -> Result<(), DeviceError> {
        self.device.flush()
    }

    fn read_other(&self, zone: u32, at: u64, buffer: &mut [u8]) -> Result<bool, DeviceError> {
        self.device.read_other(zone, at, buffer)
    }

    fn rebuilt_blocks(&self) -> u64 {
        self.device.rebuilt_blocks()
    }
}
