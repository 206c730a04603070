//! Traces in scratch files.

use std::io::Write;
use std::path::{Path, PathBuf};

use frostline_trace::{
    Format, LoadOptions, Loaded, Op, Reader, ReaderOptions, Request, TraceError, load,
};

/// A directory for one test, removed at its end.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The error of loading a file, without its directory.
    pub(crate) fn error_of(&self, name: &str, content: &[u8], format: Option<Format>) -> String {
        let path = self.file(name, content);
        let options = LoadOptions { format, ..LoadOptions::default() };
        self.told(load(&path, &options, &mut |_| ()).unwrap_err())
    }

    /// An error without the scratch directory's name.
    pub(crate) fn told(&self, error: TraceError) -> String {
        let text = error.to_string();
        assert!(!text.contains('\n'), "{text}");
        text.replace(&format!("{}/", self.0.path().display()), "")
    }
}

pub(crate) fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 3).unwrap()
}

pub(crate) fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn u32s(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// A record of `oracle-general`.
pub(crate) fn record(seconds: u32, object: u64, bytes: u32, next: i64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(seconds.to_le_bytes());
    record.extend(object.to_le_bytes());
    record.extend(bytes.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

/// All requests with the names of their volumes.
pub(crate) fn requests(
    path: &Path,
    options: &ReaderOptions,
) -> Result<(Format, Named), TraceError> {
    let mut reader = Reader::open_with(path, options)?;
    let mut all = Vec::new();
    while reader.read(&mut all, 3)? > 0 {}
    let names = reader.volume_names();
    let named = all.into_iter().map(|Request { time_us, op, offset, length, volume }| {
        (time_us, op, offset, length, names[volume as usize].clone())
    });
    Ok((reader.format(), named.collect()))
}

/// Time, operation, offset, length and volume of requests.
pub(crate) type Named = Vec<(u64, Op, u64, u64, String)>;

pub(crate) fn load_with(path: &Path, options: &LoadOptions) -> Loaded {
    load(path, options, &mut |_| ()).unwrap()
}
