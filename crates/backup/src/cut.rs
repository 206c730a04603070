//! The device at one moment, and the copies of its zones.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use frostline_zone::{AlignedBuf, Device, ZoneInfo, ZoneState};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::BackupError;
use crate::directory::{Directory, Unfinished};
use crate::manifest::{Manifest, ZoneCopy, ZonePart};

/// Bytes that are read at a time.
const STEP: u64 = 1 << 20;

/// Bytes by which an opening is known.
const FIRST: usize = 4096;

/// A zone's copy, once it was made or can't be; none of an empty zone.
type CopyOutcome = Option<Result<Option<ZoneCopy>, BackupError>>;

/// The device at one moment.
pub struct Cut {
    device: Arc<dyn Device>,
    zones: Vec<ZoneInfo>,
    directory: Directory,
    /// The zones of the last backup, by number and opening.
    before: HashMap<(u32, String), ZoneCopy>,
    copies: Vec<Mutex<CopyOutcome>>,
    copied_bytes: AtomicU64,
}

impl Cut {
    /// The zones as they are: written up to here, and durable.
    pub fn new(
        device: Arc<dyn Device>,
        zones: Vec<ZoneInfo>,
        directory: Directory,
        before: Option<Manifest>,
    ) -> Self {
        let copies = zones.iter().map(|_| Mutex::default()).collect();
        let before = before.into_iter().flat_map(|manifest| manifest.copies);
        let before = before.map(|copy| ((copy.zone, copy.opening.clone()), copy)).collect();
        Cut { device, zones, directory, before, copies, copied_bytes: AtomicU64::new(0) }
    }

    /// Copies a zone, unless that was done. An error is kept for [`Cut::finish`].
    pub fn copy(&self, zone: u32) {
        if let (Some(copy), Some(info)) =
            (self.copies.get(zone as usize), self.zones.get(zone as usize))
        {
            copy.lock().get_or_insert_with(|| self.copy_zone(zone, info));
        }
    }

    /// Copies all that is not copied, and returns what the backup consists of, and the bytes that
    /// were copied.
    pub fn finish(&self) -> Result<(Manifest, u64), BackupError> {
        let mut all = Vec::new();
        for (zone, copy) in (0..).zip(&self.copies) {
            self.copy(zone);
            if let Some(made) = &*copy.lock() {
                all.extend(made.clone()?);
            }
        }
        Ok((Manifest::new(self.device.geometry(), all), self.copied_bytes.load(Relaxed)))
    }

    fn copy_zone(&self, zone: u32, info: &ZoneInfo) -> Result<Option<ZoneCopy>, BackupError> {
        if info.write_pointer == 0 && info.state != ZoneState::Offline {
            return Ok(None);
        }
        let full = info.state == ZoneState::Full;
        let opening = self.opening(zone, info.write_pointer)?;
        let before = self.before.get(&(zone, opening.clone()));
        let before = before.filter(|copy| copy.bytes() <= info.write_pointer);
        let parts = before.map_or(Vec::new(), |copy| copy.parts.clone());
        let mut copy = ZoneCopy { zone, opening, full, parts };
        if copy.bytes() < info.write_pointer {
            let part = self.copy_part(&copy, copy.bytes(), info.write_pointer)?;
            copy.parts.push(part);
        }
        Ok(Some(copy))
    }

    /// The name of a zone's opening, which its first bytes tell.
    fn opening(&self, zone: u32, written: u64) -> Result<String, BackupError> {
        let mut first = AlignedBuf::zeroed((FIRST as u64).min(written.max(1)) as usize);
        self.device.read(zone, 0, &mut first)?;
        let digest = Sha256::digest(&first[..]);
        Ok(digest[..16].iter().fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        }))
    }

    fn copy_part(&self, copy: &ZoneCopy, from: u64, to: u64) -> Result<ZonePart, BackupError> {
        let mut part = ZonePart { from, to, sum: 0 };
        let mut file = Unfinished::create(self.directory.part(&copy.name(&part)))?;
        let mut bytes = AlignedBuf::zeroed(STEP.min(to - from) as usize);
        let mut at = from;
        while at < to {
            let step = &mut bytes[..STEP.min(to - at) as usize];
            self.device.read(copy.zone, at, step)?;
            part.sum = crc32c::crc32c_append(part.sum, step);
            file.write(step)?;
            at += step.len() as u64;
        }
        file.finish()?;
        self.copied_bytes.fetch_add(to - from, Relaxed);
        Ok(part)
    }
}
