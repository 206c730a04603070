//! Lists of schemes and victim policies, and the content of a trace file.

use std::num::NonZeroU32;
use std::path::PathBuf;

use frostline::trace::{Format, LoadOptions, TraceInfo, load};
use frostline_sim::Catalogue;
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::number::Bytes;

/// The schemes and victim policies, as JSON.
#[pyfunction]
pub fn schemes() -> Result<String> {
    Ok(serde_json::to_string(&Catalogue::published()?)?)
}

/// The format of this name.
pub fn format_of(name: Option<&str>) -> Result<Option<Format>> {
    let parsed = name.map(str::parse::<Format>).transpose();
    parsed.map_err(|error| Failure::new(error.to_string()))
}

/// The content of a trace file, as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, format=None, volume=None, page, unit=None))]
pub fn trace_info(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    volume: Option<String>,
    page: Bytes,
    unit: Option<NonZeroU32>,
) -> Result<String> {
    let (format, page_size) = (format_of(format)?, page.page()?);
    let options =
        LoadOptions { format, page_size, volume, unit, times: true, ..LoadOptions::default() };
    let info = py.detach(|| {
        load(&path, &options, &mut |_| {})
            .and_then(|loaded| TraceInfo::of(&path, page_size, loaded))
    })?;
    Ok(serde_json::to_string(&info)?)
}
