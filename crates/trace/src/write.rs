//! Writes traces: page numbers, plain or compressed, or Parquet.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::encoder::Encoder;
use crate::error::{TraceError, some_of};
use crate::format::Format;
use crate::formats::parquet::TableWriter;
use crate::formats::told::{OptionalColumns, Told};
use crate::load::{LoadOptions, nothing};
use crate::output::{Output, unwritable};
use crate::reader::{Reader, ReaderOptions};
use crate::request::{Op, Request};
use crate::zstd_codec;

/// Requests that are converted in one step.
const BATCH: usize = 4096;

/// Bytes per write to the operating system.
const BUFFER: usize = 256 << 10;

/// The result of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Converted {
    /// The format that was read.
    pub format: Format,
    /// Requests; for page numbers, page writes.
    pub requests: u64,
    /// Page writes.
    pub pages: u64,
}

/// Converts a trace: to Parquet if `to` ends in `.parquet`, else to page numbers (`u32`),
/// zstd-compressed if it ends in `.zst`.
///
/// Parquet keeps all requests of the wanted volumes, with their hotness records and the bytes of
/// pages if there are any; page numbers keep the page writes of one volume. Memory is bounded. `to`
/// appears, or is replaced, only when it is complete. The options `times`, `trims` and `hotness`
/// are ignored: Parquet keeps all of them, page numbers none.
///
/// # Errors
/// Those of [`load`](crate::load()); [`TraceError::Unwritable`]; [`TraceError::SeveralVolumes`].
pub fn convert(
    from: &Path,
    options: &LoadOptions,
    to: &Path,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<Converted, TraceError> {
    let page_size = options.page_size;
    let how = ReaderOptions { hotness: is_parquet(to), ..options.reader() };
    let mut reader = Reader::open_with(from, &how)?;
    let more = OptionalColumns {
        hotness: reader.hotness().is_some(),
        bytes: reader.bytes().is_some(),
        kinds: reader.kinds().is_some(),
        // Unless requests are only a guess, the column says that they are known.
        following: reader.has_requests(),
    };
    let mut trace = TraceWriter::create(to, page_size, more)?;
    let limit = options.limit.unwrap_or(u64::MAX);
    let mut batch = Vec::with_capacity(BATCH);
    while trace.pages < limit && reader.read(&mut batch, BATCH)? > 0 {
        let names = reader.volume_names();
        let (hotness, bytes, kinds) = (reader.hotness(), reader.bytes(), reader.kinds());
        let following = reader.following();
        for (i, request) in batch.drain(..).enumerate() {
            let name = &names[request.volume as usize];
            if options.volume.as_ref().is_none_or(|volume| volume == name) {
                let left = limit - trace.pages;
                let told = Told {
                    hotness: hotness.map(|records| records[i]).unwrap_or_default(),
                    bytes: bytes.map_or(0, |bytes| bytes[i]),
                    kind: kinds.map(|kinds| kinds[i]).unwrap_or_default(),
                    following: following.map_or(0, |following| following[i]),
                };
                trace.push(request, names, left, from, told)?;
            }
        }
        on_bytes(reader.bytes_consumed());
    }
    let (requests, pages) = (trace.requests, trace.pages);
    if requests == 0 {
        return Err(nothing(&reader, options.volume.as_deref()));
    }
    trace.finish(reader.volume_names())?;
    Ok(Converted { format: reader.format(), requests, pages })
}

/// Writes page numbers as a trace of one volume, in the format that [`convert`] would choose.
///
/// In Parquet, pages have `page_size` bytes, and write `i`, counted from 0, happens at `i + 1`
/// microseconds. Returns the number of page writes.
///
/// # Errors
/// [`TraceError::Unwritable`].
pub fn write_lbas(
    to: &Path,
    page_size: u32,
    lbas: impl IntoIterator<Item = u32>,
) -> Result<u64, TraceError> {
    let mut trace = TraceWriter::create(to, page_size, OptionalColumns::default())?;
    let names = ["trace".to_owned()];
    let length = u64::from(page_size);
    for (lba, time_us) in lbas.into_iter().zip(1..) {
        let offset = u64::from(lba) * length;
        let request = Request { time_us, offset, length, volume: 0, op: Op::Write };
        trace.push(request, &names, u64::MAX, to, Told::default())?;
    }
    let pages = trace.pages;
    trace.finish(&names)?;
    Ok(pages)
}

/// True if a file with this name is written in Parquet.
fn is_parquet(to: &Path) -> bool {
    ends_in(to, "parquet")
}

fn ends_in(to: &Path, ending: &str) -> bool {
    to.extension().unwrap_or_default().eq_ignore_ascii_case(ending)
}

/// An output trace.
struct TraceWriter {
    to: PathBuf,
    page_shift: u32,
    sink: Sink,
    output: Output,
    /// The volume whose page numbers are written.
    volume: Option<u32>,
    /// Requests written; for page numbers, page writes.
    requests: u64,
    /// Page writes so far.
    pages: u64,
}

enum Sink {
    Pages(BufWriter<Box<dyn Encoder>>),
    Parquet(Box<TableWriter>),
}

impl TraceWriter {
    fn create(to: &Path, page_size: u32, more: OptionalColumns) -> Result<TraceWriter, TraceError> {
        let page_shift = crate::cause::Bounds::new(page_size)?.page_size().trailing_zeros();
        let (output, file) = Output::create(to)?;
        let sink = if is_parquet(to) {
            Sink::Parquet(Box::new(TableWriter::new(to, file, more)?))
        } else {
            let encoder = match ends_in(to, "zst") {
                true => zstd_codec::encoder(to, file)?,
                false => Box::new(file),
            };
            Sink::Pages(BufWriter::with_capacity(BUFFER, encoder))
        };
        let to = to.to_owned();
        Ok(TraceWriter { to, page_shift, sink, output, volume: None, requests: 0, pages: 0 })
    }

    /// Adds a request; for page numbers, at most `left` pages of it.
    fn push(
        &mut self,
        request: Request,
        names: &[String],
        left: u64,
        from: &Path,
        told: Told,
    ) -> Result<(), TraceError> {
        let is_write = request.op == Op::Write;
        let (first, pages) = if is_write { request.extent(self.page_shift) } else { (0, 0) };
        let written = match &mut self.sink {
            Sink::Parquet(table) => {
                if left == 0 {
                    return Ok(());
                }
                self.requests += 1;
                self.pages += pages;
                return table.push(request, names, told);
            }
            _ if pages == 0 => return Ok(()),
            Sink::Pages(file) => write_pages(file, first, pages.min(left)),
        };
        written.map_err(|e| unwritable(&self.to, &e))?;
        self.requests += pages.min(left);
        self.pages += pages.min(left);
        if *self.volume.get_or_insert(request.volume) != request.volume {
            let known = some_of(names.iter().map(String::as_str));
            return Err(TraceError::SeveralVolumes { file: from.to_owned(), known });
        }
        Ok(())
    }

    fn finish(self, names: &[String]) -> Result<(), TraceError> {
        let to = &self.to;
        match self.sink {
            Sink::Parquet(table) => table.finish(names)?,
            Sink::Pages(file) => file
                .into_inner()
                .map_err(std::io::IntoInnerError::into_error)
                .and_then(Encoder::finish)
                .map_err(|e| unwritable(to, &e))?,
        }
        self.output.complete()
    }
}

/// Writes the numbers of neighbouring pages.
fn write_pages(file: &mut impl Write, first: u32, pages: u64) -> std::io::Result<()> {
    assert!(u64::from(first) + pages <= 1 << 32, "all pages have an LBA");
    (0..pages).try_for_each(|i| file.write_all(&first.wrapping_add(i as u32).to_le_bytes()))
}
