//! Results of commands: on standard output, or in files that appear, or are replaced, only when
//! they are complete.

use std::fs::{self, Metadata};
use std::io::Write;
use std::path::Path;

use frostline_trace::{Output, TraceError};
use serde::Serialize;

use crate::failure::Failure;

/// A value as JSON; `what` is the command.
pub(crate) fn json<T: Serialize>(what: &str, value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|e| Failure::job(what, &e.to_string()))
}

/// Prints JSON or text on standard output, as the arguments ask, and writes the JSON to a file if
/// they ask for that; `what` is the command. The text comes with the failure if the file can't be
/// written: what took long is not lost.
pub(crate) fn emit(
    what: &str,
    json: Option<&Path>,
    report: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<String, Failure> {
    match json {
        None => Ok(text()),
        Some(path) if is_standard(path) => self::json(what, report),
        Some(path) => match write(path, &self::json(what, report)?) {
            Ok(()) => Ok(text()),
            Err(failure) => Err(failure.with_data(text())),
        },
    }
}

/// Checks that the output files can be written, before the work whose results they will hold. Also
/// checks that none of them is an input of the command or another of its outputs.
pub(crate) fn check<'a, P: AsRef<Path> + ?Sized + 'a>(
    what: &str,
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a P>,
) -> Result<(), Failure> {
    let mut taken: Vec<_> = inputs.into_iter().map(AsRef::as_ref).collect();
    for output in outputs.into_iter().filter(|path| !is_standard(path)) {
        if let Some(other) = taken.iter().find(|other| is_same(output, other)) {
            let (output, other) = (output.display(), other.display());
            let why = format!("{output} would be written over {other}, which the command needs");
            return Err(Failure::usage(what, &why).hint("name another file"));
        }
        taken.push(output);
        // The reader of a pipe would take the end of this check for the end of the result.
        if fs::metadata(output).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            continue;
        }
        Output::create(output)?;
    }
    Ok(())
}

/// Writes a file, completely or not at all.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let (output, mut file) = Output::create(path)?;
    file.write_all(text.as_bytes()).map_err(|error| TraceError::Unwritable {
        file: path.to_owned(),
        cause: error.to_string(),
    })?;
    Ok(output.complete()?)
}

/// True if a path stands for standard output.
fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// True if two paths name the same regular file, through any links, or will name it once it exists.
fn is_same(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => a.is_file() && identity(&a) == identity(&b),
        (Err(_), Err(_)) => {
            let place = |path: &Path| {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                let parent = fs::canonicalize(parent.unwrap_or(Path::new(".")));
                (parent.ok(), path.file_name().map(std::ffi::OsStr::to_owned))
            };
            place(a) == place(b)
        }
        _ => false,
    }
}

/// A file's device and inode numbers, which together identify it.
fn identity(meta: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (meta.dev(), meta.ino())
}

/// Refuses an output name whose ending stands for a format that can't be written.
pub(crate) fn check_name(command: &str, path: &Path) -> Result<(), Failure> {
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
