//! Errors of traces, each one line: file, place, cause.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::Format;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A line of a text format, counted from 1.
    Line(u64),
    /// A record of a binary format, counted from 1.
    Record(u64),
    /// A byte position in the file, counted from 0; of a compressed file, in the compressed bytes.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(n) => write!(f, "{n}"),
            Place::Record(n) => write!(f, "record {n}"),
            Place::Byte(n) => write!(f, "byte {n}"),
        }
    }
}

/// An error of reading, writing or preparing a trace.
///
/// Each is printed as a single line; [`TraceError::hint`] may add a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// There is no such file.
    #[error("{}: no such file", one_line(.file))]
    Missing {
        /// The file asked for.
        file: PathBuf,
    },
    /// The path names a directory.
    #[error("{}: is a directory, not a trace", one_line(.file))]
    Directory {
        /// The path asked for.
        file: PathBuf,
    },
    /// The operating system refused to open or read the file.
    #[error("{}: cannot be read: {source}", one_line(.file))]
    Unreadable {
        /// The file asked for.
        file: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file has no content.
    #[error("{}: is empty", one_line(.file))]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// The file is a trace without a single page write.
    #[error("{}: has no page writes (read as {format})", one_line(.file))]
    NoWrites {
        /// The file.
        file: PathBuf,
        /// The format that it was read as.
        format: Format,
    },
    /// The file ends in the middle of a line, record or structure.
    #[error("{}:{place}: is cut short: {cause}", one_line(.file))]
    Truncated {
        /// The file.
        file: PathBuf,
        /// The place where it ends.
        place: Place,
        /// The part that is incomplete.
        cause: String,
    },
    /// Compressed or structured content that does not decode.
    #[error("{}:{place}: is damaged: {cause}", one_line(.file))]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The place up to which it could be read.
        place: Place,
        /// The error of the decoder.
        cause: String,
    },
    /// A line or record that violates its format.
    #[error("{}:{place}: {cause}", one_line(.file))]
    Bad {
        /// The file.
        file: PathBuf,
        /// The line or record.
        place: Place,
        /// The fault.
        cause: String,
    },
    /// A line too long to be one of a trace.
    #[error("{}:{place}: line is longer than {limit} bytes", one_line(.file))]
    LongLine {
        /// The file.
        file: PathBuf,
        /// The line.
        place: Place,
        /// The longest line accepted, in bytes.
        limit: usize,
    },
    /// A request longer than any device accepts.
    #[error("{}:{place}: request of {length} bytes is too long (at most {limit})",
        one_line(.file))]
    LongRequest {
        /// The file.
        file: PathBuf,
        /// The line or record.
        place: Place,
        /// Its length in bytes.
        length: u64,
        /// The longest accepted, in bytes.
        limit: u64,
    },
    /// A request that ends beyond the last page that an LBA of 32 bits can name.
    #[error(
        "{}:{place}: request at byte {offset} of {length} bytes ends beyond LBA {} \
         (pages of {page_size} bytes)", one_line(.file), u32::MAX)]
    FarRequest {
        /// The file.
        file: PathBuf,
        /// The line or record.
        place: Place,
        /// The first byte of the request.
        offset: u64,
        /// Its length in bytes.
        length: u64,
        /// Bytes in a page.
        page_size: u32,
    },
    /// The content is of no known format.
    #[error("{}: is of no known trace format (known: {})", one_line(.file), Format::names())]
    UnknownFormat {
        /// The file.
        file: PathBuf,
    },
    /// The content is that of another kind of file.
    #[error("{}: is {what}, not a trace", one_line(.file))]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The kind of file.
        what: &'static str,
        /// A hint for the user.
        hint: &'static str,
    },
    /// The file needs a format or compression that this build does not have.
    #[error("{}: this program was built without {feature}", one_line(.file))]
    NotBuiltIn {
        /// The file.
        file: PathBuf,
        /// The feature of this crate that is missing.
        feature: &'static str,
    },
    /// The content is not of the kind that the file's name promises.
    #[error("{}: is not what its name says: no {ending} file", one_line(.file))]
    Misnamed {
        /// The file.
        file: PathBuf,
        /// The ending of its name.
        ending: &'static str,
    },
    /// The file could only hold page numbers, but its numbers are not plausible as pages of a
    /// volume.
    #[error(
        "{}: is of no known trace format, and not plausible as page numbers: the first {numbers} \
         reach up to {largest} and are of {stretches} different stretches of 65536 pages",
        one_line(.file))]
    Implausible {
        /// The file.
        file: PathBuf,
        /// The number of page numbers that were looked at.
        numbers: u64,
        /// The largest of them.
        largest: u32,
        /// The number of stretches in which they lie.
        stretches: u64,
    },
    /// A unit was given for a format that has its own.
    #[error("{}: {format} has a unit of its own, and takes no other", one_line(.file))]
    Unit {
        /// The file.
        file: PathBuf,
        /// Its format.
        format: Format,
    },
    /// A volume that the trace does not have.
    #[error("{}: has no volume {name:?} (it has: {known})", one_line(.file))]
    UnknownVolume {
        /// The file.
        file: PathBuf,
        /// The volume asked for.
        name: String,
        /// The first volumes that it has.
        known: String,
    },
    /// Several volumes where one is needed.
    #[error("{}: has several volumes ({known}) where one is needed", one_line(.file))]
    SeveralVolumes {
        /// The file.
        file: PathBuf,
        /// The first volumes that it has.
        known: String,
    },
    /// More volumes than a trace plausibly has.
    #[error("{}:{place}: more than {limit} volumes", one_line(.file))]
    ManyVolumes {
        /// The file.
        file: PathBuf,
        /// The place of the first volume over the limit.
        place: Place,
        /// The most accepted.
        limit: usize,
    },
    /// A page size that is not a power of two from 512 bytes up.
    #[error("page size {bytes} is not a power of two from 512 bytes up")]
    PageSize {
        /// The size given, in bytes.
        bytes: u32,
    },
    /// The page writes do not fit in memory, or are 2^32 - 1 or more.
    #[error("{name}: {writes} page writes are too many to hold in memory")]
    ManyWrites {
        /// The file or volume.
        name: String,
        /// The number that fitted in memory.
        writes: u64,
    },
    /// The page writes and trims would take more memory than they may.
    #[error("{}: takes more than {limit} bytes of memory", one_line(.file))]
    Memory {
        /// The file.
        file: PathBuf,
        /// The bytes allowed.
        limit: u64,
    },
    /// More than 2^31 different pages.
    #[error("volume {name:?}: {pages} different pages are too many (at most {})", 1u32 << 31)]
    ManyPages {
        /// The volume.
        name: String,
        /// The number of them.
        pages: u64,
    },
    /// An output could not be written.
    #[error("{}: cannot be written: {cause}", one_line(.file))]
    Unwritable {
        /// The output.
        file: PathBuf,
        /// The cause.
        cause: String,
    },
}

impl TraceError {
    /// A hint for the user, if there is an obvious one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            TraceError::Directory { .. } => "name a file in it",
            TraceError::Empty { .. } | TraceError::NoWrites { .. } => {
                "only writes are replayed; is this the right file and format (--format)?"
            }
            TraceError::Truncated { .. } => "was the file copied or downloaded completely?",
            TraceError::UnknownFormat { .. } => {
                "name the format with --format; other CSV files need the columns of alibaba: \
                 device (a number), R or W, offset, length, microseconds"
            }
            TraceError::Foreign { hint, .. } => hint,
            TraceError::NotBuiltIn { .. } => {
                "build with the features parquet and zstd of frostline-trace, which are on by default"
            }
            TraceError::Misnamed { .. } => "if its content is right, name the format with --format",
            TraceError::Implausible { .. } => "if it holds page numbers, --format u32 reads them",
            TraceError::Memory { .. } => {
                "--max-memory allows more; --volume takes one volume of it, and frostline trace \
                 convert --limit a part"
            }
            TraceError::Bad { .. } => {
                "if this is not the format of the file, name it with --format"
            }
            TraceError::FarRequest { .. } => "a larger --page reaches further",
            TraceError::UnknownVolume { .. } => "frostline trace info lists all volumes",
            TraceError::SeveralVolumes { .. } => "pick one with --volume",
            TraceError::ManyWrites { .. } => "replay a part of the trace, or one volume of it",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Bytes of an invalid field that a message repeats.
const SHOWN: usize = 40;

/// A field as it appears in a message: quoted, escaped, and no longer than fits a line.
pub(crate) fn quoted(field: &[u8]) -> String {
    let shown = String::from_utf8_lossy(&field[..field.len().min(SHOWN)]);
    let dots = if field.len() > SHOWN { "..." } else { "" };
    format!("{:?}{dots}", shown)
}

/// The first names, for a message: separated by blanks, and followed by the number of the others.
pub fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const LISTED: usize = 20;
    let more = names.len().saturating_sub(LISTED);
    let mut list = String::new();
    for name in names.take(LISTED) {
        if !list.is_empty() {
            list.push(' ');
        }
        list.extend(name.chars().take(SHOWN).flat_map(char::escape_debug));
    }
    if more > 0 {
        list.push_str(&format!(" and {more} more"));
    }
    list
}

/// A path without line breaks and other control characters.
pub(crate) fn one_line(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
