//! Files that appear, or are replaced, only when they are complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use frostline_trace::TraceError;
use serde::Serialize;

use crate::failure::Failure;

/// A value as JSON; `what` is the command.
pub fn json<T: Serialize>(what: &str, value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|e| Failure::job(what, &e.to_string()))
}

/// Finds out whether a file can be written, before the work whose result it is to hold.
pub fn check(path: &Path) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        // A pipe's reader would take the end of the check for the end of the result.
        return Ok(());
    }
    let begun = begin(path).map_err(|e| unwritable(path, &e))?;
    match begun.temporary {
        Some(temporary) => fs::remove_file(temporary).map_err(|e| unwritable(path, &e)),
        None => Ok(()),
    }
}

/// Writes a file: all of it, or nothing.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || {
        let mut begun = begin(path)?;
        let written = begun.file.write_all(text.as_bytes());
        let Some(temporary) = begun.temporary else { return written };
        let done = written.and_then(|()| fs::rename(&temporary, &begun.target));
        if done.is_err() {
            // Nothing more can be done about it.
            let _ = fs::remove_file(&temporary);
        }
        done
    };
    write().map_err(|e| unwritable(path, &e))
}

/// Refuses the name of a trace that promises what can't be written.
pub fn check_name(command: &str, path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Err(Failure::usage(command, "-: a trace is written to a file")
            .hint("to pass it on, write to /dev/stdout"));
    }
    const OTHERS: [&str; 9] = ["csv", "txt", "log", "json", "gz", "xz", "bz2", "lz4", "zip"];
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_lowercase();
    if !OTHERS.contains(&ending.as_str()) {
        return Ok(());
    }
    let why = format!("{}: a trace can't be written as .{ending}", path.display());
    Err(Failure::usage(command, &why)
        .hint("page numbers: .u32, compressed: .u32.zst, with times and reads: .parquet"))
}

struct Begun {
    file: File,
    target: PathBuf,
    /// None if it is written to directly: a pipe, a terminal, `/dev/null`.
    temporary: Option<PathBuf>,
}

fn begin(path: &Path) -> io::Result<Begun> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        let file = OpenOptions::new().write(true).open(path)?;
        return Ok(Begun { file, target: path.to_owned(), temporary: None });
    }
    // Through a link, the file that it names is the one to replace.
    let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temporary = target.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let file = File::create(&temporary)?;
    Ok(Begun { file, target, temporary: Some(temporary) })
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    TraceError::Unwritable { file: path.to_owned(), cause: error.to_string() }.into()
}
