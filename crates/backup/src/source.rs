//! A device that can be backed up while it is in use.

use std::io::IoSlice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_zone::{Device, DeviceError, Geometry, ZoneInfo, ZoneRead};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};

use crate::cut::{Cut, Openings, Written};
use crate::target::Known;
use crate::{BackupError, Target};

/// A device that passes everything on, and can be backed up at any time.
pub struct Source {
    device: Arc<dyn Device>,
    /// Locked for each change, and as a whole while the moment of a backup is taken.
    changes: RwLock<()>,
    /// The backup that is under way.
    cut: RwLock<Option<Arc<Cut>>>,
    one_at_a_time: Mutex<()>,
    openings: Arc<Openings>,
    /// The parts that were written since the last backup that was whole.
    written: Arc<Written>,
    /// The number of changes since the device was opened.
    changed: AtomicU64,
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
    /// Those of the copied bytes that were there: small parts are joined, which copies a byte four
    /// times at most.
    pub again_bytes: u64,
    /// Parts at the target that are needed no more and could not be removed. The next backup tries
    /// again.
    pub left_parts: u64,
}

impl Source {
    /// A device that all its users use through this from now on.
    pub fn new(device: Arc<dyn Device>) -> Arc<Source> {
        Arc::new(Source {
            device,
            changes: RwLock::new(()),
            cut: RwLock::new(None),
            one_at_a_time: Mutex::new(()),
            openings: Arc::default(),
            written: Arc::default(),
            changed: AtomicU64::new(0),
        })
    }

    /// Copies the device as it is now. Only content that an earlier backup of the same device lacks
    /// is copied, and parts of zones that have become many. That backup is replaced once this one
    /// is whole.
    ///
    /// Changes of the device wait while the moment is taken, which takes a flush; and a reset of a
    /// zone that is not copied yet waits for its copy. Backups wait for each other.
    ///
    /// # Errors
    /// The target has the backup of another store, or of a device that went on otherwise; a zone
    /// can't be read, or is offline; a file or an object can't be written: then the last backup is
    /// as it was.
    pub fn back_up(&self, target: &Target) -> Result<Backup, BackupError> {
        let _one = self.one_at_a_time.lock();
        let known = target.take_known()?;
        // Most is durable before changes have to wait.
        self.device.flush()?;
        let cut = self.cut_now(target, known)?;
        let copied = cut.finish();
        *self.cut.write() = None;
        let (mut known, copied) = copied?;
        let list = known.list.iter();
        let zones = list.clone().map(|list| list.copies.len() as u32).sum();
        let bytes = list.clone().flat_map(|list| &list.copies).map(|copy| copy.bytes()).sum();
        list.into_iter().try_for_each(|list| target.replace_list(list))?;
        self.written.lock().clear();
        let left_parts = target.remove_unneeded(&mut known) as u64;
        target.know(known);
        let (copied_bytes, again_bytes) = (copied.bytes, copied.again_bytes);
        tracing::debug!(zones, bytes, copied_bytes, again_bytes, "backed up");
        Ok(Backup { zones, bytes, copied_bytes, again_bytes, left_parts })
    }

    /// The number of changes of the device: the same twice, if there was none in between.
    pub(crate) fn changed(&self) -> u64 {
        self.changed.load(Relaxed)
    }

    /// Takes the moment. All that is written is durable: no power cut can undo it, and let the same
    /// opening of a zone get another content.
    fn cut_now(&self, target: &Target, known: Known) -> Result<Arc<Cut>, BackupError> {
        let _none = self.changes.write();
        self.device.flush()?;
        let zones = self.device.report(0, self.device.geometry().zones)?;
        let (openings, written) = (self.openings.clone(), self.written.clone());
        let cut = Arc::new(Cut::new(self.device.clone(), zones, openings, written, target, known));
        let before = self.cut.write().replace(cut.clone());
        debug_assert!(before.is_none(), "one backup is under way at a time");
        Ok(cut)
    }

    /// Lets no moment be taken while a change is made.
    fn change(&self) -> RwLockReadGuard<'_, ()> {
        let change = self.changes.read();
        self.changed.fetch_add(1, Relaxed);
        change
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
        let _change = self.change();
        self.device.append_vectored(zone, at, parts)
    }

    fn read(&self, zone: u32, offset: u64, buffer: &mut [u8]) -> Result<(), DeviceError> {
        self.device.read(zone, offset, buffer)
    }

    fn read_all(&self, reads: &mut [ZoneRead<'_>]) -> Result<(), DeviceError> {
        self.device.read_all(reads)
    }

    fn reset(&self, zone: u32) -> Result<(), DeviceError> {
        let _change = self.change();
        let cut = self.cut.read().clone();
        if let Some(cut) = cut {
            cut.copy_before_reset(zone);
        }
        self.openings.lock().remove(&zone);
        self.device.reset(zone)
    }

    fn finish(&self, zone: u32) -> Result<(), DeviceError> {
        let _change = self.change();
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
