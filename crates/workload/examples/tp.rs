use frostline_db::*;
use frostline_store::Format;
use frostline_workload::{driver, tpcc::*, *};
use frostline_zone::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (w, buf, n, threads, size) = (
        a[1].parse::<u32>().unwrap(),
        a[2].parse::<usize>().unwrap(),
        a[3].parse::<u64>().unwrap(),
        a[4].parse::<usize>().unwrap(),
        a[5].parse::<u64>().unwrap(),
    );
    let repl = if a.get(6).map(|s| s == "clock").unwrap_or(false) {
        Replacement::Clock
    } else {
        Replacement::Watt
    };
    let hot = !a.get(7).map(|s| s == "nohot").unwrap_or(false);
    let dev = in_memory(&Shape { bytes: size << 20, ..Shape::default() }).unwrap();
    Db::create(
        &dev,
        &Create {
            store: Format { scheme: "sepbit".into(), ..Format::default() },
            ..Create::default()
        },
    )
    .unwrap();
    let db = Db::open(
        &dev,
        &Options { buffer_bytes: buf << 20, replacement: repl, hotness: hot, ..Options::default() },
    )
    .unwrap();
    let scale = frostline_workload::tpcc::Scale::standard(w);
    let t = Tpcc::open(&db, tpcc::Options { scale, steady: false }).unwrap();
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
    if a.get(8).is_some() {
        for c in t.check(&db).unwrap() {
            println!("{:?}", c);
        }
    }
    let cpu1 = cpu();
    let r = driver::run(
        &db,
        &t,
        driver::Options { threads, until: driver::Until::Transactions(n), in_flight: 64, seed: 7 },
        |_| true,
    )
    .unwrap();
    let c = cpu() - cpu1;
    let s = db.stats().unwrap();
    let d = r.done() as f64;
    println!(
        "done {} in {:.2?}: {:.0} tx/s, per worker cpu-s {:.0}, per process cpu-s {:.0}",
        r.done(),
        r.elapsed,
        d / r.elapsed.as_secs_f64(),
        d / r.cpu.as_secs_f64(),
        d / c
    );
    println!(
        "pages/tx read {:.3} evicted {:.3} checkpointed {:.3} log pages/tx {:.3} bytes/tx {:.0} flushes {}",
        (s.pages_read - s0.pages_read) as f64 / d,
        (s.pages_evicted - s0.pages_evicted) as f64 / d,
        (s.pages_checkpointed - s0.pages_checkpointed) as f64 / d,
        (s.log.pages - s0.log.pages) as f64 / d,
        (s.log.bytes - s0.log.bytes) as f64 / d,
        s.log.flushes - s0.log.flushes
    );
    let w1 = s.store.written.since(&s0.store.written);
    println!(
        "WAF {:.4} user {} reloc {}; stalled {:?} conflicts {} pages {}",
        w1.waf(),
        w1.user,
        w1.relocations,
        s.stalled,
        s.conflicts,
        s.pages
    );
    for k in &r.kinds {
        println!(
            "  {:14} {} rb {} retries {} p50 {} p99 {} us",
            k.name,
            k.committed,
            k.rolled_back,
            k.retries,
            k.latency.value_at_quantile(0.5) / 1000,
            k.latency.value_at_quantile(0.99) / 1000
        );
    }
    if a.get(8).is_some() {
        for c in t.check(&db).unwrap() {
            println!("{:?}", c);
        }
    }
    db.close().unwrap();
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) / 100.0
}
