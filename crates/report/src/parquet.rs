//! Records as a Parquet file, with the columns of the comma-separated values.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use frostline_results::RunRecord;
use frostline_trace::Output;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::{Map, Value};

use crate::columns::RecordColumns;
use crate::{Error, Result};

/// Checks that this build writes Parquet, before the work whose results are written.
///
/// # Errors
/// It does not.
pub fn check_parquet(_path: &Path) -> Result<()> {
    Ok(())
}

/// Writes records to a Parquet file, completely or not at all.
///
/// # Errors
/// The file can't be written.
pub fn write_parquet(path: &Path, records: &[RunRecord]) -> Result<()> {
    let columns = RecordColumns::of(records)?;
    let (output, file) = Output::create(path)?;
    write(file, &columns).map_err(Error::writing("parquet"))?;
    Ok(output.complete()?)
}

/// The type of a column, found from its values.
#[derive(Clone, Copy, PartialEq)]
enum ColumnKind {
    Whole,
    Real,
    Bool,
    Text,
}

impl ColumnKind {
    fn of<'a>(mut values: impl Iterator<Item = &'a Value> + Clone) -> ColumnKind {
        if values
            .clone()
            .all(|value| value.is_i64() || value.as_u64().is_some_and(|n| i64::try_from(n).is_ok()))
        {
            return ColumnKind::Whole;
        }
        if values.clone().all(Value::is_number) {
            return ColumnKind::Real;
        }
        if values.all(Value::is_boolean) { ColumnKind::Bool } else { ColumnKind::Text }
    }

    fn declared(self, name: &str) -> String {
        match self {
            ColumnKind::Whole => format!("OPTIONAL INT64 {name};"),
            ColumnKind::Real => format!("OPTIONAL DOUBLE {name};"),
            ColumnKind::Bool => format!("OPTIONAL BOOLEAN {name};"),
            ColumnKind::Text => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        }
    }
}

fn write(file: File, columns: &RecordColumns) -> std::result::Result<(), ParquetError> {
    let kinds: Vec<_> =
        columns.names.iter().map(|name| ColumnKind::of(values(columns, name))).collect();
    let fields = columns.names.iter().zip(&kinds).map(|(name, kind)| kind.declared(name));
    let schema = format!("message runs {{ {} }}", fields.collect::<String>());
    let properties = Arc::new(WriterProperties::builder().build());
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut writer = SerializedFileWriter::new(file, schema, properties)?;
    let mut group = writer.next_row_group()?;
    for name in &columns.names {
        let Some(mut column) = group.next_column()? else { break };
        let levels: Vec<i16> = columns
            .rows
            .iter()
            .map(|row: &Map<String, Value>| i16::from(row.contains_key(name)))
            .collect();
        let values = values(columns, name);
        match column.untyped() {
            ColumnWriter::Int64ColumnWriter(typed) => {
                let values: Vec<_> = values.filter_map(Value::as_i64).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::DoubleColumnWriter(typed) => {
                let values: Vec<_> = values.filter_map(Value::as_f64).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::BoolColumnWriter(typed) => {
                let values: Vec<_> = values.filter_map(Value::as_bool).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            ColumnWriter::ByteArrayColumnWriter(typed) => {
                let text = |value: &Value| match value {
                    Value::String(text) => ByteArray::from(text.as_str()),
                    other => ByteArray::from(other.to_string().as_str()),
                };
                let values: Vec<_> = values.map(text).collect();
                typed.write_batch(&values, Some(&levels), None)?;
            }
            _ => {}
        }
        column.close()?;
    }
    group.close()?;
    writer.close().map(drop)
}

/// The existing values of a column.
fn values<'a>(
    columns: &'a RecordColumns,
    name: &'a str,
) -> impl Iterator<Item = &'a Value> + Clone {
    columns.rows.iter().filter_map(move |row| row.get(name))
}
