//! Sweeps that are interrupted and resumed, or done in parts. A file keeps each finished run in a
//! line, with a digest of everything that its outcome depends on.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use frostline_sim::{Cell, Ledger, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::shard::Shard;
use crate::{Error, Result};

/// The runs of a sweep that were done before, and the file to which new ones are added.
pub struct Cells {
    shard: Option<Shard>,
    /// Everything that outcomes depend on, except scheme, victim policy and volume, for each of the
    /// sweep's settings.
    settings: Vec<Value>,
    sources: Vec<CellSource>,
    known: HashMap<String, Outcome>,
    manifest: Option<Mutex<File>>,
    failed: Mutex<Option<io::Error>>,
}

/// A volume, identified by its content.
#[derive(Clone, Debug, Serialize)]
pub struct CellSource {
    /// Path of the trace.
    pub trace: String,
    /// SHA-256 of the trace's bytes, in hexadecimal digits.
    pub sha256: String,
    /// The volume; empty if the trace has only one.
    pub volume: String,
}

/// A line of the file.
#[derive(Deserialize, Serialize)]
struct Line {
    cell: String,
    trace: String,
    sha256: String,
    volume: String,
    scheme: String,
    victim: String,
    settings: Value,
    outcome: Outcome,
}

impl Cells {
    /// The runs of a sweep over these volumes with these settings, or of one shard of it.
    pub fn new(shard: Option<Shard>, sources: Vec<CellSource>, settings: Vec<Value>) -> Cells {
        let (known, manifest, failed) = (HashMap::new(), None, Mutex::default());
        Cells { shard, settings, sources, known, manifest, failed }
    }

    /// Reads the finished runs of a file, which is made if it does not exist, and adds new ones to
    /// it. Returns the number of its damaged lines, such as the last line after a power cut.
    ///
    /// # Errors
    /// The file can't be read or written, or does not hold lines of JSON: nothing is added to it
    /// then.
    pub fn keep_in(&mut self, path: &Path) -> Result<usize> {
        let failed = |source| Error::Io { what: path.display().to_string(), source };
        let (known, others) = read(path).map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData => Error::NotAManifest { path: path.to_owned() },
            _ => failed(source),
        })?;
        self.known = known;
        self.manifest = Some(Mutex::new(begin(path).map_err(failed)?));
        Ok(others)
    }

    /// The number of runs that were finished before.
    pub fn finished_before(&self) -> usize {
        self.known.len()
    }

    /// Checks that all finished runs were added to the file.
    ///
    /// # Errors
    /// The first error of adding one.
    pub fn check(&self, path: &Path) -> Result<()> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failed {
            Some(source) => Err(Error::Io { what: path.display().to_string(), source }),
            None => Ok(()),
        }
    }

    /// A digest of everything that the outcome of a run depends on.
    fn key(&self, Cell { settings, volume, run }: Cell<'_>) -> String {
        let CellSource { sha256, volume, .. } = &self.sources[volume];
        let scheme = (run.scheme.entry.info.name, run.scheme.parameters());
        let parts =
            serde_json::json!([sha256, volume, scheme, run.victim, self.settings[settings]]);
        hexadecimal(&Sha256::digest(parts.to_string().as_bytes()))
    }

    fn line(&self, cell: Cell<'_>, outcome: &Outcome) -> io::Result<String> {
        let Cell { settings, volume, run } = cell;
        let CellSource { trace, sha256, volume: name } = self.sources[volume].clone();
        let line = Line {
            cell: self.key(cell),
            trace,
            sha256,
            volume: name,
            scheme: run.scheme.text.clone(),
            victim: run.victim.clone(),
            settings: self.settings[settings].clone(),
            outcome: outcome.clone(),
        };
        Ok(serde_json::to_string(&line)? + "\n")
    }
}

impl Ledger for Cells {
    fn is_wanted(&self, number: usize) -> bool {
        self.shard.is_none_or(|shard| shard.has(number))
    }

    fn known(&self, cell: Cell<'_>) -> Option<Outcome> {
        if self.known.is_empty() { None } else { self.known.get(&self.key(cell)).cloned() }
    }

    fn finished(&self, cell: Cell<'_>, outcome: &Outcome) {
        let Some(manifest) = &self.manifest else { return };
        let line = self.line(cell, outcome);
        let mut file = manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = line.and_then(|line| file.write_all(line.as_bytes())) {
            let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
            failed.get_or_insert(error);
        }
    }
}

/// The finished runs in a file, and the number of its damaged lines.
fn read(path: &Path) -> io::Result<(HashMap<String, Outcome>, usize)> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        Err(error) => return Err(error),
    };
    let (mut known, mut others) = (HashMap::new(), 0);
    let mut file = BufReader::new(file);
    // A cut line begins like a whole one; if the file begins differently, nothing may be added to
    // it.
    if file.fill_buf()?.first().is_some_and(|&first| first != b'{') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    for line in file.split(b'\n') {
        let line = line?;
        match serde_json::from_slice::<Line>(&line) {
            Ok(Line { cell, outcome, .. }) => drop(known.insert(cell, outcome)),
            Err(_) => others += usize::from(!line.trim_ascii().is_empty()),
        }
    }
    Ok((known, others))
}

/// Opens the file to add lines. If its last line was cut, the next one must not be joined to it.
fn begin(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    if file.metadata()?.len() > 0 {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(file)
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
