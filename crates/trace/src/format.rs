//! The names of formats.

use std::fmt;
use std::str::FromStr;

/// A trace format; `docs/formats.md` and the head of its reader describe its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Little-endian 32-bit page numbers, each a page write.
    U32,
    /// Alibaba Cloud block traces, CSV.
    Alibaba,
    /// Tencent Cloud block traces, CSV.
    Tencent,
    /// MSR Cambridge traces, CSV.
    Msr,
    /// fio's I/O log, version 2 or 3.
    Fio,
    /// The default text output of blkparse.
    Blkparse,
    /// The binary records of libCacheSim called oracleGeneral.
    OracleGeneral,
    /// Columns `time`, `op`, `offset`, `length`, `volume` in a Parquet file.
    Parquet,
}

impl Format {
    /// All formats, in the order in which they are listed to users.
    pub const ALL: [Format; 8] = [
        Format::U32,
        Format::Alibaba,
        Format::Tencent,
        Format::Msr,
        Format::Fio,
        Format::Blkparse,
        Format::OracleGeneral,
        Format::Parquet,
    ];

    /// The name that `--format` takes and results show.
    pub fn name(self) -> &'static str {
        match self {
            Format::U32 => "u32",
            Format::Alibaba => "alibaba",
            Format::Tencent => "tencent",
            Format::Msr => "msr",
            Format::Fio => "fio",
            Format::Blkparse => "blkparse",
            Format::OracleGeneral => "oracle-general",
            Format::Parquet => "parquet",
        }
    }

    /// True if requests say whether they read or write; in `oracle-general` they don't, and all
    /// count as writes.
    pub fn tells_reads(self) -> bool {
        self != Format::OracleGeneral
    }

    /// All names, separated by blanks.
    pub(crate) fn names() -> String {
        Format::ALL.map(Format::name).join(" ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(name: &str) -> Result<Format, ParseFormatError> {
        Format::ALL
            .into_iter()
            .find(|f| f.name() == name)
            .ok_or_else(|| ParseFormatError { name: name.to_owned() })
    }
}

/// No format has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a trace format (known: {})", Format::names())]
#[non_exhaustive]
pub struct ParseFormatError {
    /// The name given.
    pub name: String,
}
