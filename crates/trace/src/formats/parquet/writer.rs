//! Writes requests as a Parquet file with the columns of `parquet` traces.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use frostline_placement::Hotness;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::checksum::{Checksum, OF_BYTES, OF_FOLLOWING, OF_HOTNESS, OF_KINDS, OF_REQUESTS};
use crate::error::TraceError;
use crate::formats::told::{OptionalColumns, Told, has_bytes};
use crate::hotness::{FIELDS, values};
use crate::kinds::RecordKind;
use crate::output::unwritable;
use crate::request::{Op, Request};

/// Requests in a row group; only one group is in memory.
const GROUP: usize = 256 << 10;

const SCHEMA: &str = "
    REQUIRED INT64 time (INTEGER(64,false));
    REQUIRED BYTE_ARRAY op (STRING);
    REQUIRED INT64 offset (INTEGER(64,false));
    REQUIRED INT64 length (INTEGER(64,false));
    REQUIRED BYTE_ARRAY volume (STRING);
";

/// An output file in Parquet.
pub(crate) struct TableWriter {
    to: PathBuf,
    writer: SerializedFileWriter<File>,
    group: Vec<Request>,
    /// The hotness records of these requests; `None` if the file has no columns for them.
    hotness: Option<Vec<Hotness>>,
    /// The bytes of their pages; `None` if the file has no column for them.
    bytes: Option<Vec<u16>>,
    /// The kinds of their records; `None` if the file has no column for them.
    kinds: Option<Vec<RecordKind>>,
    /// The pages that follow them in later rows; `None` if the file has no column for them.
    following: Option<Vec<u8>>,
    of_requests: Checksum,
    of_hotness: Checksum,
    of_bytes: Checksum,
    of_kinds: Checksum,
    of_following: Checksum,
}

impl TableWriter {
    /// Begins a table in `file`, which will get the name `to`.
    pub(crate) fn new(
        to: &Path,
        file: File,
        more: OptionalColumns,
    ) -> Result<TableWriter, TraceError> {
        let writer = begin(file, more).map_err(|e| unwritable(to, &e))?;
        Ok(TableWriter {
            to: to.to_owned(),
            writer,
            group: Vec::new(),
            hotness: more.hotness.then(Vec::new),
            bytes: more.bytes.then(Vec::new),
            kinds: more.kinds.then(Vec::new),
            following: more.following.then(Vec::new),
            of_requests: Checksum::default(),
            of_hotness: Checksum::default(),
            of_bytes: Checksum::default(),
            of_kinds: Checksum::default(),
            of_following: Checksum::default(),
        })
    }

    /// Adds a request with what is known of it; that is dropped if the table has no columns for it.
    /// `names` are the names of the volumes.
    pub(crate) fn push(
        &mut self,
        request: Request,
        names: &[String],
        Told { hotness, bytes, kind, following }: Told,
    ) -> Result<(), TraceError> {
        self.group.push(request);
        if let Some(all) = &mut self.bytes {
            let bytes = if has_bytes(request.op) { bytes } else { 0 };
            all.push(bytes);
            self.of_bytes.add_bytes(bytes);
        }
        if let Some(all) = &mut self.kinds {
            all.push(kind);
            self.of_kinds.add_kind(kind);
        }
        if let Some(all) = &mut self.following {
            let following = if request.op == Op::Write { following } else { 0 };
            all.push(following);
            self.of_following.add_following(following);
        }
        self.of_requests.add_request(&request, &names[request.volume as usize]);
        if let Some(all) = &mut self.hotness {
            all.push(hotness);
            if request.op == Op::Write {
                self.of_hotness.add_hotness(&hotness);
            }
        }
        if self.group.len() < GROUP {
            return Ok(());
        }
        self.write_group(names).map_err(|e| unwritable(&self.to, &e))
    }

    /// Writes the remaining rows, and the checksums.
    pub(crate) fn finish(mut self, names: &[String]) -> Result<(), TraceError> {
        let to = std::mem::take(&mut self.to);
        self.close(names).map_err(|e| unwritable(&to, &e))
    }

    fn close(mut self, names: &[String]) -> Result<(), ParquetError> {
        self.write_group(names)?;
        let mut note = |key: &str, checksum: Checksum| {
            let entry = KeyValue::new(key.to_owned(), checksum.text());
            self.writer.append_key_value_metadata(entry);
        };
        note(OF_REQUESTS, self.of_requests);
        if self.hotness.is_some() {
            note(OF_HOTNESS, self.of_hotness);
        }
        if self.bytes.is_some() {
            note(OF_BYTES, self.of_bytes);
        }
        if self.kinds.is_some() {
            note(OF_KINDS, self.of_kinds);
        }
        if self.following.is_some() {
            note(OF_FOLLOWING, self.of_following);
        }
        self.writer.close()?;
        Ok(())
    }

    fn write_group(&mut self, names: &[String]) -> Result<(), ParquetError> {
        let rows = self.group.len();
        let columns = [
            self.hotness.as_ref().map(Vec::len),
            self.bytes.as_ref().map(Vec::len),
            self.kinds.as_ref().map(Vec::len),
            self.following.as_ref().map(Vec::len),
        ];
        assert!(columns.into_iter().flatten().all(|len| len == rows), "columns of one group");
        let names: Vec<ByteArray> = names.iter().map(|name| name.as_str().into()).collect();
        let ops = ["R", "W", "T", "S", "M"].map(ByteArray::from);
        let op = |request: &Request| match request.op {
            Op::Read => ops[0].clone(),
            Op::Write => ops[1].clone(),
            Op::Trim => ops[2].clone(),
            Op::Sync => ops[3].clone(),
            Op::Merge => ops[4].clone(),
        };
        let integers = |field: fn(&Request) -> u64| -> Vec<i64> {
            self.group.iter().map(|request| field(request).cast_signed()).collect()
        };
        let mut columns = vec![
            WrittenColumn::Integers(integers(|request| request.time_us)),
            WrittenColumn::Texts(self.group.iter().map(op).collect()),
            WrittenColumn::Integers(integers(|request| request.offset)),
            WrittenColumn::Integers(integers(|request| request.length)),
            WrittenColumn::Texts(
                self.group.iter().map(|r| names[r.volume as usize].clone()).collect(),
            ),
        ];
        self.group.clear();
        if let Some(records) = &mut self.hotness {
            let column = |i: usize| {
                let of_field = records.iter().map(|record| values(record)[i].cast_signed());
                WrittenColumn::Words(of_field.collect())
            };
            columns.extend((0..FIELDS.len()).map(column));
            records.clear();
        }
        if let Some(bytes) = &mut self.bytes {
            columns.push(WrittenColumn::Words(bytes.drain(..).map(i32::from).collect()));
        }
        if let Some(kinds) = &mut self.kinds {
            columns.push(WrittenColumn::Words(kinds.drain(..).map(|kind| kind as i32).collect()));
        }
        if let Some(following) = &mut self.following {
            columns.push(WrittenColumn::Words(following.drain(..).map(i32::from).collect()));
        }
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(writer.untyped())?;
                writer.close()?;
            }
        }
        group.close()?;
        Ok(())
    }
}

fn begin(file: File, with: OptionalColumns) -> Result<SerializedFileWriter<File>, ParquetError> {
    let compression = Compression::ZSTD(ZstdLevel::default());
    let mut properties = WriterProperties::builder().set_compression(compression);
    for column in ["time", "offset"] {
        let path = ColumnPath::from(column);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    let column = |(name, most): (&str, u32)| {
        let bits = u32::BITS - most.leading_zeros();
        format!("REQUIRED INT32 {name} (INTEGER({bits},false));\n")
    };
    let mut more = if with.hotness { FIELDS.map(column).concat() } else { String::new() };
    if with.bytes {
        more += &column(("bytes", u32::from(u16::MAX)));
    }
    if with.kinds {
        more += &column(("delta", u32::from(u8::MAX)));
    }
    if with.following {
        more += &column(("following", u32::from(u8::MAX)));
    }
    let schema = Arc::new(parse_message_type(&format!("message trace {{{SCHEMA}{more}}}"))?);
    SerializedFileWriter::new(file, schema, Arc::new(properties.build()))
}

enum WrittenColumn {
    Integers(Vec<i64>),
    Words(Vec<i32>),
    Texts(Vec<ByteArray>),
}

impl WrittenColumn {
    fn write(&self, writer: &mut ColumnWriter<'_>) -> Result<(), ParquetError> {
        match (self, writer) {
            (WrittenColumn::Integers(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, None, None)?;
            }
            (WrittenColumn::Words(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(values, None, None)?;
            }
            (WrittenColumn::Texts(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(values, None, None)?;
            }
            _ => return Err(ParquetError::General("a column is not of its type".to_owned())),
        }
        Ok(())
    }
}
