//! The resources of a process, as the system counts them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The system's counts up to a moment.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Processor time of all threads of this process.
    pub cpu: Duration,
    /// Bytes that this process caused to be written to devices: `write_bytes` less
    /// `cancelled_write_bytes` of `/proc/self/io`.
    pub process_bytes: u64,
    /// Bytes that anybody wrote to the device of the directory, where it has a counter.
    pub device_bytes: Option<u64>,
}

/// Takes samples of this process and of the device under a directory.
#[derive(Debug)]
pub struct Sampler {
    directory: File,
    counter: Option<PathBuf>,
}

impl Sampler {
    /// For the file system that a directory is on.
    ///
    /// # Errors
    /// The directory can't be opened.
    pub fn new(directory: &Path) -> io::Result<Sampler> {
        let counter = counter_of(fs::metadata(directory)?.dev());
        Ok(Sampler { directory: File::open(directory)?, counter })
    }

    /// Writes the file system's page cache to its device, then counts.
    ///
    /// # Errors
    /// The file system or `/proc` fails.
    pub fn take(&self) -> io::Result<Sample> {
        rustix::fs::syncfs(&self.directory)?;
        let device_bytes = self.counter.as_deref().map(sectors).transpose()?;
        Ok(Sample { cpu: cpu(), process_bytes: written()?, device_bytes })
    }
}

impl Sample {
    /// The counts since an earlier moment.
    pub fn since(&self, earlier: &Sample) -> Sample {
        let device = self.device_bytes.zip(earlier.device_bytes);
        Sample {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            process_bytes: self.process_bytes.saturating_sub(earlier.process_bytes),
            device_bytes: device.map(|(now, then)| now.saturating_sub(then)),
        }
    }
}

/// Memory of this process that no file backs, in bytes.
///
/// # Errors
/// `/proc` can't be read.
pub fn memory() -> io::Result<u64> {
    Ok(field("/proc/self/status", "RssAnon:")? << 10)
}

/// Bytes that the files below a directory take on their file system.
///
/// # Errors
/// The directory can't be read. Files that vanish meanwhile are not missed.
pub fn space(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(found) if found.is_dir() => bytes += space(&entry.path())?,
            Ok(found) => bytes += found.blocks() * 512,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// Processor time of all threads of this process.
pub fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn written() -> io::Result<u64> {
    let path = "/proc/self/io";
    Ok(field(path, "write_bytes:")?.saturating_sub(field(path, "cancelled_write_bytes:")?))
}

/// The number behind a name at the beginning of a line.
fn field(path: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(path)?;
    let number = text.lines().find_map(|line| line.strip_prefix(name));
    number
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .ok_or_else(|| io::Error::other(format!("{path} has no {name}")))
}

/// The path of the counters of the device of this number, if it has any.
fn counter_of(device: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let path = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/stat"));
    path.exists().then_some(path)
}

/// Bytes written, of a block device's counters.
fn sectors(counter: &Path) -> io::Result<u64> {
    /// Sectors written are the seventh number.
    const WRITTEN: usize = 6;
    let text = fs::read_to_string(counter)?;
    let sectors = text.split_whitespace().nth(WRITTEN).and_then(|number| number.parse().ok());
    let sectors: u64 = sectors.ok_or_else(|| io::Error::other("a device without counters"))?;
    Ok(sectors * 512)
}
