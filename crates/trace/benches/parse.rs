//! The speed of reading traces, in bytes of the file per second, and of generating them, in writes
//! per second.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use frostline_random::Xoshiro;
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

fn reading(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a scratch directory can be made");
    let mut group = c.benchmark_group("read");
    group.sample_size(10);
    for (name, line) in [
        ("alibaba", alibaba as fn(&mut String, &mut Xoshiro, u64)),
        ("tencent", tencent),
        ("msr", msr),
    ] {
        let path = csv(dir.path(), name, line);
        let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(name, |b| b.iter(|| read_all(&path)));
        group.bench_function(format!("{name} to pages"), |b| {
            b.iter(|| load(&path, &LoadOptions::default(), &mut |_| ()).expect("it is right"));
        });
    }
    let path = dir.path().join("trace.u32");
    let bytes: Vec<u8> = (0..32u32 << 20).flat_map(|i| (i & 0xff_ffff).to_le_bytes()).collect();
    std::fs::write(&path, &bytes).expect("a scratch file can be written");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("u32 to pages", |b| {
        b.iter(|| load(&path, &LoadOptions::default(), &mut |_| ()).expect("it is right"));
    });
    group.bench_function("copying the same file", |b| b.iter(|| std::fs::read(&path)));
    group.finish();
}

fn generating(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    group.sample_size(10);
    let kinds = [
        ("zipf 1.0", AccessPattern::Zipf { alpha: 1.0 }),
        ("uniform", AccessPattern::Uniform),
        ("oltp", AccessPattern::Oltp(Oltp::default())),
    ];
    for (name, kind) in kinds {
        let spec = Spec { kind, pages: 2_600_000, writes: 4_000_000, fill: false, seed: 1 };
        group.throughput(Throughput::Elements(spec.writes));
        group.bench_function(name, |b| {
            b.iter(|| generate(&spec).expect("the parameters are right").fold(0, |a, x| a ^ x));
        });
    }
    group.finish();
}

fn annotating(c: &mut Criterion) {
    let mut group = c.benchmark_group("prepare");
    group.sample_size(10);
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages: 2_600_000, writes: 20_000_000, fill: false, seed: 1 };
    let lbas: Vec<u32> = generate(&spec).expect("the parameters are right").collect();
    let writes = Writes { lbas, ..Writes::default() };
    group.throughput(Throughput::Elements(spec.writes));
    for (name, lifespans) in [("final writes", false), ("lifespans", true)] {
        group.bench_function(name, |b| {
            b.iter(|| prepare(None, writes.clone(), lifespans).expect("the writes are few"));
        });
    }
    group.finish();
}

criterion_group!(benches, reading, generating, annotating);
criterion_main!(benches);
