//! Output files that appear only when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use crate::error::TraceError;

/// A file that is written under a temporary name beside the target, and renamed at the end.
///
/// If it is dropped before that, it leaves nothing. A target that exists and is not a regular file
/// (a pipe, a terminal, `/dev/null`) can't be replaced, and is written directly.
pub struct Output {
    target: PathBuf,
    temporary: Option<TempPath>,
}

impl Output {
    /// Begins the output for `target`. The content is written through the returned file.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn create(target: &Path) -> Result<(Output, File), TraceError> {
        Output::begin(target).map_err(|error| unwritable(target, &error))
    }

    fn begin(target: &Path) -> io::Result<(Output, File)> {
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
            let file = OpenOptions::new().write(true).open(target)?;
            return Ok((Output { target: target.to_owned(), temporary: None }, file));
        }
        // If the target is a link, the file that it points to is replaced.
        let target = match existing {
            Some(_) => fs::canonicalize(target)?,
            None => target.to_owned(),
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}.");
        let mut builder = Builder::new();
        builder.prefix(&prefix).suffix(".part");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let begun = builder.tempfile_in(directory).map_err(without_path)?;
        let (file, temporary) = begun.into_parts();
        Ok((Output { target, temporary: Some(temporary) }, file))
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn complete(self) -> Result<(), TraceError> {
        match self.temporary {
            Some(temporary) => temporary
                .persist(&self.target)
                .map_err(|failed| unwritable(&self.target, &failed.error)),
            None => Ok(()),
        }
    }
}

/// An error without the temporary path, which says nothing to a reader.
pub(crate) fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause),
        None => error,
    }
}

/// The error of an output that could not be written.
pub(crate) fn unwritable(target: &Path, cause: &dyn std::fmt::Display) -> TraceError {
    TraceError::Unwritable { file: target.to_owned(), cause: cause.to_string() }
}
