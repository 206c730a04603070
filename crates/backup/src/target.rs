//! Where a backup goes, and what is known to be there.

use std::collections::HashSet;
use std::env;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::BackupError;
use crate::directory::Directory;
use crate::manifest::{Manifest, VERSION, first_bytes};
use crate::place::{LIST, Name, PARTS, Place, UNFINISHED};

/// Where a backup is kept: a directory, or with the feature `s3` a bucket. One process at a time
/// backs up to a target.
pub struct Target {
    place: Arc<dyn Place>,
    /// The number of the store whose backups are kept there.
    store: Option<u64>,
    /// What is there, after a backup by this process that succeeded.
    known: Mutex<Option<Known>>,
}

/// What is at a target.
#[derive(Default)]
pub(crate) struct Known {
    /// The last whole backup.
    pub list: Option<Manifest>,
    /// All parts, those of backups that were cut short among them.
    pub parts: HashSet<String>,
    /// The last backup is one of this process: the device went on from there.
    pub is_own: bool,
}

impl Target {
    /// The target with this name: `s3://BUCKET/PREFIX`, or the path of a directory. Nothing is read
    /// or made yet.
    ///
    /// Keys, region and address of S3 are those of the environment: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION`, `AWS_ENDPOINT_URL`, and
    /// `AWS_ALLOW_HTTP=true` for an address without TLS.
    ///
    /// # Errors
    /// A URL without a bucket, of another scheme, or of a feature that this was built without.
    pub fn new(name: impl AsRef<OsStr>) -> Result<Target, BackupError> {
        let settings = env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Target::with_settings(name, settings)
    }

    /// The same with settings of these names and values in place of those of the environment.
    ///
    /// # Errors
    /// Those of [`Target::new`].
    pub fn with_settings(
        name: impl AsRef<OsStr>,
        settings: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Target, BackupError> {
        let name = name.as_ref();
        let place: Arc<dyn Place> = match name.to_str().and_then(|name| name.split_once("://")) {
            Some((scheme, _)) => bucket(scheme, &name.to_string_lossy(), settings)?,
            None => Arc::new(Directory::at(Path::new(name))),
        };
        Ok(Target { place, store: None, known: Mutex::new(None) })
    }

    /// The same for backups of the store with this number, which is drawn when a store is
    /// formatted: where the backup of another is, none is made ([`BackupError::OtherStore`]).
    #[must_use]
    pub fn of_store(mut self, number: u64) -> Target {
        self.store = Some(number);
        self
    }

    /// The number of the store.
    pub(crate) fn store(&self) -> Option<u64> {
        self.store
    }

    /// The name of the target.
    pub(crate) fn name(&self) -> String {
        self.place.name_of("")
    }

    pub(crate) fn place(&self) -> &Arc<dyn Place> {
        &self.place
    }

    /// Makes sure that backups can be there, and takes out what is known of it: after an error that
    /// is read again.
    ///
    /// Nothing is changed before all that is there is proven to be of backups.
    pub(crate) fn take_known(&self) -> Result<Known, BackupError> {
        if let Some(known) = self.known.lock().take() {
            return Ok(known);
        }
        let known = self.survey()?;
        self.place.prepare().map_err(self.failed(PARTS))?;
        Ok(known)
    }

    /// The objects at the place. The last backup names its parts. Parts that it does not name begin
    /// with a line that proves that backups wrote them, and were cut short.
    fn survey(&self) -> Result<Known, BackupError> {
        let list = self.list()?;
        let (mut found, mut foreign) = (HashSet::new(), None);
        let read = self.place.names(&mut |Name { name, is_object }| {
            if is_object && first_bytes(whole_name(name)).is_some() {
                found.insert(name.to_string());
                return ControlFlow::Continue(());
            }
            foreign = Some(name.to_string());
            ControlFlow::Break(())
        });
        read.map_err(self.failed(""))?;
        let listed: HashSet<_> = list.iter().flat_map(Manifest::objects).collect();
        let unlisted = found.iter().filter(|name| *name != LIST && !listed.contains(*name));
        for name in unlisted {
            if foreign.is_some() {
                break;
            }
            if !self.is_of_backup(name).map_err(self.failed(name))? {
                foreign = Some(name.clone());
            }
        }
        if let Some(name) = foreign {
            return Err(BackupError::Foreign { object: self.place.name_of(&name) });
        }
        if list.as_ref().is_some_and(|list| list.store != self.store) {
            return Err(BackupError::OtherStore { target: self.name() });
        }
        found.retain(|name| name.starts_with(PARTS));
        Ok(Known { list, parts: found, is_own: false })
    }

    /// Whether an object begins as backups begin it, or ends before, if it is not whole.
    fn is_of_backup(&self, name: &str) -> io::Result<bool> {
        let whole = whole_name(name);
        let Some(first) = first_bytes(whole) else { return Ok(false) };
        let mut found = Vec::new();
        self.place.open(name)?.take(first.len() as u64).read_to_end(&mut found)?;
        let is_whole = found.len() == first.len() || whole == name;
        Ok(if is_whole { found == first.as_bytes() } else { first.as_bytes().starts_with(&found) })
    }

    pub(crate) fn know(&self, known: Known) {
        *self.known.lock() = Some(known);
    }

    /// Replaces the last backup. Its parts are there, and durable with this.
    pub(crate) fn replace_list(&self, list: &Manifest) -> Result<(), BackupError> {
        let replace = || {
            self.place.sync_names()?;
            let mut object = self.place.begin(LIST)?;
            object.write(&serde_json::to_vec(list).map_err(io::Error::other)?)?;
            object.finish()?;
            self.place.sync_names()
        };
        replace().map_err(self.failed(LIST))
    }

    /// Removes all parts that the last backup does not need, and returns how many are left. What
    /// can't be removed only takes space, and the next backup tries again.
    pub(crate) fn remove_unneeded(&self, known: &mut Known) -> usize {
        let needed: HashSet<_> = known.list.iter().flat_map(Manifest::objects).collect();
        let unneeded: Vec<_> = known.parts.difference(&needed).cloned().collect();
        if unneeded.is_empty() {
            return 0;
        }
        let names: Vec<_> = unneeded.iter().map(String::as_str).collect();
        let removed = self.place.remove(&names, &mut |name| {
            known.parts.remove(name);
        });
        let left = known.parts.difference(&needed).count();
        if let Err(error) = removed {
            tracing::warn!(%error, parts = left, "could not remove old parts");
        }
        left
    }

    /// The last whole backup, if there is one.
    pub(crate) fn list(&self) -> Result<Option<Manifest>, BackupError> {
        let read = self.place.open(LIST).and_then(|mut object| {
            let mut text = Vec::new();
            object.read_to_end(&mut text).map(|_| text)
        });
        let text = match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(self.failed(LIST))?,
        };
        let damaged = |why| self.damaged(LIST, why);
        match serde_json::from_slice::<Manifest>(&text) {
            Ok(list) if list.frostline_backup == VERSION => Ok(Some(list)),
            Ok(other) => Err(damaged(format!("is of version {}", other.frostline_backup))),
            Err(error) => Err(damaged(format!("is no list of zones: {error}"))),
        }
    }

    /// The last whole backup, which is to be restored.
    pub(crate) fn list_to_restore(&self) -> Result<Manifest, BackupError> {
        self.list()?.ok_or_else(|| BackupError::NoBackup { target: self.name() })
    }

    pub(crate) fn failed(&self, object: &str) -> impl FnOnce(io::Error) -> BackupError {
        BackupError::object(self.place.name_of(object))
    }

    pub(crate) fn damaged(&self, object: &str, why: String) -> BackupError {
        BackupError::Damaged { object: self.place.name_of(object), why }
    }
}

/// The name that an object gets when it is whole.
fn whole_name(name: &str) -> &str {
    name.strip_suffix(UNFINISHED).unwrap_or(name)
}

/// The place that a URL names.
fn bucket(
    scheme: &str,
    url: &str,
    settings: impl IntoIterator<Item = (String, String)>,
) -> Result<Arc<dyn Place>, BackupError> {
    match scheme {
        #[cfg(feature = "s3")]
        "s3" => Ok(Arc::new(crate::bucket::Bucket::new(url, settings)?)),
        #[cfg(not(feature = "s3"))]
        "s3" => {
            drop(settings);
            Err(BackupError::WithoutS3 { target: url.to_string() })
        }
        _ => {
            let why = "is neither a directory nor s3://BUCKET/PREFIX".to_string();
            Err(BackupError::Target { target: url.to_string(), why })
        }
    }
}
