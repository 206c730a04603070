//! The speed of reading traces, in bytes of the file per second, and of generating them, in writes
//! per second.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use frostline_random::Xoshiro;
use frostline_testkit::timing::measure;
use frostline_trace::{
    AccessPattern, LoadOptions, Oltp, Reader, Spec, Writes, generate, load, prepare,
};

/// Lines in a CSV file, which is then about 50 MB.
const LINES: usize = 1 << 20;

/// A CSV file whose fields vary in length like those of the published traces.
fn csv(dir: &Path, name: &str, line: impl Fn(&mut String, &mut Xoshiro, u64)) -> PathBuf {
    let mut random = Xoshiro::new(1);
    let mut text = String::new();
    for i in 0..LINES as u64 {
        line(&mut text, &mut random, i);
    }
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a scratch file can be written");
    path
}

fn alibaba(text: &mut String, random: &mut Xoshiro, i: u64) {
    let (device, op) = (random.below(1000), if random.chance(0.25) { 'R' } else { 'W' });
    let offset = u64::from(random.below(1 << 27)) * 4096;
    let length = (1 + random.below(16)) * 4096;
    let time = 1_577_808_000_000_000 + i * 37;
    let _ = writeln!(text, "{device},{op},{offset},{length},{time}");
}

fn tencent(text: &mut String, random: &mut Xoshiro, i: u64) {
    let offset = random.below(1 << 30);
    let (size, op) = (8 * (1 + random.below(16)), random.below(2));
    let volume = 1000 + random.below(4000);
    let _ = writeln!(text, "{},{offset},{size},{op},{volume}", 1_538_323_200 + i / 10_000);
}

fn msr(text: &mut String, random: &mut Xoshiro, i: u64) {
    let time = 128_166_372_003_061_629 + i * 1000;
    let op = if random.chance(0.3) { "Read" } else { "Write" };
    let offset = u64::from(random.below(1 << 24)) * 4096;
    let _ = writeln!(text, "{time},usr,{},{op},{offset},4096,41286", random.below(3));
}

fn read_all(path: &Path) -> usize {
    let mut reader = Reader::open(path, None).expect("the file is a trace");
    let (mut batch, mut total) = (Vec::new(), 0);
    while reader.read(&mut batch, 4096).expect("the file is right") > 0 {
        total += black_box(&batch).len();
        batch.clear();
    }
    total
}

fn read_pages(path: &Path) {
    black_box(load(path, &LoadOptions::default(), &mut |_| ()).expect("it is right"));
}

fn reading() {
    let dir = tempfile::tempdir().expect("a scratch directory can be made");
    for (name, line) in [
        ("alibaba", alibaba as fn(&mut String, &mut Xoshiro, u64)),
        ("tencent", tencent),
        ("msr", msr),
    ] {
        let path = csv(dir.path(), name, line);
        let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        measure(&format!("read {name}"), bytes, || {
            black_box(read_all(&path));
        });
        measure(&format!("read {name} to pages"), bytes, || read_pages(&path));
    }
    let path = dir.path().join("trace.u32");
    let bytes: Vec<u8> = (0..32u32 << 20).flat_map(|i| (i & 0xff_ffff).to_le_bytes()).collect();
    std::fs::write(&path, &bytes).expect("a scratch file can be written");
    measure("read u32 to pages", bytes.len() as u64, || read_pages(&path));
    measure("copying the same file", bytes.len() as u64, || {
        black_box(std::fs::read(&path).expect("it was written"));
    });
}

fn generating() {
    let kinds = [
        ("zipf 1.0", AccessPattern::Zipf { alpha: 1.0 }),
        ("uniform", AccessPattern::Uniform),
        ("oltp", AccessPattern::Oltp(Oltp::default())),
    ];
    for (name, kind) in kinds {
        let spec = Spec { kind, pages: 2_600_000, writes: 4_000_000, fill: false, seed: 1 };
        measure(&format!("generate {name}"), spec.writes, || {
            let all = generate(&spec).expect("the parameters are right");
            black_box(all.fold(0, |a, x| a ^ x));
        });
    }
}

fn annotating() {
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages: 2_600_000, writes: 20_000_000, fill: false, seed: 1 };
    let lbas: Vec<u32> = generate(&spec).expect("the parameters are right").collect();
    let writes = Writes { lbas, ..Writes::default() };
    for (name, lifespans) in [("final writes", false), ("lifespans", true)] {
        measure(&format!("prepare {name}"), spec.writes, || {
            black_box(prepare(None, writes.clone(), lifespans).expect("the writes are few"));
        });
    }
}

fn main() {
    reading();
    generating();
    annotating();
}
