use frostline_db::*;
use frostline_store::Format;
use frostline_workload::{driver, ycsb::*, *};
use frostline_zone::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (rec, buf, n, threads, size, gp) = (
        a[1].parse::<u64>().unwrap(),
        a[2].parse::<usize>().unwrap(),
        a[3].parse::<u64>().unwrap(),
        a[4].parse::<usize>().unwrap(),
        a[5].parse::<u64>().unwrap(),
        a[6].parse::<f64>().unwrap(),
    );
    let repl = if a[7] == "clock" { Replacement::Clock } else { Replacement::Watt };
    let dev = in_memory(&Shape { bytes: size << 20, ..Shape::default() }).unwrap();
    Db::create(
        &dev,
        &Create {
            store: Format { scheme: a[8].clone(), gp, ..Format::default() },
            ..Create::default()
        },
    )
    .unwrap();
    let db = Db::open(
        &dev,
        &Options {
            buffer_bytes: buf << 20,
            replacement: repl,
            hotness: true,
            ..Options::default()
        },
    )
    .unwrap();
    let (mix, distribution) = Mix::named(&a[9]).unwrap();
    let t = Ycsb::open(
        &db,
        ycsb::Options {
            mix,
            distribution,
            records: rec,
            value_bytes: 120,
            load_order: LoadOrder::Keys,
            ..Default::default()
        },
    )
    .unwrap();
    let b = std::time::Instant::now();
    let cpu0 = cpu();
    t.load(&db, Loading { threads: 1, seed: 1 }, &mut |_| true).unwrap();
    db.checkpoint().unwrap();
    let s0 = db.stats().unwrap();
    println!(
        "loaded in {:?} cpu {:.2}, pages {} = {} MiB",
        b.elapsed(),
        cpu() - cpu0,
        s0.pages,
        s0.pages / 256
    );
    let mut s0 = s0;
    for round in 0..2 {
        let cpu1 = cpu();
        let r = driver::run(
            &db,
            &t,
            driver::Options {
                threads,
                until: driver::Until::Transactions(n),
                in_flight: 1000,
                seed: 7 + round,
            },
            |_| true,
        )
        .unwrap();
        let c = cpu() - cpu1;
        let s = db.stats().unwrap();
        let d = r.done() as f64;
        println!(
            "done {} in {:.2?}: {:.0} op/s, per worker cpu-s {:.0}, per process cpu-s {:.0}",
            r.done(),
            r.elapsed,
            d / r.elapsed.as_secs_f64(),
            d / r.cpu.as_secs_f64(),
            d / c
        );
        println!(
            "pages/op read {:.3} evicted {:.3} checkpointed {:.3} log pages/op {:.3} bytes/op {:.0} flushes {}",
            (s.pages_read - s0.pages_read) as f64 / d,
            (s.pages_evicted - s0.pages_evicted) as f64 / d,
            (s.pages_checkpointed - s0.pages_checkpointed) as f64 / d,
            (s.log.pages - s0.log.pages) as f64 / d,
            (s.log.bytes - s0.log.bytes) as f64 / d,
            s.log.flushes - s0.log.flushes
        );
        let w1 = s.store.written.since(&s0.store.written);
        let user: u64 =
            r.kinds.iter().filter(|k| k.name == "update").map(|k| k.committed * 128).sum();
        let device = (w1.waf() * w1.user as f64 + (s.log.pages - s0.log.pages) as f64) * 4096.0;
        println!(
            "WAF {:.4} user {} reloc {}; stalled {:?} conflicts {} pages {}; device bytes per user byte {:.1}",
            w1.waf(),
            w1.user,
            w1.relocations,
            s.stalled,
            s.conflicts,
            s.pages,
            device / user as f64
        );
        s0 = s;
    }
    db.close().unwrap();
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}
