//! The cost of the store beside the device: `cargo bench -p frostline-store -- [GIB [PART...]]`.
//!
//! Three parts: `memory`, `files` and `recovery`, the last of a store of GIB (1 unless given). The
//! last two need room for one and a half times that in the target directory.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use frostline_placement::SchemeSpec;
use frostline_store::{Cleaning, Format, Open, PageWrite, Store, Written};
use frostline_zone::{AlignedBuf, Counted, Device, OpenOptions, Shape, create, in_memory};
use rustix::time::{ClockId, clock_gettime};

const PAGE: usize = 4096;
const CHUNK: usize = 128 * PAGE;
const GIB: u64 = 1 << 30;

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// CPU time of `work` in microseconds for each of `pages`.
fn cpu_per_page(pages: u64, work: impl FnOnce()) -> f64 {
    let begun = cpu_seconds();
    work();
    (cpu_seconds() - begun) * 1e6 / pages as f64
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn shape(bytes: u64) -> Shape {
    Shape { bytes, ..Shape::default() }
}

/// Contents, different enough, and more than a cache holds.
fn contents() -> Vec<u8> {
    (0u32..16 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// CPU time of a page written to memory, and of its parts measured alone.
fn memory() {
    const BYTES: u64 = 512 << 20;
    let pages = BYTES / 2 / PAGE as u64;
    let contents = contents();
    let page_of = |lba: u64| &contents[lba as usize * PAGE % contents.len()..][..PAGE];
    let device = in_memory(&shape(BYTES)).expect("memory");
    let format = Format { force: true, unit: 4096, ..Format::default() };
    let (mut all, mut copies, mut sums, mut appends) = (vec![], vec![], vec![], vec![]);
    // In the first round the system gives the memory.
    for _ in 0..6 {
        Store::format(device.clone(), &format).expect("a store");
        let store = Store::open(device.clone(), Open::default()).expect("a store");
        all.push(cpu_per_page(pages, || {
            (0..pages).for_each(|lba| store.write(lba as u32, page_of(lba)).expect("written"));
        }));
        assert_eq!(store.stats().expect("stats").counts.cleanings, 0);
        drop(store);
        let mut chunk = AlignedBuf::zeroed(CHUNK);
        copies.push(cpu_per_page(pages, || {
            for lba in 0..pages {
                let at = lba as usize % 127 * PAGE;
                chunk[at..at + PAGE].copy_from_slice(page_of(lba));
                std::hint::black_box(&mut chunk);
            }
        }));
        sums.push(cpu_per_page(pages, || {
            for lba in 0..pages {
                std::hint::black_box(crc32c::crc32c(page_of(lba)));
            }
        }));
        appends.push(append_alone(&*device, pages, &chunk));
    }
    let [all, copy, sum, append] = [all, copies, sums, appends].map(|f| median(f[1..].to_vec()));
    println!("mem: one thread, 4 KiB a call, cleaning idle, CPU in microseconds a page");
    println!(
        "  store {all:.3}  copy {copy:.3}  checksum {sum:.3}  append of the device {append:.3}"
    );
    println!(
        "  beside copy and checksum {:.3} (target 1.5), beside the device's append too {:.3}",
        all - copy - sum,
        all - copy - sum - append
    );
}

/// The same pages appended to the device in chunks, without a store.
fn append_alone(device: &dyn Device, pages: u64, chunk: &[u8]) -> f64 {
    let geometry = device.geometry();
    (0..geometry.zones).for_each(|zone| device.reset(zone).expect("reset"));
    cpu_per_page(pages, || {
        let bytes = pages * PAGE as u64;
        let mut done = 0;
        while done < bytes {
            let (zone, at) = (done / geometry.zone_capacity, done % geometry.zone_capacity);
            device.append(zone as u32, at, chunk).expect("appended");
            done += chunk.len() as u64;
        }
    })
}

fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

/// A device in a file, and its zone size.
fn file_device(path: &Path, bytes: u64) -> (Arc<dyn Device>, u64) {
    let uri = format!("file:{}", path.display());
    let device = create(&uri, &shape(bytes), &OpenOptions::default()).expect("a device");
    let zone = device.geometry().zone_bytes;
    (device, zone)
}

/// Writes distinct pages, then syncs; bytes a second.
fn store_rate(bytes: u64, contents: &[u8]) -> f64 {
    let path = place("store-file");
    let (device, _) = file_device(&path, bytes * 3 / 2);
    Store::format(device.clone(), &Format { unit: 4096, ..Format::default() }).expect("a store");
    let store = Store::open(device, Open::default()).expect("a store");
    let pages = (bytes / PAGE as u64) as u32;
    let begun = Instant::now();
    for lba in 0..pages {
        let at = lba as usize * PAGE % contents.len();
        store.write(lba, &contents[at..at + PAGE]).expect("written");
    }
    store.sync().expect("synced");
    let seconds = begun.elapsed().as_secs_f64();
    drop(store);
    let _ = fs::remove_file(path);
    bytes as f64 / seconds
}

/// Writes the same bytes to a plain file, then makes them durable.
fn plain_rate(bytes: u64, contents: &[u8]) -> f64 {
    let path = place("plain-file");
    let begun = Instant::now();
    let file = File::create_new(&path).expect("a file");
    for at in (0..bytes).step_by(CHUNK) {
        let from = at as usize % contents.len();
        file.write_all_at(&contents[from..from + CHUNK], at).expect("written");
    }
    file.sync_all().expect("synced");
    let seconds = begun.elapsed().as_secs_f64();
    let _ = fs::remove_file(path);
    bytes as f64 / seconds
}

fn files(gib: u64) {
    let (bytes, contents) = (gib * GIB, contents());
    let (mut store, mut plain) = (Vec::new(), Vec::new());
    for round in 0..6 {
        // Whoever comes second finds a drive that is still busy.
        if round % 2 == 0 {
            plain.push(plain_rate(bytes, &contents));
        }
        store.push(store_rate(bytes, &contents));
        if round % 2 == 1 {
            plain.push(plain_rate(bytes, &contents));
        }
    }
    let pairs = store.iter().zip(&plain).map(|(s, p)| s / p).collect();
    println!("file: {gib} GiB of distinct pages, then a sync; medians of six rounds side by side");
    println!(
        "  store {:.0} MB/s  plain writes {:.0} MB/s  share {:.0} % (target 85 %)",
        median(store) / 1e6,
        median(plain) / 1e6,
        100.0 * median(pairs)
    );
}

/// Writes random pages, of which every 4,096 are synced, until a checkpoint is nearly due: the most
/// that recovery can meet. Returns what was written when the last one was, and at the last sync but
/// one.
fn write_behind_a_checkpoint(store: &Store, contents: &[u8]) -> (Written, Written) {
    let written = || store.stats().expect("stats").written;
    let pages = store.pages();
    store.checkpoint().expect("a checkpoint");
    let (mut before, mut last) = (written(), written());
    let mut syncs = [last; 2];
    let mut random = 1u64;
    for batch in 0..2 * pages / 4 / 1024 {
        let lbas: Vec<u64> = (0..1024)
            .map(|_| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % pages
            })
            .collect();
        let page = |lba: &u64| &contents[*lba as usize * PAGE % contents.len()..][..PAGE];
        let write = |lba: &u64| PageWrite {
            lba: *lba as u32,
            page: page(lba),
            hotness: None,
            changed: None,
        };
        store.write_batch(&lbas.iter().map(write).collect::<Vec<_>>()).expect("written");
        if batch % 4 == 0 {
            store.sync().expect("synced");
            syncs = [syncs[1], written()];
        }
        let now = written();
        // The store wrote one of its own: notes alone are a page or two.
        if now.checkpoints > last.checkpoints + pages / 1024 / 4 {
            before = now;
        }
        last = now;
        let placed = now.user + now.relocations - before.user - before.relocations;
        if placed + 4096 > pages / 4 {
            break;
        }
    }
    (before, syncs[0])
}

fn recovery(gib: u64) {
    let contents = contents();
    let path = place("recovery");
    let (device, _) = file_device(&path, gib * GIB * 3 / 2);
    let logical_pages = Some(gib * GIB / PAGE as u64);
    Store::format(device.clone(), &Format { logical_pages, unit: 4096, ..Format::default() })
        .expect("a store");
    let open = Open { cleaning: Cleaning::Inline, ..Open::default() };
    let store = Store::open(device.clone(), open).expect("a store");
    for lba in 0..store.pages() {
        let at = lba as usize * PAGE % contents.len();
        store.write(lba as u32, &contents[at..at + PAGE]).expect("written");
    }
    let (before, synced) = write_behind_a_checkpoint(&store, &contents);
    let stats = store.stats().expect("stats");
    let after = stats.written;
    let bytes = stats.bytes as f64 / store.pages() as f64;
    drop(store);
    let counted = Arc::new(Counted::new(device));
    let begun = Instant::now();
    let store = Store::open(counted.clone(), Open::default()).expect("recovered");
    let seconds = begun.elapsed().as_secs_f64();
    let read = counted.counts().read_bytes / PAGE as u64;
    let headers = after.headers - before.headers;
    let placed = |w: &Written| w.user + w.relocations;
    let unsure = placed(&after) - placed(&synced);
    let state = SchemeSpec::parse("sepbit").expect("a scheme").entry.page_bytes;
    let leaves = store.pages().div_ceil(1024) * (1024 * (8 + state as u64)).div_ceil(PAGE as u64);
    println!("recovery of a store of {gib} GiB that was dropped just before a checkpoint was due");
    println!(
        "  {} user writes and {} relocations since the last one, in {headers} chunks",
        after.user - before.user,
        after.relocations - before.relocations,
    );
    println!("  {read} pages read in {} reads, {seconds:.2} s", counted.counts().reads);
    println!(
        "  bound: {headers} headers + {leaves} of the map + {unsure} that no sync is known to \
         cover + {} of the log",
        store.pages() / 1024
    );
    println!("  map, zones and scheme in memory: {bytes:.2} bytes a page");
    drop(store);
    let _ = fs::remove_file(path);
}

fn main() {
    // Cargo passes --bench.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let gib = args.first().map_or(1, |a| a.parse().expect("GIB is a number"));
    let wanted = |part: &str| args.len() < 2 || args[1..].iter().any(|a| a == part);
    if wanted("memory") {
        memory();
    }
    if wanted("files") {
        files(gib);
    }
    if wanted("recovery") {
        recovery(gib);
    }
}
