//! A database in 256 MiB of memory and with 256 file descriptors: 64 threads write more than fits,
//! a snapshot never ends, and a value is as long as four times the memory.
//!
//! It takes half a minute: `cargo test --release -p frostline-db --test starved bounded --
//! --ignored --nocapture`. The limit is that of a control group, which takes root; where none
//! can be made, a limit of the process's data takes its place.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use frostline_db::{Create, Db, DbError, Options, Table};
use frostline_zone::{Counted, Device, OpenOptions, Shape, create, open};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::{TASK, of_process, run_with_stacks};

const MEMORY: u64 = 256 << 20;
const DESCRIPTORS: u64 = 256;
const THREADS: u64 = 64;
const COMMITS: u64 = 500;
const RECORDS: u64 = 8;

/// Bytes of the device, of its log, and of all records.
const DEVICE: u64 = 1 << 30;
const LOG: u64 = 64 << 20;
const VALUE: usize = 1200;

/// A control group of this test, removed at the end.
struct Group {
    path: PathBuf,
}

impl Group {
    /// Makes one with the limit; `None` if the system does not let it.
    fn new() -> Option<Group> {
        let name = format!("frostline-{}", std::process::id());
        let places = [("", "memory.max"), ("memory", "memory.limit_in_bytes")];
        places.into_iter().find_map(|(place, limit)| {
            let path = Path::new("/sys/fs/cgroup").join(place).join(&name);
            fs::create_dir(&path).ok()?;
            let group = Group { path };
            // Elsewhere than in a control group's directory there is no such file.
            let file = fs::OpenOptions::new().write(true).open(group.path.join(limit));
            drop(file.ok()?);
            fs::write(group.path.join(limit), MEMORY.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

fn key(thread: u64, number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&thread.to_be_bytes());
    key[8..].copy_from_slice(&number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key
}

/// Commits records of a thread, each a new one and one that is there.
fn write(db: &Db, table: Table, thread: u64) {
    for commit in 0..COMMITS {
        let mut transaction = db.begin().unwrap();
        for record in 0..RECORDS {
            let number = commit * RECORDS + record;
            transaction.put(table, &key(thread, number), &[number as u8; VALUE]).unwrap();
        }
        transaction.put(table, &key(thread, 0), &[commit as u8; VALUE]).unwrap();
        transaction.commit().unwrap();
    }
}

/// The process with little memory: its task is the directory, and the control group if there is
/// one.
#[test]
fn as_a_process_of_little_memory() {
    let Ok(task) = std::env::var(TASK) else { return };
    let (directory, group) = task.split_once(' ').unwrap();
    let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Nofile, limit(DESCRIPTORS)).unwrap();
    let longest = match group {
        "" => {
            setrlimit(Resource::Data, limit(MEMORY)).unwrap();
            64 << 20
        }
        group => {
            let pid = std::process::id().to_string();
            fs::write(Path::new(group).join("cgroup.procs"), pid).unwrap();
            1 << 30
        }
    };
    let device = open(&format!("file:{directory}"), &OpenOptions::default()).unwrap();
    let db = Db::open(&device, &Options::default()).unwrap();
    let table = db.create_table("t").unwrap();
    write(&db, table, THREADS);
    let look = db.begin_read().unwrap();
    let before = look.get(table, &key(THREADS, 0)).unwrap();
    let mut descriptors = 0;
    std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|thread| {
            let db = &db;
            scope.spawn(move || write(db, table, thread))
        });
        let threads: Vec<_> = threads.collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            descriptors = descriptors.max(fs::read_dir("/proc/self/fd").unwrap().count());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    });
    // What the snapshot sees was overwritten, and is kept for it only while there is memory.
    write(&db, table, THREADS);
    match look.get(table, &key(THREADS, 0)) {
        Err(DbError::SnapshotTooOld { .. }) => println!("\nthe snapshot has ended"),
        value => assert_eq!(value.unwrap(), before),
    }
    // Zeroes that were never written take no memory of their own.
    let value = vec![0; longest];
    // It does not go through the log, and takes little memory.
    let mut transaction = db.begin().unwrap();
    let put = transaction.put(table, b"long", &value);
    assert!(matches!(put, Ok(()) | Err(DbError::Full { .. })), "{put:?}");
    drop(transaction);
    println!("\nanonymous KiB {}", of_process("status", "RssAnon:"));
    println!("\nmost resident KiB {}", of_process("status", "VmHWM:"));
    println!("\ndescriptors {descriptors}");
    // As if killed: nothing is closed.
    std::process::exit(0);
}

#[test]
#[ignore = "takes half a minute, and root for a control group"]
fn bounded_memory_descriptors_and_opening() {
    let home = tempfile::tempdir_in(".").unwrap();
    let directory = home.path().join("db");
    let uri = format!("file:{}", directory.display());
    let shape = Shape { bytes: DEVICE, zone_bytes: Some(1 << 20), ..Shape::default() };
    let device = create(&uri, &shape, &OpenOptions::default()).unwrap();
    Db::create(&device, &Create { log_bytes: Some(LOG), ..Create::default() }).unwrap();
    drop(device);
    let group = Group::new();
    let limit = group.as_ref().map_or(String::new(), |group| group.path.display().to_string());
    println!("{MEMORY} bytes by {}", if group.is_some() { &limit } else { "RLIMIT_DATA" });
    let task = format!("{} {limit}", directory.canonicalize().unwrap().display());
    let output = run_with_stacks("bounded::as_a_process_of_little_memory", &task, 256 << 10);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    assert!(output.status.success(), "{output:?}");
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    assert!(number("descriptors") <= DESCRIPTORS / 4 + 24);
    // Most of the memory is the caller's to choose: the buffer, and half of it for versions.
    assert!(number("anonymous KiB") * 1024 < MEMORY);

    let counted = Arc::new(Counted::new(open(&uri, &OpenOptions::default()).unwrap()));
    let device: Arc<dyn Device> = counted.clone();
    let begun = Instant::now();
    let db = Db::open(&device, &Options::default()).unwrap();
    let (took, read) = (begun.elapsed(), counted.counts().read_bytes);
    println!("opened in {took:?}, {} MiB read", read >> 20);
    // The log, the pages that it changes, and the headers since the last checkpoint of the store.
    assert!(read < 2 * LOG + (64 << 20), "{read}");
    let (table, look) = (db.table("t").unwrap(), db.begin_read().unwrap());
    for thread in 0..=THREADS {
        let last = COMMITS * RECORDS - 1;
        let value = look.get(table, &key(thread, last)).unwrap();
        assert_eq!(value.as_deref(), Some(&[last as u8; VALUE][..]), "{thread}");
    }
}
