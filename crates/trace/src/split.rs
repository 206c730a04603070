//! Splits a trace of many volumes into one trace for each, in one pass.

use std::collections::HashSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::mem::take;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::encoder::Encoder;
use crate::error::TraceError;
use crate::load::{LoadOptions, nothing};
use crate::output::{unwritable, without_path};
use crate::reader::Reader;
use crate::request::Op;
use crate::zstd_codec;

/// Requests that are read in one step.
const BATCH: usize = 4096;

/// Bytes of page numbers that wait in memory, for all volumes together; below, for one volume at
/// least and at most.
const WAITING: usize = 128 << 20;
const LEAST: usize = 4 << 10;
const MOST: usize = 1 << 20;

/// Parts that may wait for the writing thread.
const QUEUE: usize = 16;

/// A volume that now has a trace of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitVolume {
    /// The volume.
    pub name: String,
    /// Name of its file in the directory.
    pub file: String,
    /// Page writes in it.
    pub pages: u64,
}

/// Splits a trace into a file of page numbers (`u32`) for each volume, zstd-compressed unless
/// `plain`, in a directory that must not exist. The directory appears only when it is complete.
///
/// Memory is bounded, and no file stays open, however many volumes there are. Files are named after
/// volumes; characters that a file name can't have become `_`. Page numbers have neither times nor
/// trims.
///
/// # Errors
/// Those of [`convert`](crate::convert()); the directory exists.
pub fn split(
    from: &Path,
    options: &LoadOptions,
    to: &Path,
    plain: bool,
    on_bytes: &mut dyn FnMut(u64),
) -> Result<Vec<SplitVolume>, TraceError> {
    if to.exists() {
        return Err(unwritable(to, &"it is there already"));
    }
    let page_shift = crate::cause::Bounds::new(options.page_size)?.page_size().trailing_zeros();
    let mut reader = Reader::open_with(from, &options.reader())?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    let name = format!(".{}.", to.file_name().unwrap_or_default().to_string_lossy());
    let builder = builder.prefix(&name).suffix(".part");
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    let directory = builder.tempdir_in(parent.unwrap_or(Path::new(".")));
    let directory = directory.map_err(|error| unwritable(to, &without_path(error)))?;
    let (parts, waiting) = sync_channel(QUEUE);
    let cut = Cut { page_shift, plain, directory: directory.path().to_owned(), ..Cut::default() };
    let volumes = thread::scope(|scope| {
        let writer =
            thread::Builder::new().spawn_scoped(scope, move || write_parts(waiting, plain));
        let writer = writer.map_err(|error| unwritable(to, &error))?;
        let cut = cut.pass(&mut reader, options, &parts, on_bytes);
        drop(parts);
        let written = writer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(|(file, error)| unwritable(&to.join(file), &error))?;
        cut
    })?;
    if volumes.is_empty() {
        return Err(nothing(&reader, options.volume.as_deref()));
    }
    std::fs::rename(directory.keep(), to).map_err(|error| unwritable(to, &error))?;
    Ok(volumes)
}

/// Page numbers of a volume on their way to its file.
struct SplitPart {
    file: PathBuf,
    bytes: Vec<u8>,
}

/// One pass through a trace.
#[derive(Default)]
struct Cut {
    page_shift: u32,
    plain: bool,
    directory: PathBuf,
    /// The volumes by the reader's numbers; `None` for a volume without page writes so far.
    volumes: Vec<Option<(SplitVolume, Vec<u8>)>>,
    taken: HashSet<String>,
}

impl Cut {
    fn pass(
        mut self,
        reader: &mut Reader,
        options: &LoadOptions,
        parts: &SyncSender<SplitPart>,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<Vec<SplitVolume>, TraceError> {
        let mut batch = Vec::with_capacity(BATCH);
        while reader.read(&mut batch, BATCH)? > 0 {
            let names = reader.volume_names();
            self.volumes.resize_with(names.len(), || None);
            let enough = (WAITING / names.len().max(1)).clamp(LEAST, MOST);
            for request in batch.drain(..).filter(|request| request.op == Op::Write) {
                let number = request.volume as usize;
                let (first, pages) = request.extent(self.page_shift);
                if pages == 0 || options.volume.as_ref().is_some_and(|only| *only != names[number])
                {
                    continue;
                }
                if self.volumes[number].is_none() {
                    self.volumes[number] = Some((self.named(&names[number]), Vec::new()));
                }
                let Some((volume, bytes)) = &mut self.volumes[number] else { continue };
                volume.pages += pages;
                bytes.extend((0..pages).flat_map(|i| first.wrapping_add(i as u32).to_le_bytes()));
                if bytes.len() >= enough {
                    let part =
                        SplitPart { file: self.directory.join(&volume.file), bytes: take(bytes) };
                    // The writing thread ends when it can't write a part.
                    if parts.send(part).is_err() {
                        return Ok(Vec::new());
                    }
                }
            }
            on_bytes(reader.bytes_consumed());
        }
        let mut volumes = Vec::new();
        for (volume, bytes) in self.volumes.into_iter().flatten() {
            if !bytes.is_empty() {
                let _ = parts.send(SplitPart { file: self.directory.join(&volume.file), bytes });
            }
            volumes.push(volume);
        }
        Ok(volumes)
    }

    /// A volume with a file name that no other volume has.
    fn named(&mut self, name: &str) -> SplitVolume {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let safe: String = name.chars().map(|c| if allowed(c) { c } else { '_' }).collect();
        let safe = if safe.is_empty() || safe.starts_with('.') { format!("_{safe}") } else { safe };
        let ending = if self.plain { "u32" } else { "u32.zst" };
        let numbered = |number: u64| match number {
            0 => format!("{safe}.{ending}"),
            _ => format!("{safe}~{number}.{ending}"),
        };
        // Some file systems do not distinguish upper and lower case.
        let file = (0..).map(numbered).find(|file| self.taken.insert(file.to_lowercase()));
        SplitVolume { name: name.to_owned(), file: file.unwrap_or_default(), pages: 0 }
    }
}

/// Appends parts to their files; if they are compressed, each part is a frame. The error has the
/// name of the file.
fn write_parts(parts: Receiver<SplitPart>, plain: bool) -> Result<(), (PathBuf, String)> {
    for SplitPart { file, bytes } in parts {
        let write = || {
            let opened = OpenOptions::new().create(true).append(true).open(&file);
            let opened = opened.map_err(|error| error.to_string())?;
            let mut encoder: Box<dyn Encoder> = match plain {
                true => Box::new(opened),
                false => zstd_codec::encoder(&file, opened).map_err(|error| error.to_string())?,
            };
            let written = encoder.write_all(&bytes).and_then(|()| encoder.finish());
            written.map_err(|error| error.to_string())
        };
        write().map_err(|why: String| (file.file_name().unwrap_or_default().into(), why))?;
    }
    Ok(())
}
