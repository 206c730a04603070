//! A machine whose processes are killed and whose power is cut.
//!
//! Processes are real: the test's own program, started again and killed with SIGKILL. Their
//! unsynced writes stay in the page cache, as in reality. A power cut is imitated: a library in
//! front of libc (`shim.c`) keeps a copy of each file at each sync of the file, and of each
//! directory's entries at each sync of the directory. The cut puts these copies in place of the
//! files. It works with any code, and needs no knowledge of it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use frostline_zone::{Device, OpenOptions, Shape, can_create, create, open};
use rand::RngExt;
use rand::rngs::SmallRng;
use tempfile::TempDir;

use crate::seeds;

const TASK: &str = "FROSTLINE_TASK";
const SHADOW: &str = "FROSTLINE_SHADOW";
const LAST_SYNC: &str = "FROSTLINE_LAST_SYNC";
/// The beginning of lines that a process prints for its parent.
const TOLD: &str = "> ";

/// The moment at which a process is killed.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// After it has printed this many lines.
    Told(usize),
    /// When it syncs a file or directory for the n-th time, before anything is synced.
    Sync(u32),
}

impl End {
    /// A random moment among the first syncs or lines.
    pub fn draw(rng: &mut SmallRng, syncs: u32, lines: usize) -> End {
        match rng.random_bool(0.3) {
            true => End::Sync(rng.random_range(1..=syncs)),
            false => End::Told(rng.random_range(1..=lines)),
        }
    }
}

/// A machine: a disk that processes write, and what of it is durable.
pub struct Machine {
    home: TempDir,
    /// Copies of synced files. In memory if possible, because file systems write a file out when
    /// another is renamed over it.
    shadows: TempDir,
    /// Number of power cuts so far; each makes another directory.
    cuts: u32,
}

impl Machine {
    /// A machine with an empty disk.
    pub fn start() -> Machine {
        let shadows = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let home = tempfile::tempdir().unwrap();
        let machine = Machine { home, shadows: shadows.unwrap(), cuts: 0 };
        fs::create_dir(machine.disk()).unwrap();
        machine.keep_all();
        machine
    }

    /// The directory of zones that processes may write.
    pub fn disk(&self) -> PathBuf {
        self.home.path().join(format!("disk{}", self.cuts))
    }

    fn shadow(&self) -> PathBuf {
        self.shadows.path().join(format!("shadow{}", self.cuts))
    }

    /// Runs a test of this program as a process of its own, until it is killed or ends. Returns all
    /// lines that it printed for its parent.
    pub fn run(&self, test: &str, task: &str, end: End) -> Vec<String> {
        let (lines, last_sync) = match end {
            End::Told(lines) => (lines, 0),
            End::Sync(last) => (usize::MAX, last),
        };
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env("LD_PRELOAD", shim())
            .env(SHADOW, self.shadow())
            .env(LAST_SYNC, last_sync.to_string())
            .env(TASK, task)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut told = told.filter_map(|line| Some(line.strip_prefix(TOLD)?.to_owned()));
        let mut all: Vec<_> = told.by_ref().take(lines).collect();
        if all.len() == lines {
            child.kill().unwrap();
        }
        // The process went on until the signal reached it.
        all.extend(told);
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(9), "{status}: {task}");
        all
    }

    /// Cuts the power: of each file, at least the content of its last sync is left, and maybe more.
    pub fn cut_power(&mut self, rng: &mut SmallRng) {
        let (disk, shadow) = (self.disk(), self.shadow());
        self.cuts += 1;
        let is_strict = rng.random_bool(0.5);
        leave_directory(&disk, &self.disk(), &shadow, is_strict, rng);
        self.keep_all();
        fs::remove_dir_all(disk).unwrap();
        fs::remove_dir_all(shadow).unwrap();
    }

    /// Makes everything on the disk durable.
    fn keep_all(&self) {
        fs::create_dir(self.shadow()).unwrap();
        keep(&self.disk(), &self.shadow());
    }
}

/// Runs `live` for as many seeds as `usual` and [`seeds::times`] say, two at a time, or for the only
/// one. `live` returns the number of power cuts, and how often something was promised.
pub fn rounds(usual: u64, live: fn(u64) -> (u32, u32)) {
    let (first, machines) = match seeds::only() {
        Some(only) => (only, 1),
        None => (seeds::first(), seeds::times(usual)),
    };
    // The moment of a kill may differ when a seed is run again.
    let lived = seeds::each(first..first + machines, live);
    let cuts: u32 = lived.iter().map(|(cuts, _)| cuts).sum();
    let promised: u32 = lived.iter().map(|(_, promised)| promised).sum();
    println!("{machines} machines, {cuts} power cuts, {promised} promises kept");
    assert!(promised > 0);
}

/// The library in front of libc.
fn shim() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/power/shim.c");
        // Beside the test, so that no other test writes it at the same time.
        let library = std::env::current_exe().unwrap().with_extension("shim.so");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-pthread", source, "-o"]).arg(&library);
        assert!(cc.status().unwrap().success());
        library
    })
}

/// The device of a process: the one at the URI, made there if there is none yet.
pub fn device(uri: &str, shape: &Shape) -> Arc<dyn Device> {
    let device = match can_create(uri) {
        true => create(uri, shape, &OpenOptions::default()),
        false => open(uri, &OpenOptions::default()),
    };
    device.unwrap_or_else(|error| panic!("{uri}: {error}"))
}

/// The task of a process that [`Machine::run`] started; `None` in the test's own process.
pub fn task() -> Option<String> {
    let task = std::env::var(TASK).ok()?;
    // The test harness may have begun a line.
    println!();
    Some(task)
}

/// Prints a line for the parent.
pub fn tell(line: impl std::fmt::Display) {
    println!("{TOLD}{line}");
}

fn keep(path: &Path, shadow: &Path) {
    let metadata = fs::metadata(path).unwrap();
    let to = shadow.join(metadata.ino().to_string());
    if !metadata.is_dir() {
        fs::copy(path, to).unwrap();
        return;
    }
    let mut text = String::new();
    for entry in fs::read_dir(path).unwrap().map(Result::unwrap) {
        let (metadata, name) = (entry.metadata().unwrap(), entry.file_name());
        let kind = if metadata.is_dir() { 'd' } else { 'f' };
        text += &format!("{kind} {} {}\n", metadata.ino(), name.to_str().unwrap());
        keep(&entry.path(), shadow);
    }
    fs::write(to, text).unwrap();
}

fn inode(path: &Path) -> Option<String> {
    Some(fs::symlink_metadata(path).ok()?.ino().to_string())
}

/// Turns a directory into what a power cut leaves of it.
fn leave_directory(was: &Path, left: &Path, shadow: &Path, is_strict: bool, rng: &mut SmallRng) {
    fs::create_dir(left).unwrap();
    let listed = inode(was).map(|inode| fs::read_to_string(shadow.join(inode)));
    let listed = listed.transpose().unwrap_or_default().unwrap_or_default();
    let entries: BTreeMap<_, _> = listed
        .lines()
        .map(|line| {
            let mut parts = line.splitn(3, ' ');
            let mut part = || parts.next().unwrap().to_owned();
            let (kind, inode) = (part(), part());
            (part(), (kind, inode))
        })
        .collect();
    for (name, (kind, number)) in entries {
        let (was, left) = (was.join(&name), left.join(&name));
        if kind == "d" {
            leave_directory(&was, &left, shadow, is_strict, rng);
            continue;
        }
        let synced = fs::read(shadow.join(&number)).unwrap_or_default();
        let is_there = !is_strict && inode(&was) == Some(number);
        let now = is_there.then(|| fs::read(&was).unwrap());
        // The files of zones are appended to and cut to nothing; others are written anywhere.
        let is_zone = was.parent().is_some_and(|parent| parent.ends_with("seq"));
        let survive = if is_zone { survive_of_zone } else { survive_in_place };
        fs::write(left, survive(synced, now, rng)).unwrap();
    }
}

/// Bytes of which a power cut leaves all or none.
const BLOCK: usize = 4096;

/// The bytes that a power cut leaves of a file that is written anywhere, from its last synced bytes
/// and its present ones: each block is one or the other, and so is the length.
fn survive_in_place(synced: Vec<u8>, now: Option<Vec<u8>>, rng: &mut SmallRng) -> Vec<u8> {
    let Some(now) = now else { return synced };
    let lost = [0.0, 0.1, 0.5, 0.9, 1.0][rng.random_range(0..5)];
    let mut left = vec![0; if rng.random_bool(lost) { synced.len() } else { now.len() }];
    for (at, block) in (0..).step_by(BLOCK).zip(left.chunks_mut(BLOCK)) {
        let from = if rng.random_bool(lost) { &synced } else { &now };
        let there = from.get(at..).unwrap_or_default();
        let there = &there[..there.len().min(block.len())];
        block[..there.len()].copy_from_slice(there);
    }
    left
}

/// The same of a file that is appended to.
fn survive_of_zone(synced: Vec<u8>, now: Option<Vec<u8>>, rng: &mut SmallRng) -> Vec<u8> {
    let Some(mut now) = now else { return synced };
    match rng.random_range(0..3) {
        0 => synced,
        1 => now,
        _ if now.starts_with(&synced) => {
            // Zeroes at the end may come from a length that was set, which takes effect at once.
            let end = now.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
            now.truncate(rng.random_range(synced.len()..=end.max(synced.len())));
            now
        }
        _ => synced,
    }
}
