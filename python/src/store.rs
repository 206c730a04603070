//! The page store.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use frostline::engine::DbError;
use frostline::store::{Format, Open, PageWrite, Space, Store as Inner, StoreError};
use frostline::zone::{self, Device, DeviceError, OpenOptions, Shape};
use frostline_results::RunReport;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::error::{Failure, Result};
use crate::number::Bytes;
use crate::process::OfProcess;

/// Bytes in a page of a store.
const PAGE: usize = 4096;

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        frostline::Error::from(DbError::from(error)).into()
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        frostline::Error::from(error).into()
    }
}

/// The URI of a device: a path is a file.
pub fn uri(path: &str) -> String {
    let is_uri = ["mem:", "file:", "block:", "fdp:", "dir:", "zonefs:", "zbd:"]
        .iter()
        .any(|scheme| path.starts_with(scheme));
    if is_uri { path.to_string() } else { format!("file:{path}") }
}

/// A new device with an empty store. What is refused leaves nothing behind, and in a file neither
/// does a crash.
fn made(uri: &str, shape: &Shape, format: &Format) -> Result<Arc<dyn Device>> {
    let options = OpenOptions::default();
    if let Some(path) = uri.strip_prefix("file:") {
        zone::create_whole(Path::new(path), shape, |device| {
            Ok::<_, Failure>(Inner::format(device, format)?)
        })?;
        return Ok(zone::open(uri, &options)?);
    }
    Inner::format(zone::in_memory(shape)?, format)?;
    let device = zone::create(uri, shape, &options)?;
    Inner::format(device.clone(), format)?;
    Ok(device)
}

/// Figures of a store.
#[derive(Serialize)]
struct Figures {
    /// Its work since it was opened, as benches report it.
    #[serde(flatten)]
    run: RunReport,
    pages: u64,
    valid_pages: u64,
    space: Space,
    garbage_proportion: f64,
    free_zones: usize,
    memory_bytes: usize,
}

/// A page store.
#[pyclass(frozen, module = "frostline")]
pub struct Store {
    inner: OfProcess<RwLock<Option<Inner>>>,
}

impl Store {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&Inner) -> std::result::Result<T, StoreError> + Send,
    ) -> Result<T> {
        py.detach(|| {
            let inner = self.inner.get()?.read().unwrap_or_else(PoisonError::into_inner);
            let store = inner.as_ref().ok_or_else(|| Failure::new("the store is closed"))?;
            Ok(body(store)?)
        })
    }
}

#[pymethods]
impl Store {
    /// Opens a store, and makes it if it is absent and a size is given.
    #[staticmethod]
    #[pyo3(signature = (path, *, size=None, zone=None, scheme, victim=None, gp, unit=None, pages=None, thin=false, space=None))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn open(
        py: Python<'_>,
        path: &str,
        size: Option<Bytes>,
        zone: Option<Bytes>,
        scheme: String,
        victim: Option<String>,
        gp: f64,
        unit: Option<u32>,
        pages: Option<u64>,
        thin: bool,
        space: Option<f64>,
    ) -> Result<Store> {
        let uri = uri(path);
        let size = size.as_ref().map(Bytes::get).transpose()?;
        let zone_bytes = zone.as_ref().map(Bytes::get).transpose()?;
        let inner = py.detach(|| -> Result<Inner> {
            let device = match size.filter(|_| zone::can_create(&uri)) {
                Some(bytes) => {
                    let shape = Shape { bytes, zone_bytes, ..Shape::default() };
                    let unit = unit.unwrap_or(Format::default().unit);
                    let format = Format {
                        scheme,
                        victim,
                        gp,
                        unit,
                        logical_pages: pages,
                        thin,
                        ..Format::default()
                    };
                    made(&uri, &shape, &format)?
                }
                None => zone::open(&uri, &OpenOptions::default())?,
            };
            Ok(Inner::open(device, Open { space, ..Open::default() })?)
        })?;
        Ok(Store { inner: OfProcess::new("the store", RwLock::new(Some(inner))) })
    }

    /// Writes a page.
    fn write(&self, py: Python<'_>, lba: u32, page: &[u8]) -> Result<()> {
        self.with(py, |store| store.write(lba, page))
    }

    /// Writes pages in order, one a row.
    fn write_many(
        &self,
        py: Python<'_>,
        lbas: PyReadonlyArray1<'_, u32>,
        pages: PyReadonlyArray2<'_, u8>,
    ) -> Result<()> {
        let contiguous = |error: numpy::AsSliceError| Failure::new(error.to_string());
        let (lbas, bytes) =
            (lbas.as_slice().map_err(contiguous)?, pages.as_slice().map_err(contiguous)?);
        if bytes.len() != lbas.len() * PAGE {
            return Err(Failure::new(format!("{} pages of {PAGE} bytes are expected", lbas.len())));
        }
        let rows = lbas.iter().zip(bytes.chunks_exact(PAGE));
        let rows: Vec<_> = rows
            .map(|(&lba, page)| PageWrite { lba, page, hotness: None, changed: None })
            .collect();
        self.with(py, |store| store.write_batch(&rows))
    }

    /// Reads a page; none if it was never written or was trimmed.
    fn read<'py>(&self, py: Python<'py>, lba: u32) -> Result<Option<Bound<'py, PyBytes>>> {
        let mut page = [0; PAGE];
        let found = self.with(py, |store| store.read(lba, &mut page))?;
        Ok(found.then(|| PyBytes::new(py, &page)))
    }

    /// Forgets a page; true if there was one.
    fn trim(&self, py: Python<'_>, lba: u32) -> Result<bool> {
        self.with(py, |store| store.trim(lba))
    }

    /// Makes what was written or trimmed before durable.
    fn sync(&self, py: Python<'_>) -> Result<()> {
        self.with(py, Inner::sync)
    }

    /// Writes a checkpoint.
    fn checkpoint(&self, py: Python<'_>) -> Result<()> {
        self.with(py, Inner::checkpoint)
    }

    /// Figures of the store, as JSON.
    fn stats(&self, py: Python<'_>) -> Result<String> {
        let (run, stats, pages) = self.with(py, |store| {
            Ok((frostline_benches::since_opening(store)?, store.stats()?, store.pages()))
        })?;
        Ok(serde_json::to_string(&Figures {
            run,
            pages,
            valid_pages: stats.valid_pages,
            space: stats.space,
            garbage_proportion: stats.garbage_proportion,
            free_zones: stats.free_zones,
            memory_bytes: stats.bytes,
        })?)
    }

    /// Pages that the store can hold.
    #[getter]
    fn pages(&self, py: Python<'_>) -> Result<u64> {
        self.with(py, |store| Ok(store.pages()))
    }

    /// Writes a checkpoint and ends the store; does nothing if it is closed.
    fn close(&self, py: Python<'_>) -> Result<()> {
        py.detach(|| {
            let inner = self.inner.get()?.write().unwrap_or_else(PoisonError::into_inner).take();
            Ok(inner.map_or(Ok(()), Inner::close)?)
        })
    }
}
