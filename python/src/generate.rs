//! Synthetic traces, and traces written to files.

use std::path::PathBuf;

use frostline::trace::{AccessPattern, Oltp, Spec, generate as lbas, write_lbas};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::number::Bytes;

/// The LBAs of a synthetic trace.
#[pyfunction]
#[pyo3(signature = (kind, *, pages, writes, alpha=None, fill, seed))]
pub fn generate<'py>(
    py: Python<'py>,
    kind: &str,
    pages: u32,
    writes: u64,
    alpha: Option<f64>,
    fill: bool,
    seed: u64,
) -> Result<Bound<'py, PyArray1<u32>>> {
    let kind = match (kind, alpha) {
        ("zipf", alpha) => AccessPattern::Zipf { alpha: alpha.unwrap_or(1.0) },
        ("uniform", None) => AccessPattern::Uniform,
        ("uniform", Some(_)) => return Err(Failure::new("uniform has no alpha")),
        ("oltp", alpha) => {
            let mut shape = Oltp::default();
            shape.alpha = alpha.unwrap_or(shape.alpha);
            AccessPattern::Oltp(shape)
        }
        _ => {
            return Err(Failure::new(format!(
                "unknown kind \"{kind}\" (known: zipf uniform oltp)"
            )));
        }
    };
    let spec = Spec { kind, pages, writes, fill, seed };
    let all: Vec<u32> = py.detach(|| lbas(&spec).map(Iterator::collect))?;
    Ok(PyArray1::from_vec(py, all))
}

/// Writes LBAs to a file whose name says how.
#[pyfunction]
pub fn save(
    py: Python<'_>,
    pages: PyReadonlyArray1<'_, u32>,
    path: PathBuf,
    page: Bytes,
) -> Result<u64> {
    let page = page.page()?;
    let pages = pages.as_slice().map_err(|error| Failure::new(error.to_string()))?;
    Ok(py.detach(|| write_lbas(&path, page, pages.iter().copied()))?)
}
