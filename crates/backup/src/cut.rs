//! The device at one moment, and the copies of its zones.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

use frostline_zone::{AlignedBuf, Device, ZoneInfo, ZoneState};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::BackupError;
use crate::joining::taken_in;
use crate::manifest::{END, Manifest, OPENING_DIGITS, ZoneCopy, ZonePart};
use crate::place::{Place, Unfinished};
use crate::target::{Known, Target};

/// Bytes that are read at a time.
const STEP: u64 = 1 << 20;

/// Bytes by which an opening is known.
const FIRST: usize = 4096;

/// A zone's copy, once it was made or can't be; none of an empty zone.
type CopyOutcome = Option<Result<Option<ZoneCopy>, BackupError>>;

/// The names of the zones' openings, as long as these last.
pub(crate) type Openings = Mutex<HashMap<u32, String>>;

/// The parts that a process wrote, with the names of their places.
pub(crate) type Written = Mutex<HashSet<String>>;

/// The device at one moment.
pub(crate) struct Cut {
    device: Arc<dyn Device>,
    zones: Vec<ZoneInfo>,
    openings: Arc<Openings>,
    /// The parts that this process wrote for backups that were cut short.
    written: Arc<Written>,
    place: Arc<dyn Place>,
    store: Option<u64>,
    target: String,
    /// The zones of the last backup, by number and opening.
    before: HashMap<(u32, String), ZoneCopy>,
    /// The last backup is one of this process.
    is_own: bool,
    /// The parts that are there.
    parts: Mutex<HashSet<String>>,
    copies: Vec<Mutex<CopyOutcome>>,
    copied: Mutex<Copied>,
}

/// Counts of what was copied.
#[derive(Clone, Copy, Default)]
pub(crate) struct Copied {
    /// Bytes that were copied.
    pub bytes: u64,
    /// Those of them that the last backup had as well, in parts that were joined.
    pub again_bytes: u64,
}

/// Whether a zone's parts may be joined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joining {
    Yes,
    No,
}

impl Cut {
    /// The zones as they are: written up to here, and durable.
    pub(crate) fn new(
        device: Arc<dyn Device>,
        zones: Vec<ZoneInfo>,
        openings: Arc<Openings>,
        written: Arc<Written>,
        target: &Target,
        known: Known,
    ) -> Self {
        let copies = zones.iter().map(|_| Mutex::default()).collect();
        let Known { list, parts, is_own } = known;
        let before = list.into_iter().flat_map(|list| list.copies);
        let before = before.map(|copy| ((copy.zone, copy.opening.clone()), copy)).collect();
        let (place, store, target) = (target.place().clone(), target.store(), target.name());
        let (parts, copied) = (Mutex::new(parts), Mutex::default());
        Cut {
            device,
            zones,
            openings,
            written,
            place,
            store,
            target,
            before,
            is_own,
            parts,
            copies,
            copied,
        }
    }

    /// Copies a zone that is to be reset, unless that was done. An error is kept for
    /// [`Cut::finish`].
    pub(crate) fn copy_before_reset(&self, zone: u32) {
        self.copy(zone, Joining::No);
    }

    /// Copies all that is not copied, and returns what is then at the target, and counts.
    pub(crate) fn finish(&self) -> Result<(Known, Copied), BackupError> {
        let next = AtomicU32::new(0);
        thread::scope(|scope| {
            // As many threads as the system gives: this one is enough.
            let other =
                |_| thread::Builder::new().spawn_scoped(scope, || self.copy_all(&next)).ok();
            drop((1..self.place.at_a_time()).map_while(other).collect::<Vec<_>>());
            self.copy_all(&next);
        });
        let mut all = Vec::new();
        for copy in &self.copies {
            if let Some(made) = &*copy.lock() {
                all.extend(made.clone()?);
            }
        }
        let list = Some(Manifest::new(self.store, self.device.geometry(), all));
        let parts = std::mem::take(&mut *self.parts.lock());
        let known = Known { list, parts, is_own: true };
        Ok((known, *self.copied.lock()))
    }

    /// Copies zones until none is left, or one can't be copied.
    fn copy_all(&self, next: &AtomicU32) {
        let failed = self.zones.len() as u32;
        while let zone = next.fetch_add(1, Relaxed)
            && zone < failed
        {
            if !self.copy(zone, Joining::Yes) {
                next.fetch_max(failed, Relaxed);
            }
        }
    }

    /// False if the zone can't be copied.
    fn copy(&self, zone: u32, joining: Joining) -> bool {
        let zones = (self.copies.get(zone as usize), self.zones.get(zone as usize));
        let (Some(copy), Some(info)) = zones else { return true };
        copy.lock().get_or_insert_with(|| self.copy_zone(zone, info, joining)).is_ok()
    }

    fn copy_zone(
        &self,
        zone: u32,
        info: &ZoneInfo,
        joining: Joining,
    ) -> Result<Option<ZoneCopy>, BackupError> {
        let to = info.write_pointer;
        if to == 0 && info.state != ZoneState::Offline {
            return Ok(None);
        }
        let full = info.state == ZoneState::Full;
        let opening = self.opening(zone, to)?;
        let before = self.before.get(&(zone, opening.clone()));
        if let Some(before) = before
            && !self.went_on(before, to)?
        {
            return Err(BackupError::WentApart { target: self.target.clone(), zone });
        }
        let parts = before.map_or(Vec::new(), |copy| copy.parts.clone());
        let end = before.map_or(0, |copy| copy.end);
        let mut copy = ZoneCopy { zone, opening, full, end, parts };
        if copy.bytes() < to {
            let joined = match joining {
                Joining::Yes => taken_in(&copy.parts, to - copy.bytes()),
                Joining::No => 0,
            };
            self.append_part(&mut copy, joined, to)?;
            copy.end = self.end(zone, to)?;
        }
        assert_eq!(copy.bytes(), to, "a copy ends where its zone does");
        Ok(Some(copy))
    }

    /// Whether the zone has what its copy has, and maybe more: not so if the device was restored
    /// from an earlier backup and went on. What this process copied was durable then, and is there.
    fn went_on(&self, copy: &ZoneCopy, to: u64) -> Result<bool, BackupError> {
        Ok(copy.bytes() <= to && (self.is_own || self.end(copy.zone, copy.bytes())? == copy.end))
    }

    /// CRC-32C of the last bytes of the first `to` of a zone.
    fn end(&self, zone: u32, to: u64) -> Result<u32, BackupError> {
        let mut end = AlignedBuf::zeroed(END.min(to) as usize);
        self.device.read(zone, to - end.len() as u64, &mut end)?;
        Ok(crc32c::crc32c(&end))
    }

    /// The name of a zone's opening, which its first bytes tell.
    fn opening(&self, zone: u32, written: u64) -> Result<String, BackupError> {
        if let Some(name) = self.openings.lock().get(&zone) {
            return Ok(name.clone());
        }
        let mut first = AlignedBuf::zeroed((FIRST as u64).min(written.max(1)) as usize);
        self.device.read(zone, 0, &mut first)?;
        let digest = Sha256::digest(&first[..]);
        let name = digest[..OPENING_DIGITS / 2].iter().fold(String::new(), |mut name, byte| {
            let _ = write!(name, "{byte:02x}");
            name
        });
        if first.len() == FIRST {
            self.openings.lock().insert(zone, name.clone());
        }
        Ok(name)
    }

    /// Copies a zone from where its copy ends to `to`, together with its last `joined` parts.
    fn append_part(&self, copy: &mut ZoneCopy, joined: usize, to: u64) -> Result<(), BackupError> {
        assert!(copy.bytes() < to && joined <= copy.parts.len(), "a part has bytes to copy");
        let copied = copy.bytes();
        let joined = copy.parts.split_off(copy.parts.len() - joined);
        match self.copy_part(copy, &joined, to)? {
            Some(part) => {
                copy.parts.push(part);
                self.count(to - part.from, copied - part.from);
            }
            // The copy is the better one, and stays.
            None => {
                tracing::warn!(zone = copy.zone, "a zone is no longer as it was copied before");
                copy.parts.extend(joined);
                copy.parts.extend(self.copy_part(copy, &[], to)?);
                self.count(to - copied, 0);
            }
        }
        Ok(())
    }

    /// Copies a zone from where its copy ends to `to`. The first of it must be as it was when it
    /// was copied in parts: `None` if it is not.
    fn copy_part(
        &self,
        copy: &ZoneCopy,
        as_before: &[ZonePart],
        to: u64,
    ) -> Result<Option<ZonePart>, BackupError> {
        let mut part = ZonePart { from: copy.bytes(), to, sum: 0 };
        let name = copy.name(&part);
        let failed = || BackupError::object(self.place.name_of(&name));
        let is_there = self.parts.lock().contains(&name)
            && (self.written.lock().contains(&self.place.name_of(&name))
                || self.is_as(copy, &part)?);
        let mut object: Option<Box<dyn Unfinished>> = match is_there {
            // A backup that was cut short copied it.
            true => None,
            false => Some(self.place.begin(&name).map_err(failed())?),
        };
        if let Some(object) = &mut object {
            object.write(copy.first_bytes(&part).as_bytes()).map_err(failed())?;
        }
        let behind = as_before.last().map_or(part.from, |part| part.to);
        let new = ZonePart { from: behind, to, sum: 0 };
        let mut bytes = AlignedBuf::zeroed(STEP.min(part.bytes()) as usize);
        for piece in as_before.iter().chain([&new]) {
            let (mut at, mut sum) = (piece.from, 0);
            while at < piece.to {
                let step = &mut bytes[..STEP.min(piece.to - at) as usize];
                self.device.read(copy.zone, at, step)?;
                sum = crc32c::crc32c_append(sum, step);
                if let Some(object) = &mut object {
                    object.write(step).map_err(failed())?;
                }
                at += step.len() as u64;
            }
            if sum != piece.sum && piece.to <= behind {
                return Ok(None);
            }
            part.sum = crc32c::crc32c_combine(part.sum, sum, piece.bytes() as usize);
        }
        if let Some(object) = object {
            object.finish().map_err(failed())?;
            self.written.lock().insert(self.place.name_of(&name));
            self.parts.lock().insert(name);
        }
        Ok(Some(part))
    }

    /// Whether a part at the target has what the zone has. The device may have been restored since
    /// another process wrote the part, and have other bytes there.
    fn is_as(&self, copy: &ZoneCopy, part: &ZonePart) -> Result<bool, BackupError> {
        let read = || {
            let mut object = self.place.open(&copy.name(part))?;
            let mut found = vec![0; copy.first_bytes(part).len()];
            object.read_exact(&mut found).map(|()| object)
        };
        let Ok(mut object) = read() else { return Ok(false) };
        let mut bytes = AlignedBuf::zeroed(STEP.min(part.bytes()) as usize);
        let (mut found, mut at) = (vec![0; bytes.len()], part.from);
        while at < part.to {
            let step = STEP.min(part.to - at) as usize;
            self.device.read(copy.zone, at, &mut bytes[..step])?;
            if object.read_exact(&mut found[..step]).is_err() || found[..step] != bytes[..step] {
                return Ok(false);
            }
            at += step as u64;
        }
        Ok(true)
    }

    fn count(&self, bytes: u64, again_bytes: u64) {
        let mut copied = self.copied.lock();
        copied.bytes += bytes;
        copied.again_bytes += again_bytes;
    }
}
