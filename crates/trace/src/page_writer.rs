//! Records page writes and trims while they happen, as a Parquet trace.

use std::path::Path;

use frostline_placement::Hotness;

use crate::cause::Bounds;
use crate::error::TraceError;
use crate::formats::parquet::TableWriter;
use crate::formats::told::{OptionalColumns, Told};
use crate::kinds::RecordKind;
use crate::output::Output;
use crate::request::{Op, Request};

/// What every recording says.
const FOLLOWED: OptionalColumns =
    OptionalColumns { hotness: false, bytes: false, kinds: false, following: true };

/// A `parquet` trace of one volume that is written page by page, in bounded memory. It appears
/// under its name only when it is finished; if it is dropped before that, it leaves nothing.
///
/// It has no wall clock: the time of a row is the number of page writes so far, including the row's
/// own.
pub struct PageWriter {
    page_bytes: u32,
    table: TableWriter,
    output: Output,
    volume: [String; 1],
    writes: u64,
}

impl PageWriter {
    /// Begins a trace with pages of `page_bytes` bytes, a power of two from 512 up. With
    /// `with_hotness` it keeps the hotness record of each write. It always keeps the bytes of the
    /// page.
    ///
    /// # Errors
    /// [`TraceError::PageSize`], [`TraceError::Unwritable`].
    pub fn create(
        path: &Path,
        page_bytes: u32,
        with_hotness: bool,
    ) -> Result<PageWriter, TraceError> {
        let columns = OptionalColumns { hotness: with_hotness, bytes: true, ..FOLLOWED };
        PageWriter::begin(path, page_bytes, columns)
    }

    /// Begins a trace that also keeps which writes are deltas or tails.
    ///
    /// # Errors
    /// Those of [`PageWriter::create`].
    pub fn create_with_deltas(path: &Path, page_bytes: u32) -> Result<PageWriter, TraceError> {
        let columns = OptionalColumns { hotness: true, bytes: true, kinds: true, ..FOLLOWED };
        PageWriter::begin(path, page_bytes, columns)
    }

    fn begin(
        path: &Path,
        page_bytes: u32,
        columns: OptionalColumns,
    ) -> Result<PageWriter, TraceError> {
        let page_bytes = Bounds::new(page_bytes)?.page_size();
        let (output, file) = Output::create(path)?;
        let table = TableWriter::new(path, file, columns)?;
        let volume = ["trace".to_owned()];
        Ok(PageWriter { page_bytes, table, output, volume, writes: 0 })
    }

    /// Adds a page write. `bytes` is the number of bytes that must be written of the page, at most
    /// 65,535. The record is dropped if the trace was begun without hotness.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn write(&mut self, lba: u32, hotness: &Hotness, bytes: u16) -> Result<(), TraceError> {
        self.write_record(lba, RecordKind::Image, hotness, bytes, 0)
    }

    /// Adds a page write that made a record of this kind, of so many bytes, and which so many pages
    /// of the same request follow. The kind is dropped if the trace was begun without deltas.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn write_record(
        &mut self,
        lba: u32,
        kind: RecordKind,
        hotness: &Hotness,
        bytes: u16,
        following: u8,
    ) -> Result<(), TraceError> {
        self.writes += 1;
        self.push(Op::Write, (lba, 1), Told { hotness: *hotness, bytes, kind, following })
    }

    /// Adds that cleaning made an image of so many bytes of a page's base, delta and tail.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn merge(&mut self, lba: u32, bytes: u16) -> Result<(), TraceError> {
        self.push(Op::Merge, (lba, 1), Told { bytes, ..Told::default() })
    }

    /// Adds a sync.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn sync(&mut self) -> Result<(), TraceError> {
        self.push(Op::Sync, (0, 0), Told::default())
    }

    /// Adds a trim of `pages` pages from `lba` on, unless `pages` is 0. Pages beyond the last LBA
    /// are left out.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn trim(&mut self, lba: u32, pages: u32) -> Result<(), TraceError> {
        match u64::from(pages).min((1 << 32) - u64::from(lba)) {
            0 => Ok(()),
            pages => self.push(Op::Trim, (lba, pages), Told::default()),
        }
    }

    /// Completes the file and gives it its name; returns the number of page writes.
    ///
    /// # Errors
    /// [`TraceError::Unwritable`].
    pub fn finish(self) -> Result<u64, TraceError> {
        self.table.finish(&self.volume)?;
        self.output.complete()?;
        Ok(self.writes)
    }

    fn push(&mut self, op: Op, (lba, pages): (u32, u64), told: Told) -> Result<(), TraceError> {
        let page = u64::from(self.page_bytes);
        assert!(u64::from(lba) + pages <= 1 << 32, "all pages have an LBA");
        let (offset, length) = (u64::from(lba) * page, pages * page);
        let request = Request { time_us: self.writes, offset, length, volume: 0, op };
        self.table.push(request, &self.volume, told)
    }
}
