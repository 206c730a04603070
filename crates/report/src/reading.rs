//! Reads results: output of `--json`, or one record per line.

use std::path::Path;

use frostline_results::RunRecord;
use serde_json::Value;

use crate::{Error, Result};

/// Fields of a report that are copied to each of its runs.
const OF_EACH: [&str; 6] = ["frostline", "commit", "command", "trace", "setup", "workload"];

/// Reads a file of results: the JSON report of `frostline sim` or of a bench, or one record per
/// line.
///
/// # Errors
/// The file can't be read, or has no results.
pub fn read_results(path: &Path) -> Result<Vec<RunRecord>> {
    let refused = |why: String| Error::Results { path: path.to_owned(), why };
    let bytes = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
    let text = str::from_utf8(&bytes)
        .map_err(|_| refused("no results of frostline: it is not text".to_string()))?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).peekable();
    let has_lines = lines.peek().is_none_or(|first| serde_json::from_str::<Value>(first).is_ok());
    let records = match serde_json::from_str::<Value>(text) {
        Ok(report) if report.get("runs").is_some() => of_report(report),
        Err(error) if !has_lines => Err(error),
        _ => lines.map(serde_json::from_str).collect(),
    };
    match records.map_err(|error| refused(format!("no results of frostline: {error}")))? {
        none if none.is_empty() => Err(refused("there is no run in it".to_string())),
        records => Ok(records),
    }
}

fn of_report(mut report: Value) -> serde_json::Result<Vec<RunRecord>> {
    let runs = report.get_mut("runs").map(Value::take);
    let of_report = |mut run: Value| {
        for key in OF_EACH {
            if let (Some(value), Value::Object(fields)) = (report.get(key), &mut run) {
                fields.insert(key.to_string(), value.clone());
            }
        }
        serde_json::from_value(run)
    };
    match runs {
        Some(Value::Array(runs)) => runs.into_iter().map(of_report).collect(),
        _ => Ok(Vec::new()),
    }
}
