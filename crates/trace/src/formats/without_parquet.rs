//! Replaces the Parquet reader and writer in a build without the feature `parquet`. Both refuse to
//! open files, so values of these types never exist.

use std::fs::File;
use std::path::Path;

use frostline_placement::Hotness;

use crate::error::TraceError;
use crate::formats::told::{OptionalColumns, Told};
use crate::kinds::RecordKind;
use crate::request::Request;
use crate::sink::Sink;

const FEATURE: &str = "parquet";

/// An input file in Parquet; never exists.
pub(crate) enum ParquetTable {}

impl ParquetTable {
    pub(crate) fn open(path: &Path, _want_hotness: bool) -> Result<ParquetTable, TraceError> {
        Err(TraceError::NotBuiltIn { file: path.to_owned(), feature: FEATURE })
    }

    pub(crate) fn has_hotness(&self) -> bool {
        match *self {}
    }

    pub(crate) fn hotness(&self) -> Option<&[Hotness]> {
        match *self {}
    }

    pub(crate) fn bytes(&self) -> Option<&[u16]> {
        match *self {}
    }

    pub(crate) fn kinds(&self) -> Option<&[RecordKind]> {
        match *self {}
    }

    pub(crate) fn following(&self) -> Option<&[u8]> {
        match *self {}
    }

    pub(crate) fn consumed(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn has_volumes(&self) -> bool {
        match *self {}
    }

    pub(crate) fn read(&mut self, _sink: &mut Sink<'_>) -> Result<(), TraceError> {
        match *self {}
    }
}

/// An output file in Parquet; never exists.
pub(crate) enum TableWriter {}

impl TableWriter {
    pub(crate) fn new(
        to: &Path,
        _file: File,
        _more: OptionalColumns,
    ) -> Result<TableWriter, TraceError> {
        Err(TraceError::NotBuiltIn { file: to.to_owned(), feature: FEATURE })
    }

    pub(crate) fn push(
        &mut self,
        _request: Request,
        _names: &[String],
        _told: Told,
    ) -> Result<(), TraceError> {
        match *self {}
    }

    pub(crate) fn finish(self, _names: &[String]) -> Result<(), TraceError> {
        match self {}
    }
}
