//! Making and opening a database.

use std::path::Path;
use std::sync::Arc;

use frostline_db as engine;
use frostline_store::{Cleaning, Format};
use frostline_zone::{self as zone, Device, DeviceError, OpenOptions, Overlay, Shape};

use crate::{Db, Error, Options, Result};

/// The zones of a database's device, if its size allows: enough that one open zone for each class
/// is a small share of the data.
const ZONES: u64 = 2048;

/// The smallest and the largest zone, in bytes.
const ZONE_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// The most bytes that recovery may write to memory when a database is opened for reading only.
const MOST_REPAIRS: u64 = 8 << 30;

/// The most pages written between two checkpoints of the store: 1 GiB, so that opening after a
/// crash reads some thousand headers.
const CHECKPOINT_WRITES: u64 = 1 << 18;

impl Db {
    /// Opens the database in a file with the default [`Options`], and makes it if it does not
    /// exist.
    ///
    /// # Errors
    /// Those of [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Db> {
        Options::new().open(path)
    }
}

impl Options {
    /// Opens the database in a file, and makes it if it does not exist or is empty. A database
    /// whose making a crash cut short is made again.
    ///
    /// # Errors
    /// The options are not valid; the file holds something else; another process has the
    /// database open; damage; an error of the file system.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Db> {
        let path = path.as_ref();
        let uri = uri(path);
        if self.create && !self.read_only && zone::can_create(&uri) {
            self.make(path)?;
        }
        let &Options { read_only, accept_loss, .. } = self;
        let open = OpenOptions { read_only, accept_loss, ..OpenOptions::default() };
        self.open_device(zone::open(&uri, &open)?)
    }

    /// Copies a database, as it is now, to a new one at `path` that is made with these options: so
    /// it gets another scheme, compression, unit, size, log or parity. What a scheme has learned is
    /// not copied. The database can be used meanwhile; it keeps in memory what is overwritten
    /// before it is copied. The copy appears when it is whole. Returns its records.
    ///
    /// ```
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// # use frostline::{Db, Options};
    /// let db = Options::new().bound(256 << 20).open("my.frost")?;
    /// let items = db.table("items")?;
    /// db.update(|tx| tx.put(items, "a", "hello"))?;
    /// Options::new().bound(256 << 20).scheme("sepbit").copy(&db, "other.frost")?;
    /// db.close()?;
    /// std::fs::rename("other.frost", "my.frost")?;
    /// # assert_eq!(Db::open("my.frost")?.tables(), ["items"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Something is at `path`; the options are not valid; [`Error::TooOld`], if too much was
    /// overwritten meanwhile; the copy is full; an error of the file system.
    pub fn copy(&self, db: &Db, path: impl AsRef<Path>) -> Result<u64> {
        let (path, mut records) = (path.as_ref(), 0);
        let taken = || DeviceError::Exists { path: path.to_owned() };
        if !zone::can_create(&uri(path)) {
            return Err(taken().into());
        }
        let is_first = zone::create_whole(path, &self.shape(), |device| {
            engine::Db::create(&device, &self.format(&*device))?;
            let copy = self.clone().read_only(false).open_device(device)?;
            records = db.inner.copy_to(&copy.inner)?;
            copy.close()
        })?;
        if is_first { Ok(records) } else { Err(taken().into()) }
    }

    /// Opens the database on a device, and makes it if the device is empty.
    ///
    /// # Errors
    /// Those of [`Options::open`].
    pub fn open_device(&self, device: Arc<dyn Device>) -> Result<Db> {
        if self.create && !self.read_only && is_empty(&*device)? {
            engine::Db::create(&device, &self.format(&*device))?;
        }
        #[cfg(feature = "backup")]
        let source = frostline_backup::Source::new(device);
        #[cfg(feature = "backup")]
        let device: Arc<dyn Device> = source.clone();
        // Recovery writes as far as it must, and nothing else does.
        let device = match self.read_only {
            true => Overlay::over(device, MOST_REPAIRS)?,
            false => device,
        };
        let options = engine::Options {
            buffer_bytes: self.memory,
            compression: self.compression,
            accept_loss: self.accept_loss,
            space: self.space,
            schemes: self.schemes,
            recovery_bytes: self.recovery_bytes,
            version_bytes: self.version_bytes,
            longest_logged_value: self.longest_logged_value,
            fill: self.fill,
            background: !self.read_only,
            cleaning: if self.read_only { Cleaning::Inline } else { Cleaning::Background },
            ..engine::Options::default()
        };
        let inner = engine::Db::open(&device, &options)?;
        Ok(Db {
            inner,
            #[cfg(feature = "backup")]
            source,
            serializable: self.serializable,
            read_only: self.read_only,
            tries: self.tries,
        })
    }

    /// Makes a database in memory, which is gone when it is dropped.
    ///
    /// # Errors
    /// The options are not valid.
    pub fn in_memory(&self) -> Result<Db> {
        self.open_device(zone::in_memory(&self.shape())?)
    }

    /// Makes a database that others find once it is whole.
    fn make(&self, path: &Path) -> Result<()> {
        // If another process makes the database first, that one is opened.
        let _is_first = zone::create_whole(path, &self.shape(), |device| {
            Ok::<_, Error>(engine::Db::create(&device, &self.format(&*device))?)
        })?;
        Ok(())
    }

    fn shape(&self) -> Shape {
        let share = (self.bound / ZONES).clamp(*ZONE_BYTES.start(), *ZONE_BYTES.end());
        let (bytes, zone_bytes) = (self.bound, Some(1 << share.ilog2()));
        Shape { bytes, zone_bytes, parity: self.parity, ..Shape::default() }
    }

    fn format(&self, device: &dyn Device) -> engine::Create {
        let geometry = device.geometry();
        let bytes = u64::from(geometry.zones) * geometry.zone_capacity;
        let (scheme, victim) = (self.scheme.clone(), self.victim.clone());
        let (schemes, gp, unit) = (self.schemes, self.gp, self.unit);
        let checkpoint_writes = Some((bytes / 4096 / 4).clamp(1, CHECKPOINT_WRITES));
        let format = Format::default();
        engine::Create {
            store: Format { scheme, schemes, victim, gp, unit, checkpoint_writes, ..format },
            log_bytes: self.log_bytes,
            ..engine::Create::default()
        }
    }
}

/// The device in a file.
pub(crate) fn uri(path: &Path) -> String {
    format!("file:{}", path.display())
}

fn is_empty(device: &dyn Device) -> Result<bool> {
    let zones = device.report(0, device.geometry().zones)?;
    Ok(zones.iter().all(|zone| zone.write_pointer == 0))
}
