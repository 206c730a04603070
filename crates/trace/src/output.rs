//! Files that appear only when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::TraceError;

/// A file that is written under a temporary name beside its own, and given its own at the end.
///
/// Dropped before that, it leaves nothing. What exists and is no regular file (a pipe, a terminal,
/// `/dev/null`) cannot be replaced, and is written to directly.
pub(crate) struct Output {
    target: PathBuf,
    temporary: Option<PathBuf>,
}

impl Output {
    /// Begins a file.
    pub(crate) fn create(target: &Path) -> Result<(Output, File), TraceError> {
        let failed = |error: io::Error| unwritable(target, &error);
        let existing = fs::metadata(target).ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
            let file = OpenOptions::new().write(true).open(target).map_err(failed)?;
            return Ok((Output { target: target.to_owned(), temporary: None }, file));
        }
        // Through a link, the file that it names is the one to replace.
        let target = match existing {
            Some(_) => fs::canonicalize(target).map_err(failed)?,
            None => target.to_owned(),
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&temporary).map_err(failed)?;
        Ok((Output { target, temporary: Some(temporary) }, file))
    }

    /// Gives the file its name; all has been written.
    pub(crate) fn complete(mut self) -> Result<(), TraceError> {
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target).map_err(|e| unwritable(&self.target, &e))?;
            self.temporary = None;
        }
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing more can be done about it here.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The error of an output that could not be written.
pub(crate) fn unwritable(target: &Path, cause: &dyn std::fmt::Display) -> TraceError {
    TraceError::Unwritable { file: target.to_owned(), cause: cause.to_string() }
}
