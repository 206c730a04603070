//! Reads a Parquet file request by request.

use std::path::{Path, PathBuf};

use frostline_placement::{FOLLOWING_MOST, Hotness};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::checksum::{Checksum, OF_BYTES, OF_FOLLOWING, OF_HOTNESS, OF_KINDS, OF_REQUESTS};
use super::column::{StoredColumn, Values, guarded, place_of};
use super::file::BoundedFile;
use super::hotness::{HotnessColumns, Places, record};
use crate::cause::Cause;
use crate::error::{Place, TraceError, quoted};
use crate::formats::told::has_bytes;
use crate::kinds::RecordKind;
use crate::request::{Op, Request};
use crate::sink::Sink;
use crate::source::open_file;
use crate::volumes::Volumes;

/// Records that are decoded in one step.
const BATCH: usize = 4096;

/// The columns, in the order of [`RowGroup::columns`]; the last four may be absent.
const COLUMNS: [&str; 8] =
    ["time", "op", "offset", "length", "volume", "bytes", "delta", "following"];

/// The index of the bytes of pages in [`COLUMNS`].
const BYTES: usize = 5;

/// The index of the kinds of records.
const KIND: usize = 6;

/// The index of the pages that follow in the same request.
const FOLLOWING: usize = 7;

/// An input file in Parquet.
pub(crate) struct ParquetTable {
    file: PathBuf,
    reader: SerializedFileReader<BoundedFile>,
    /// The position of each of [`COLUMNS`] in the file.
    places: [Option<usize>; COLUMNS.len()],
    has_hotness: bool,
    /// The positions of the columns of hotness records; `None` if they are not wanted or not there.
    hotness: Option<Places>,
    /// The records of the requests read last.
    records: Vec<Hotness>,
    /// The bytes of the requests read last, if the file has them.
    bytes: Vec<u16>,
    /// The kinds of the records of these requests, if the file has them.
    kinds: Vec<RecordKind>,
    /// The pages that follow these requests in later rows, if the file has them.
    following: Vec<u8>,
    group: Option<RowGroup>,
    next_group: usize,
    taken: u64,
    consumed: u64,
    of_requests: Checksum,
    of_hotness: Checksum,
    of_bytes: Checksum,
    of_kinds: Checksum,
    of_following: Checksum,
}

/// Some rows, column by column.
struct RowBatch {
    columns: [Option<Values>; COLUMNS.len()],
    hotness: Option<Vec<Values>>,
}

/// A row group that is being read.
struct RowGroup {
    columns: [Option<StoredColumn>; COLUMNS.len()],
    hotness: Option<HotnessColumns>,
    rows_left: usize,
    bytes: u64,
}

impl ParquetTable {
    /// Opens a file and finds the columns, those of hotness records if `want_hotness`.
    pub(crate) fn open(path: &Path, want_hotness: bool) -> Result<ParquetTable, TraceError> {
        let (file, size) = open_file(path)?;
        let bounded = BoundedFile::new(file, size);
        let whole = bounded.ends_as_parquet();
        let reader = guarded(|| SerializedFileReader::new(bounded)).map_err(|cause| {
            let (file, place) = (path.to_owned(), Place::Byte(size));
            match whole {
                true => TraceError::Damaged { file, place, cause },
                false => {
                    let cause = "the footer is missing".to_owned();
                    TraceError::Truncated { file, place, cause }
                }
            }
        })?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let places = COLUMNS.map(|name| place_of(&schema, name));
        for (name, place) in COLUMNS.iter().zip(&places).take(4) {
            if place.is_none() {
                let cause = format!("column {name:?} is missing");
                return Err(Cause::bad(cause).at(path, Place::Record(0)));
            }
        }
        let has_hotness = Places::any(&schema);
        let hotness = match want_hotness {
            true => Places::find(&schema).map_err(|cause| cause.at(path, Place::Record(0)))?,
            false => None,
        };
        Ok(ParquetTable {
            file: path.to_owned(),
            reader,
            places,
            has_hotness,
            hotness,
            records: Vec::new(),
            bytes: Vec::new(),
            kinds: Vec::new(),
            following: Vec::new(),
            group: None,
            next_group: 0,
            taken: 0,
            consumed: 0,
            of_requests: Checksum::default(),
            of_hotness: Checksum::default(),
            of_bytes: Checksum::default(),
            of_kinds: Checksum::default(),
            of_following: Checksum::default(),
        })
    }

    /// True if the file has columns of hotness records, wanted or not.
    pub(crate) fn has_hotness(&self) -> bool {
        self.has_hotness
    }

    /// The hotness records of the requests read last; `None` if they are not wanted or not there.
    pub(crate) fn hotness(&self) -> Option<&[Hotness]> {
        self.hotness.map(|_| &self.records[..])
    }

    /// The bytes of the pages of the requests read last; `None` if the file has none.
    pub(crate) fn bytes(&self) -> Option<&[u16]> {
        self.places[BYTES].map(|_| &self.bytes[..])
    }

    /// The kinds of the records of the requests read last; `None` if the file has none.
    pub(crate) fn kinds(&self) -> Option<&[RecordKind]> {
        self.places[KIND].map(|_| &self.kinds[..])
    }

    /// The pages of the same requests in later rows, of the requests read last; `None` if the file
    /// does not say.
    pub(crate) fn following(&self) -> Option<&[u8]> {
        self.places[FOLLOWING].map(|_| &self.following[..])
    }

    /// Bytes of the row groups read so far.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// True if requests name their volumes.
    pub(crate) fn has_volumes(&self) -> bool {
        self.places[4].is_some()
    }

    pub(crate) fn read(&mut self, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        self.records.clear();
        self.bytes.clear();
        self.kinds.clear();
        self.following.clear();
        while !sink.is_full() {
            let Some(group) = &mut self.group else {
                if self.next_group == self.reader.num_row_groups() {
                    self.verify()?;
                    break;
                }
                self.group = Some(self.open_group()?);
                self.next_group += 1;
                continue;
            };
            let n = BATCH.min(sink.full - sink.requests.len()).min(group.rows_left);
            if n == 0 {
                self.consumed = self.consumed.saturating_add(group.bytes);
                self.group = None;
                continue;
            }
            group.rows_left -= n;
            let batch = read_batch(group, n).map_err(|cause| self.damaged(cause))?;
            self.take(&batch, n, sink)?;
        }
        Ok(())
    }

    fn open_group(&self) -> Result<RowGroup, TraceError> {
        let open = || -> Result<RowGroup, ParquetError> {
            let group = self.reader.get_row_group(self.next_group)?;
            let meta = group.metadata();
            let rows = usize::try_from(meta.num_rows())?;
            let bytes = u64::try_from(meta.compressed_size())?;
            let mut columns = [const { None }; COLUMNS.len()];
            for (column, place) in columns[..BYTES].iter_mut().zip(self.places) {
                if let Some(place) = place {
                    *column = Some(StoredColumn::open(group.as_ref(), place)?);
                }
            }
            for column in [BYTES, KIND, FOLLOWING] {
                // Another column may happen to have this name.
                let open = |place| StoredColumn::open(group.as_ref(), place).ok();
                columns[column] = self.places[column].and_then(open);
            }
            let hotness = self.hotness.map(|places| places.open(group.as_ref())).transpose()?;
            Ok(RowGroup { columns, hotness, rows_left: rows, bytes })
        };
        guarded(open).map_err(|cause| self.damaged(cause))
    }

    fn take(&mut self, batch: &RowBatch, n: usize, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        for i in 0..n {
            self.taken += 1;
            let place = Place::Record(self.taken);
            self.take_row(batch, i, sink).map_err(|cause| cause.at(&self.file, place))?;
        }
        Ok(())
    }

    fn take_row(&mut self, batch: &RowBatch, i: usize, sink: &mut Sink<'_>) -> Result<(), Cause> {
        let request = request(&batch.columns, i, sink.volumes)?;
        if let Some(columns) = &batch.hotness {
            // Only writes have a hotness record.
            let is_write = request.op == Op::Write;
            let record = if is_write { record(columns, i)? } else { Hotness::default() };
            self.records.push(record);
            if is_write {
                self.of_hotness.add_hotness(&record);
            }
        }
        if self.places[BYTES].is_some() {
            let has_bytes = has_bytes(request.op);
            let bytes = if has_bytes { bytes(&batch.columns[BYTES], i) } else { 0 };
            self.bytes.push(bytes);
            self.of_bytes.add_bytes(bytes);
        }
        if self.places[KIND].is_some() {
            let is_write = request.op == Op::Write;
            let kind = if is_write { kind(&batch.columns[KIND], i)? } else { RecordKind::Image };
            self.kinds.push(kind);
            self.of_kinds.add_kind(kind);
        }
        if self.places[FOLLOWING].is_some() {
            let is_write = request.op == Op::Write;
            let following = if is_write { following(&batch.columns[FOLLOWING], i) } else { 0 };
            self.following.push(following);
            self.of_following.add_following(following);
        }
        self.of_requests.add_request(&request, &sink.volumes.names()[request.volume as usize]);
        sink.push(request)
    }

    /// Compares the whole content, after it was read, with the checksums in the file, if it has
    /// any.
    fn verify(&self) -> Result<(), TraceError> {
        let noted = self.reader.metadata().file_metadata().key_value_metadata();
        let agrees = |key: &str, found: Checksum| {
            let noted = noted.into_iter().flatten().find(|entry| entry.key == key);
            noted.is_none_or(|entry| entry.value.as_deref() == Some(&found.text()))
        };
        let cause = match self.hotness {
            _ if !agrees(OF_REQUESTS, self.of_requests) => "its requests are not those written",
            // This includes the case that the column has lost its name.
            _ if !agrees(OF_BYTES, self.of_bytes) => "the bytes of its pages are not those written",
            _ if !agrees(OF_KINDS, self.of_kinds) => "its deltas are not those written",
            _ if !agrees(OF_FOLLOWING, self.of_following) => {
                "what follows in its requests is not as written"
            }
            Some(_) if !agrees(OF_HOTNESS, self.of_hotness) => {
                "its hotness records are not those written"
            }
            _ => return Ok(()),
        };
        let (file, place) = (self.file.clone(), Place::Record(self.taken));
        Err(TraceError::Damaged { file, place, cause: format!("{cause} (checksum)") })
    }

    fn damaged(&self, cause: String) -> TraceError {
        let place = Place::Record(self.taken + 1);
        TraceError::Damaged { file: self.file.clone(), place, cause }
    }
}

/// The next `n` rows of a group, column by column.
fn read_batch(group: &mut RowGroup, n: usize) -> Result<RowBatch, String> {
    let mut columns = [const { None }; COLUMNS.len()];
    for (values, column) in columns.iter_mut().zip(&mut group.columns) {
        if let Some(column) = column {
            *values = Some(guarded(|| column.read(n))?);
        }
    }
    let hotness = group.hotness.as_mut().map(|columns| columns.read(n)).transpose()?;
    Ok(RowBatch { columns, hotness })
}

/// Row `i` of a batch as a request.
fn request(
    batch: &[Option<Values>; COLUMNS.len()],
    i: usize,
    volumes: &mut Volumes,
) -> Result<Request, Cause> {
    let integer = |column: usize| match &batch[column] {
        Some(Values::Integers(values)) => match values[i].map(u64::try_from) {
            Some(Ok(value)) => Ok(value),
            Some(Err(_)) => Err(Cause::bad(format!("{} is out of range", COLUMNS[column]))),
            None => Err(Cause::bad(format!("{} is missing", COLUMNS[column]))),
        },
        _ => Err(Cause::bad(format!("column {:?} is not one of integers", COLUMNS[column]))),
    };
    let op = match &batch[1] {
        Some(Values::Texts(texts)) => op_named(texts[i].as_ref()),
        _ => op_numbered(integer(1)?),
    }?;
    let (time_us, offset, length) = (integer(0)?, integer(2)?, integer(3)?);
    let volume = match &batch[4] {
        None => 0,
        Some(Values::Integers(_)) => volumes.number(integer(4)?.to_string().as_bytes())?,
        Some(Values::Texts(texts)) => {
            volumes.number(texts[i].as_ref().map_or(b"", ByteArray::data))?
        }
    };
    Ok(Request { time_us, offset, length, volume, op })
}

/// The bytes of the pages that row `i` of a batch writes. If there is no such number, or the column
/// is another that happens to have this name, it is the largest number.
fn bytes(column: &Option<Values>, i: usize) -> u16 {
    number(column, i).and_then(|value| u16::try_from(value).ok()).unwrap_or(u16::MAX)
}

/// The pages in later rows that belong to the request of row `i` of a batch, at most 3.
fn following(column: &Option<Values>, i: usize) -> u8 {
    number(column, i).map_or(0, |value| value.clamp(0, FOLLOWING_MOST.into()) as u8)
}

/// The kind of the record that row `i` of a batch wrote: an image, if there is no number.
fn kind(column: &Option<Values>, i: usize) -> Result<RecordKind, Cause> {
    match number(column, i) {
        None | Some(0) => Ok(RecordKind::Image),
        Some(1) => Ok(RecordKind::Delta),
        Some(2) => Ok(RecordKind::Tail),
        Some(other) => Err(Cause::bad(format!("{} {other} is not 0, 1 or 2", COLUMNS[KIND]))),
    }
}

/// The number that row `i` of a batch has in a column, if it has one.
fn number(column: &Option<Values>, i: usize) -> Option<i128> {
    match column {
        Some(Values::Integers(values)) => values[i],
        _ => None,
    }
}

fn op_named(name: Option<&ByteArray>) -> Result<Op, Cause> {
    let name = name.map_or(&b""[..], ByteArray::data);
    match name.to_ascii_lowercase().as_slice() {
        b"r" | b"read" => Ok(Op::Read),
        b"w" | b"write" => Ok(Op::Write),
        b"t" | b"trim" | b"d" | b"discard" => Ok(Op::Trim),
        b"s" | b"sync" => Ok(Op::Sync),
        b"m" | b"merge" => Ok(Op::Merge),
        b"" => Err(Cause::bad("op is missing".to_owned())),
        _ => Err(Cause::bad(format!("op {} is not R, W, T, S or M", quoted(name)))),
    }
}

fn op_numbered(number: u64) -> Result<Op, Cause> {
    match number {
        0 => Ok(Op::Read),
        1 => Ok(Op::Write),
        2 => Ok(Op::Trim),
        3 => Ok(Op::Sync),
        4 => Ok(Op::Merge),
        _ => Err(Cause::bad(format!("op {number} is not a number from 0 to 4"))),
    }
}
