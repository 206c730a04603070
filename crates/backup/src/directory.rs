//! A directory as a place of backups.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::place::{Name, PARTS, Place, UNFINISHED, Unfinished};

/// The directory of a backup.
pub(crate) struct Directory {
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
    pub(crate) fn at(path: &Path) -> Self {
        Directory { path: path.to_owned() }
    }

    /// Tells the names below one, which is empty or ends with a slash. The directory of the parts
    /// is part of their names.
    fn names_in(
        &self,
        above: &str,
        each: &mut dyn FnMut(Name<'_>) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        let entries = match fs::read_dir(self.path.join(above)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(ControlFlow::Continue(()));
            }
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            // A name that is no text is none of a backup, and stays so.
            let name = format!("{above}{}", entry.file_name().to_string_lossy());
            let kind = entry.file_type()?;
            let ended = match kind.is_dir() && format!("{name}/") == PARTS {
                true => self.names_in(PARTS, each)?,
                false => each(Name { name: &name, is_object: kind.is_file() }),
            };
            if ended.is_break() {
                return Ok(ended);
            }
        }
        Ok(ControlFlow::Continue(()))
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

    fn names(&self, each: &mut dyn FnMut(Name<'_>) -> ControlFlow<()>) -> io::Result<()> {
        let _ended = self.names_in("", each)?;
        Ok(())
    }

    fn remove(&self, objects: &[&str], gone: &mut dyn FnMut(&str)) -> io::Result<()> {
        let mut result = Ok(());
        for object in objects {
            match fs::remove_file(self.path.join(object)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    result = result.and(Err(error))
                }
                _ => gone(object),
            }
        }
        result
    }

    fn sync_names(&self) -> io::Result<()> {
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
