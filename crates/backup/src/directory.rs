//! A directory as a place of backups.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::place::{PARTS, Place, Unfinished};

/// The end of the name of a file that is not whole yet.
const UNFINISHED: &str = ".new";

/// The directory of a backup.
pub struct Directory {
    path: PathBuf,
}

/// A file that gets its name when it is whole.
struct UnfinishedFile {
    file: File,
    path: PathBuf,
    name: PathBuf,
    is_finished: bool,
}

impl Directory {
    pub fn at(path: &Path) -> Self {
        Directory { path: path.to_owned() }
    }
}

impl Place for Directory {
    fn name_of(&self, object: &str) -> String {
        self.path.join(object).display().to_string()
    }

    fn prepare(&self) -> io::Result<()> {
        fs::create_dir_all(self.path.join(PARTS))?;
        sync(&self.path)
    }

    fn begin(&self, object: &str) -> io::Result<Box<dyn Unfinished>> {
        let name = self.path.join(object);
        let mut path = name.clone().into_os_string();
        path.push(UNFINISHED);
        let path = PathBuf::from(path);
        let file = File::create(&path)?;
        Ok(Box::new(UnfinishedFile { file, path, name, is_finished: false }))
    }

    fn open(&self, object: &str) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(self.path.join(object))?))
    }

    fn parts(&self) -> io::Result<HashSet<String>> {
        let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name());
        let names: Result<Vec<_>, _> = fs::read_dir(self.path.join(PARTS))?.map(name).collect();
        // A name that is no text is none of a part.
        let names = names?.into_iter().filter_map(|name| name.into_string().ok());
        Ok(names.map(|name| format!("{PARTS}{name}")).collect())
    }

    fn remove(&self, objects: &[&str]) -> io::Result<()> {
        objects.iter().try_for_each(|object| fs::remove_file(self.path.join(object)))
    }

    fn settle(&self) -> io::Result<()> {
        sync(&self.path.join(PARTS))?;
        sync(&self.path)
    }

    fn at_a_time(&self) -> usize {
        1
    }
}

impl Unfinished for UnfinishedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, &self.name)?;
        self.is_finished = true;
        Ok(())
    }
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if !self.is_finished {
            // If it stays, the next backup removes it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the names in a directory durable.
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
