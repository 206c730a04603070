//! Traces in memory.

use std::num::NonZeroU32;
use std::path::PathBuf;

use frostline::sim::TraceVolume;
use frostline::trace::{FINAL, LoadOptions, Writes, load, prepare};
use frostline_results::TraceReport;
use numpy::ndarray::ArrayView1;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::{Failure, Result};
use crate::listing::format_of;
use crate::number::Bytes;

/// A write trace in memory, ready to be replayed.
#[pyclass(frozen, module = "frostline")]
pub struct Trace {
    pub(crate) volumes: Vec<TraceVolume>,
    pub(crate) has_times: bool,
    pub(crate) page_size: u32,
    path: String,
    format: String,
    trims: u64,
}

/// The content of a file or an array.
struct Source {
    path: String,
    format: String,
    volumes: Vec<Writes>,
}

impl Trace {
    fn of(
        source: Source,
        preload: Option<Source>,
        options: &LoadOptions,
        lifespans: bool,
    ) -> Result<Trace> {
        let Source { path, format, volumes } = source;
        let trims = volumes.iter().map(|writes| writes.trims.len() as u64).sum();
        let alone = volumes.len() == 1;
        let mut before = preload.map(|preload| preload.volumes);
        let mut found = false;
        let mut ready = Vec::new();
        for writes in volumes {
            let preload = before.as_mut().and_then(|all| {
                let alone = alone && all.len() == 1;
                let at = all
                    .iter()
                    .position(|writes_before| alone || writes_before.name == writes.name)?;
                Some(all.swap_remove(at))
            });
            found |= preload.is_some();
            ready.push(TraceVolume::new(prepare(preload, writes, lifespans)?));
        }
        if before.is_some() && !found {
            return Err(Failure::new("no volume of the preload is in the trace"));
        }
        let (page_size, has_times) = (options.page_size, options.times);
        Ok(Trace { volumes: ready, has_times, page_size, path, format, trims })
    }

    /// The trace as a report has it.
    pub(crate) fn report(&self) -> TraceReport {
        TraceReport {
            path: self.path.clone(),
            format: self.format.clone(),
            bytes: 0,
            sha256: None,
            user_writes: self.user_writes(),
            unique_pages: self.unique_pages(),
            requests_guessed: self.volumes.iter().any(TraceVolume::is_guess),
            trims: self.trims,
        }
    }

    fn volume(&self, name: Option<&str>) -> Result<&TraceVolume> {
        let mut volumes = self.volumes.iter();
        let found = match name {
            None if self.volumes.len() > 1 => None,
            None => volumes.next(),
            Some(name) => volumes.find(|volume| volume.name() == name),
        };
        let why = || match name {
            Some(name) => format!("the trace has no volume \"{name}\""),
            None => "the trace has several volumes: name one".to_string(),
        };
        found.ok_or_else(|| Failure::new(why()))
    }
}

/// A column of a trace as an array that shares its memory.
fn column<'py>(trace: &Bound<'py, Trace>, column: &[u32]) -> Bound<'py, PyArray1<u32>> {
    // SAFETY: the array keeps the trace alive, which is frozen: its columns neither move nor
    // change. Python may not write to them either, as the array is made read-only before it is
    // handed out.
    #[allow(unsafe_code)]
    let array =
        unsafe { PyArray1::borrow_from_array(&ArrayView1::from(column), trace.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}

#[pymethods]
impl Trace {
    /// Reads a trace file.
    #[staticmethod]
    #[pyo3(signature = (path, *, format=None, volume=None, page, unit=None, preload=None, times, trims, hotness, lifespans))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        volume: Option<String>,
        page: Bytes,
        unit: Option<NonZeroU32>,
        preload: Option<PathBuf>,
        times: bool,
        trims: bool,
        hotness: bool,
        lifespans: bool,
    ) -> Result<Trace> {
        let (format, page_size) = (format_of(format)?, page.page()?);
        let options = LoadOptions {
            format,
            page_size,
            volume,
            unit,
            times,
            trims,
            hotness,
            ..LoadOptions::default()
        };
        py.detach(|| {
            let read = |path: PathBuf, options: &LoadOptions| -> Result<Source> {
                let loaded = load(&path, options, &mut |_| {})?;
                let (path, format) = (path.display().to_string(), loaded.format.to_string());
                Ok(Source { path, format, volumes: loaded.volumes })
            };
            let preload = preload.map(|path| read(path, &options)).transpose()?;
            Trace::of(read(path, &options)?, preload, &options, lifespans)
        })
    }

    /// A trace of page numbers, one a page write.
    #[staticmethod]
    #[pyo3(signature = (pages, *, page, preload=None, lifespans, name))]
    fn of_pages(
        py: Python<'_>,
        pages: PyReadonlyArray1<'_, u32>,
        page: Bytes,
        preload: Option<PyReadonlyArray1<'_, u32>>,
        lifespans: bool,
        name: String,
    ) -> Result<Trace> {
        let options = LoadOptions { page_size: page.page()?, ..LoadOptions::default() };
        let source = |pages: &PyReadonlyArray1<'_, u32>| -> Result<Source> {
            let lbas = pages.as_slice().map_err(|error| Failure::new(error.to_string()))?.to_vec();
            let volumes = vec![Writes { lbas, ..Writes::default() }];
            Ok(Source { path: name.clone(), format: "array".to_string(), volumes })
        };
        let (writes, preload) = (source(&pages)?, preload.as_ref().map(source).transpose()?);
        py.detach(|| Trace::of(writes, preload, &options, lifespans))
    }

    /// Path of the file, or the name that was given.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    /// Name of the format it was read as.
    #[getter]
    fn format(&self) -> &str {
        &self.format
    }

    /// Bytes in a page.
    #[getter]
    fn page_size(&self) -> u32 {
        self.page_size
    }

    /// Names of its volumes.
    #[getter]
    fn volumes(&self) -> Vec<&str> {
        self.volumes.iter().map(TraceVolume::name).collect()
    }

    /// User page writes, the preload not included.
    #[getter]
    fn user_writes(&self) -> u64 {
        self.volumes.iter().map(TraceVolume::user_writes).sum()
    }

    /// Different pages written, by the preload too.
    #[getter]
    fn unique_pages(&self) -> u64 {
        self.volumes.iter().map(|volume| u64::from(volume.unique_pages())).sum()
    }

    /// One entry a page write: the LBA, and the highest bit set if this version lives for ever.
    #[pyo3(signature = (volume=None))]
    fn words<'py>(
        slf: &Bound<'py, Self>,
        volume: Option<&str>,
    ) -> Result<Bound<'py, PyArray1<u32>>> {
        Ok(column(slf, slf.get().volume(volume)?.words()))
    }

    /// User writes until each write's page is written again or trimmed.
    #[pyo3(signature = (volume=None))]
    fn lifespans<'py>(
        slf: &Bound<'py, Self>,
        volume: Option<&str>,
    ) -> Result<Bound<'py, PyArray1<u32>>> {
        let lifespans = slf.get().volume(volume)?.lifespans();
        let missing = || Failure::new("the trace was opened without lifespans");
        Ok(column(slf, lifespans.ok_or_else(missing)?))
    }

    /// The LBA of each page write.
    #[pyo3(signature = (volume=None))]
    fn lbas<'py>(
        &self,
        py: Python<'py>,
        volume: Option<&str>,
    ) -> Result<Bound<'py, PyArray1<u32>>> {
        let words = self.volume(volume)?.words();
        Ok(PyArray1::from_vec(py, words.iter().map(|word| word & !FINAL).collect()))
    }

    fn __len__(&self) -> usize {
        self.user_writes() as usize
    }

    fn __repr__(&self) -> String {
        let (writes, pages) = (self.user_writes(), self.unique_pages());
        format!("<frostline.Trace {}: {writes} user writes to {pages} pages>", self.path)
    }
}
