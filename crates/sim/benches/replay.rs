//! User writes per second of CPU time and memory per page, scheme by scheme.
//!
//! `cargo bench -p frostline-sim --bench replay -- [PAGES [WRITES [SCHEME...]]]`
//! `cargo bench -p frostline-sim --bench replay -- TRACE [SCHEME...]`
//!
//! The trace is Zipf(1.0) in memory, over a volume that was filled before; zones are 16 MiB, and
//! cleaning starts at a garbage proportion of 15 %. Runs use one core. The figure is the better of
//! two repetitions, over the second half of the writes, when cleaning is in its steady state. For a
//! trace from a file, zones are about 1/128 of its volume.

use std::path::Path;

use frostline_placement::SchemeSpec;
use frostline_sim::{Combination, ReplayProgress, Settings, TraceVolume, ZoneSize, replay};
use frostline_trace::{AccessPattern, LoadOptions, Spec, generate, load, prepare};

const ZONE: ZoneSize = ZoneSize::Bytes(16 << 20);

fn volume(pages: u32, writes: u64) -> TraceVolume {
    let spec = |kind, writes, fill| Spec { kind, pages, writes, fill, seed: 11 };
    let fill = frostline_trace::Writes {
        lbas: generate(&spec(AccessPattern::Uniform, 0, true)).expect("a valid spec").collect(),
        ..Default::default()
    };
    let lbas =
        generate(&spec(AccessPattern::Zipf { alpha: 1.0 }, writes, false)).expect("a valid spec");
    let run = frostline_trace::Writes { lbas: lbas.collect(), ..Default::default() };
    TraceVolume::new(prepare(Some(fill), run, true).expect("LBAs in range"))
}

fn recorded(path: &Path) -> TraceVolume {
    let mut loaded = load(path, &LoadOptions::default(), &mut |_| {}).expect("a trace");
    let run = loaded.volumes.swap_remove(0);
    TraceVolume::new(prepare(None, run, true).expect("LBAs in range"))
}

fn measure(volume: &TraceVolume, scheme: &str, victim: &str, zone_size: ZoneSize) {
    let spec = SchemeSpec::parse(scheme).expect("a known scheme");
    let victim = spec.victim.unwrap_or(victim).to_string();
    let combination = Combination { scheme: spec, victim };
    let settings = Settings { zone_size, warmup: volume.user_writes() / 2, ..Settings::default() };
    let zone_pages = settings.zone_pages(std::slice::from_ref(volume)).expect("whole pages");
    let runs = (0..2).map(|_| {
        let progress = ReplayProgress::default();
        replay(volume, &combination, &settings, zone_pages, &progress).expect("room")
    });
    let best = runs.max_by(|a, b| a.writes_per_cpu_second.total_cmp(&b.writes_per_cpu_second));
    let Some(best) = best else { return };
    println!(
        "{:<20} {:<14} {:>7.1} M/s {:>6.1} ns/page written  WAF {:.4}  {:>5.1} B/page",
        scheme,
        combination.victim,
        best.writes_per_cpu_second / 1e6,
        1e9 / best.writes_per_cpu_second / best.counts.waf(),
        best.counts.waf(),
        best.peak_bytes as f64 / f64::from(volume.unique_pages()),
    );
}

fn main() {
    // Cargo passes --bench.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let Some(path) = args.first().map(Path::new).filter(|path| path.exists()) {
        let volume = recorded(path);
        println!("{}: {} writes", path.display(), volume.user_writes());
        args[1..].iter().for_each(|s| measure(&volume, s, "cost-benefit", ZoneSize::Auto));
        return;
    }
    let pages = args.first().map_or(2_621_440, |a| a.parse().expect("PAGES is a number"));
    let writes = args.get(1).map_or(30_000_000, |a| a.parse().expect("WRITES is a number"));
    let volume = volume(pages, writes);
    println!("{pages} pages, {writes} writes, Zipf 1.0, zones of 16 MiB, GP 15 %");
    let headline = [
        ("nosep", "greedy"),
        ("sepgc", "greedy"),
        ("sepbit", "cost-benefit"),
        ("dac", "cost-benefit"),
    ];
    let named = args.get(2..).unwrap_or_default();
    if !named.is_empty() {
        named.iter().for_each(|scheme| measure(&volume, scheme, "cost-benefit", ZONE));
        return;
    }
    headline.iter().for_each(|(scheme, victim)| measure(&volume, scheme, victim, ZONE));
    let headline = |name: &str| headline.iter().any(|h| h.0 == name);
    for entry in frostline_placement::registry::SCHEMES {
        if !headline(entry.info.name) {
            measure(&volume, entry.info.name, "cost-benefit", ZONE);
        }
    }
}
