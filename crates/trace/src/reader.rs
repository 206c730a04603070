//! Reads a trace of any format, request by request, in bounded memory.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use frostline_placement::Hotness;

use crate::cause::{Bounds, Cause};
use crate::detect::detect;
use crate::error::{Place, TraceError};
use crate::format::Format;
use crate::formats::alibaba::Alibaba;
use crate::formats::blkparse::Blkparse;
use crate::formats::fio::Fio;
use crate::formats::msr::Msr;
use crate::formats::oracle_general::ObjectRequests;
use crate::formats::parquet::ParquetTable;
use crate::formats::tencent::Tencent;
use crate::formats::u32::PageNumbers;
use crate::kinds::RecordKind;
use crate::request::Request;
use crate::sink::Sink;
use crate::source::TraceBytes;
use crate::text::{Lines, Text};
use crate::volumes::Volumes;

/// Options of reading a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderOptions {
    /// The format; `None` to find it by content.
    pub format: Option<Format>,
    /// Bytes in a page: the unit of page numbers, and the limit for requests, which must end before
    /// the last LBA does.
    pub page_size: u32,
    /// Bytes in the unit of `oracle-general`'s object numbers; `None` for a page. Other formats
    /// have no such option.
    pub unit: Option<NonZeroU32>,
    /// True to read the hotness records that the file may have, see [`Reader::hotness`].
    pub hotness: bool,
}

impl Default for ReaderOptions {
    fn default() -> ReaderOptions {
        ReaderOptions { format: None, page_size: 4096, unit: None, hotness: false }
    }
}

/// An open trace: plain, zstd-compressed or gzip-compressed.
pub struct Reader {
    file: PathBuf,
    format: Format,
    bounds: Bounds,
    volumes: Volumes,
    decoder: Decoder,
}

enum Decoder {
    Text(Text),
    U32(PageNumbers),
    Records(ObjectRequests),
    ParquetTable(Box<ParquetTable>),
}

impl Reader {
    /// Opens a trace with pages of 4 KiB.
    ///
    /// # Errors
    /// If the file cannot be read, is empty, or is of no known format.
    pub fn open(path: &Path, format: Option<Format>) -> Result<Reader, TraceError> {
        Reader::open_with(path, &ReaderOptions { format, ..ReaderOptions::default() })
    }

    /// Opens a trace.
    ///
    /// # Errors
    /// Those of [`Reader::open`]; the page size is not a power of two from 512 up; hotness records
    /// are wanted and the file has only some of their columns.
    pub fn open_with(path: &Path, options: &ReaderOptions) -> Result<Reader, TraceError> {
        let bounds = Bounds::new(options.page_size)?;
        let source = TraceBytes::open(path)?;
        let format = match options.format {
            Some(format) => format,
            None => detect(source.head(), source.compressed(), path)?,
        };
        if options.unit.is_some() && format != Format::OracleGeneral {
            return Err(TraceError::Unit { file: path.to_owned(), format });
        }
        let decoder = decoder(format, source, path, options)?;
        let mut volumes = Volumes::new();
        let names_volumes = match &decoder {
            Decoder::Text(_) => true,
            Decoder::ParquetTable(table) => table.has_volumes(),
            Decoder::U32(_) | Decoder::Records(_) => false,
        };
        if !names_volumes {
            let placed = |cause: Cause| cause.at(path, Place::Byte(0));
            volumes.number(volume_of(path).as_bytes()).map_err(placed)?;
        }
        Ok(Reader { file: path.to_owned(), format, bounds, volumes, decoder })
    }

    /// The format it is read as.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The file it is read from.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The volumes so far, in the order of their first request; [`Request::volume`] is an index
    /// into them.
    pub fn volume_names(&self) -> &[String] {
        self.volumes.names()
    }

    /// Bytes of the file read so far; for a compressed file, compressed bytes.
    pub fn bytes_consumed(&self) -> u64 {
        match &self.decoder {
            Decoder::Text(text) => text.source().consumed(),
            Decoder::U32(pages) => pages.source().consumed(),
            Decoder::Records(records) => records.source().consumed(),
            Decoder::ParquetTable(table) => table.consumed(),
        }
    }

    /// Appends up to `max` requests to `requests`, and returns their number; 0 at the end.
    ///
    /// # Errors
    /// The first bad line or record; the requests before it are in `requests`.
    pub fn read(&mut self, requests: &mut Vec<Request>, max: usize) -> Result<usize, TraceError> {
        let before = requests.len();
        let full = before.saturating_add(max);
        let mut sink = Sink { requests, full, volumes: &mut self.volumes, bounds: self.bounds };
        match &mut self.decoder {
            Decoder::Text(text) => text.read(&mut sink)?,
            Decoder::U32(pages) => pages.read(&mut sink)?,
            Decoder::Records(records) => records.read(&mut sink)?,
            Decoder::ParquetTable(table) => table.read(&mut sink)?,
        }
        Ok(requests.len() - before)
    }

    /// True if the file has hotness records, read or not.
    pub fn has_hotness(&self) -> bool {
        matches!(&self.decoder, Decoder::ParquetTable(table) if table.has_hotness())
    }

    /// The hotness records of the requests that were read last, one each; all zeroes if the request
    /// is not a write. `None` if the file has no records or they were not asked for.
    pub fn hotness(&self) -> Option<&[Hotness]> {
        match &self.decoder {
            Decoder::ParquetTable(table) => table.hotness(),
            _ => None,
        }
    }

    /// The bytes of the pages of the requests that were read last, one number each; 0 if the
    /// request is neither a write nor a merge. `None` if the file has none.
    pub fn bytes(&self) -> Option<&[u16]> {
        match &self.decoder {
            Decoder::ParquetTable(table) => table.bytes(),
            _ => None,
        }
    }

    /// The kinds of the records that the requests which were read last wrote, one each; an image if
    /// the request is not a write. `None` if the file has none.
    pub fn kinds(&self) -> Option<&[RecordKind]> {
        match &self.decoder {
            Decoder::ParquetTable(table) => table.kinds(),
            _ => None,
        }
    }

    /// True if the requests of the file are known to be those of the user: page numbers have none,
    /// nor has a Parquet file without the column `following`, unless some of its writes are longer
    /// than a page.
    pub fn has_requests(&self) -> bool {
        match self.format {
            Format::U32 => false,
            Format::Parquet => self.following().is_some(),
            _ => true,
        }
    }

    /// The pages of the same requests that are in later rows, of the requests that were read last,
    /// at most 3; 0 if the request is not a write. `None` if the file does not say.
    pub fn following(&self) -> Option<&[u8]> {
        match &self.decoder {
            Decoder::ParquetTable(table) => table.following(),
            _ => None,
        }
    }

    /// The reader of page numbers, if the file has that format.
    pub(crate) fn pages(&mut self) -> Option<&mut PageNumbers> {
        match &mut self.decoder {
            Decoder::U32(pages) => Some(pages),
            _ => None,
        }
    }
}

fn decoder(
    format: Format,
    source: TraceBytes,
    path: &Path,
    options: &ReaderOptions,
) -> Result<Decoder, TraceError> {
    let lines: Box<dyn Lines> = match format {
        Format::U32 => return Ok(Decoder::U32(PageNumbers::new(source))),
        Format::OracleGeneral => {
            let unit = options.unit.map_or(options.page_size, NonZeroU32::get);
            return Ok(Decoder::Records(ObjectRequests::new(source, unit)));
        }
        Format::Parquet => {
            return Ok(Decoder::ParquetTable(Box::new(ParquetTable::open(path, options.hotness)?)));
        }
        Format::Alibaba => Box::new(Alibaba),
        Format::Tencent => Box::new(Tencent),
        Format::Msr => Box::new(Msr::default()),
        Format::Fio => Box::new(Fio::default()),
        Format::Blkparse => Box::new(Blkparse::new(source.head())),
    };
    Ok(Decoder::Text(Text::new(source, lines)))
}

/// The name of a file's only volume: the name of the file without its endings.
fn volume_of(path: &Path) -> String {
    let name = path.file_name().map_or("trace".into(), |name| name.to_string_lossy());
    let name = name.trim_end_matches(".zst").trim_end_matches(".gz");
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = if stem.is_empty() { name } else { stem };
    stem.chars().take(60).collect()
}
