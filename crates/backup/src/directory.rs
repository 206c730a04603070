//! The files of a backup. A file that has its name is whole and durable.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::BackupError;
use crate::manifest::{Manifest, VERSION};

/// The end of the name of a file that is not whole yet.
const UNFINISHED: &str = ".new";

/// The directory of a backup.
#[derive(Clone)]
pub struct Directory {
    path: PathBuf,
    parts: PathBuf,
}

/// A file that gets its name when it is whole.
pub struct Unfinished {
    file: File,
    path: PathBuf,
    name: PathBuf,
}

impl Directory {
    pub fn at(path: &Path) -> Self {
        Directory { path: path.to_owned(), parts: path.join("parts") }
    }

    /// Makes it if it is absent.
    pub fn make(&self) -> Result<(), BackupError> {
        fs::create_dir_all(&self.parts).map_err(BackupError::file(&self.parts))?;
        sync(&self.path)
    }

    pub fn part(&self, name: &str) -> PathBuf {
        self.parts.join(name)
    }

    fn manifest(&self) -> PathBuf {
        self.path.join("backup.json")
    }

    /// The last whole backup, if there is one.
    pub fn read(&self) -> Result<Option<Manifest>, BackupError> {
        let path = self.manifest();
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(BackupError::file(&path))?,
        };
        let damaged = |why| BackupError::Damaged { path, why };
        match serde_json::from_slice::<Manifest>(&text) {
            Ok(manifest) if manifest.frostline_backup == VERSION => Ok(Some(manifest)),
            Ok(other) => Err(damaged(format!("is of version {}", other.frostline_backup))),
            Err(error) => Err(damaged(format!("is no list of zones: {error}"))),
        }
    }

    /// Replaces the last backup. Its parts are there, and durable with this.
    pub fn write(&self, manifest: &Manifest) -> Result<(), BackupError> {
        sync(&self.parts)?;
        let mut file = Unfinished::create(self.manifest())?;
        let text = serde_json::to_vec_pretty(manifest).map_err(io::Error::other);
        file.write(&text.map_err(BackupError::file(&self.manifest()))?)?;
        file.finish()?;
        sync(&self.path)
    }

    /// Removes all parts that a backup does not need.
    pub fn keep_only(&self, manifest: &Manifest) -> Result<(), BackupError> {
        let parts = manifest.copies.iter().flat_map(|copy| copy.parts.iter().map(|p| copy.name(p)));
        let needed: HashSet<_> = parts.collect();
        let failed = || BackupError::file(&self.parts);
        for entry in fs::read_dir(&self.parts).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            if !entry.file_name().to_str().is_some_and(|name| needed.contains(name)) {
                fs::remove_file(entry.path()).map_err(BackupError::file(&entry.path()))?;
            }
        }
        Ok(())
    }
}

impl Unfinished {
    pub fn create(name: PathBuf) -> Result<Self, BackupError> {
        let mut path = name.clone().into_os_string();
        path.push(UNFINISHED);
        let path = PathBuf::from(path);
        let file = File::create(&path).map_err(BackupError::file(&path))?;
        Ok(Unfinished { file, path, name })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.file.write_all(bytes).map_err(BackupError::file(&self.path))
    }

    /// Makes its content durable, and gives it its name.
    pub fn finish(self) -> Result<(), BackupError> {
        self.file.sync_all().map_err(BackupError::file(&self.path))?;
        fs::rename(&self.path, &self.name).map_err(BackupError::file(&self.name))
    }
}

/// Makes the names in a directory durable.
fn sync(path: &Path) -> Result<(), BackupError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(BackupError::file(path))
}
