//! Records as a table of columns: nested fields become columns, and lists become JSON.

use frostline_results::RunRecord;
use serde_json::{Map, Value};

use crate::{Error, Result};

/// The columns that come first, in this order; the others follow by name.
const FIRST: [&str; 14] = [
    "volume",
    "scheme",
    "victim",
    "waf",
    "far",
    "gain",
    "possible_gain",
    "user_writes",
    "relocations",
    "meta_pages",
    "zones_reclaimed",
    "trace_path",
    "trace_sha256",
    "seconds",
];

/// Fields whose own fields become columns.
const NESTED: [&str; 6] = ["trace", "setup", "trigger", "victim_gp", "preload", "model"];

/// Records as columns: the names, and one row per record; a value is missing if the record does not
/// have it.
pub(super) struct RecordColumns {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Map<String, Value>>,
}

impl RecordColumns {
    pub(super) fn of(records: &[RunRecord]) -> Result<RecordColumns> {
        let mut rows = Vec::new();
        for record in records {
            let value = serde_json::to_value(record).map_err(Error::writing("records"))?;
            let mut row = Map::new();
            flatten("", value, &mut row);
            rows.push(row);
        }
        let mut names: Vec<String> = rows.iter().flat_map(Map::keys).cloned().collect();
        let place =
            |name: &String| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
        names.sort_by(|a, b| (place(a), a).cmp(&(place(b), b)));
        names.dedup();
        Ok(RecordColumns { names, rows })
    }
}

/// Puts the fields of an object into a row; `trace.path` becomes `trace_path`.
fn flatten(prefix: &str, value: Value, row: &mut Map<String, Value>) {
    let Value::Object(fields) = value else { return };
    for (key, value) in fields {
        let name = format!("{prefix}{key}");
        match value {
            Value::Null => {}
            Value::Object(_) if NESTED.contains(&key.as_str()) => {
                flatten(&format!("{name}_"), value, row);
            }
            Value::Object(_) | Value::Array(_) => {
                row.insert(name, Value::String(value.to_string()));
            }
            _ => {
                row.insert(name, value);
            }
        }
    }
}

/// Records as comma-separated values, with the columns' names in the first line.
///
/// # Errors
/// Never in practice: records can always be written.
pub fn csv(records: &[RunRecord]) -> Result<String> {
    let columns = RecordColumns::of(records)?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&columns.names).map_err(Error::writing("csv"))?;
    for row in &columns.rows {
        let text = |name: &String| match row.get(name) {
            None => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        writer.write_record(columns.names.iter().map(text)).map_err(Error::writing("csv"))?;
    }
    let bytes = writer.into_inner().map_err(Error::writing("csv"))?;
    String::from_utf8(bytes).map_err(Error::writing("csv"))
}
