//! The counts of every scheme over a recorded trace, page for page: they equal those in
//! `golden.txt` and, for a trace with hotness records, in `golden_hotness.txt`. A change that moves
//! one of them must explain it.
//!
//! `FROSTLINE_BLESS=1 cargo test -p frostline-sim --test sim golden::` writes the tables anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use frostline_placement::SchemeSpec;
use frostline_placement::registry::SCHEMES;
use frostline_placement::{Semantics, victims::POLICIES};
use frostline_sim::{Plan, ReplayProgress, Settings, Space, TraceVolume, ZoneSize, sweep};
use frostline_trace::{LoadOptions, Writes, load, prepare};

/// Writes of the recorded trace that are replayed.
const WRITES: usize = 200_000;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The only volume of a trace, with everything that was recorded.
fn writes(path: &str) -> Writes {
    let options = LoadOptions { hotness: true, ..LoadOptions::default() };
    load(&repository(path), &options, &mut |_| ()).unwrap().volumes.remove(0)
}

fn volume(path: &str, most: usize) -> TraceVolume {
    let mut lbas = writes(path).lbas;
    lbas.truncate(most);
    TraceVolume::new(prepare(None, Writes { lbas, ..Writes::default() }, true).unwrap())
}

fn zone(kib: u64) -> Settings {
    Settings { zone_size: ZoneSize::Bytes(kib << 10), ..Settings::default() }
}

/// Runs all `schemes` with all `victims`, and adds a line for each to `table`.
fn add(
    table: &mut String,
    title: &str,
    volume: &TraceVolume,
    (schemes, victims): (&[&str], &[&str]),
    settings: &Settings,
) {
    let schemes: Vec<_> = schemes.iter().map(|text| SchemeSpec::parse(text).unwrap()).collect();
    let victims: Vec<_> = victims.iter().map(|name| name.to_string()).collect();
    let plan = Plan::new(&schemes, &victims, false).unwrap();
    let volumes = std::slice::from_ref(volume);
    let outcomes = sweep(volumes, &plan, settings, &ReplayProgress::default()).unwrap();
    writeln!(table, "{title}: user writes, relocations, of frozen pages, zones reclaimed").unwrap();
    for (run, outcome) in plan.wanted.iter().zip(&outcomes[0].wanted) {
        let c = &outcome.as_ref().unwrap().counts;
        let (scheme, victim) = (&run.scheme.text, &run.victim);
        let pages = format!("{} {:>8} {:>7}", c.user_writes, c.relocations, c.frozen_relocations);
        writeln!(table, "{scheme:<24} {victim:<18} {pages} {:>6}", c.zones_reclaimed).unwrap();
    }
}

/// The relocations of a scheme with cost-benefit in the first table that has them.
fn relocations(table: &str, scheme: &str) -> u64 {
    let mut lines = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines.find(|line| line[..2] == [scheme, "cost-benefit"]).unwrap()[3].parse().unwrap()
}

/// Checks that the table equals the file.
fn agrees(table: &str, file: &str) {
    let path = repository("crates/sim/tests").join(file);
    if std::env::var_os("FROSTLINE_BLESS").is_some() {
        std::fs::write(&path, table).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    let moved: Vec<_> =
        table.lines().zip(golden.lines()).filter(|(now, then)| now != then).collect();
    assert!(table == golden, "(now, before): {moved:#?}");
}

#[test]
fn every_scheme_relocates_and_reclaims_what_it_did_before() {
    let both = ["greedy", "cost-benefit"];
    let all: Vec<_> = SCHEMES.iter().map(|entry| entry.info.name).collect();
    let policies: Vec<_> = POLICIES.iter().map(|policy| policy.name).collect();
    let mut table = String::new();

    let recorded = volume("traces/mariadb-tpcc.u32.zst", WRITES);
    add(&mut table, "published, GP 15 %", &recorded, (&all, &both), &zone(512));
    let around = [
        "frozen:lifespan",
        "frozen:sfs",
        "frozen:warcip",
        "frozen:dac:separate=no",
        "frozen-perfect:dac",
    ];
    add(&mut table, "around another scheme", &recorded, (&around, &both[1..]), &zone(512));
    let of = |scheme| relocations(&table, scheme);
    assert!(of("frozen:lifespan") < of("sepbit"), "Frostline copies more than SepBIT");
    let fixed = Settings { space: Space::Op(0.2), ..zone(512) };
    let few = ["nosep", "sepbit", "frozen:lifespan", "frostline", "2r-fifo"];
    add(&mut table, "published, OP 20 %", &recorded, (&few, &policies), &fixed);

    let zipf = volume("tests/data/tiny_zipf10.u32.zst", usize::MAX);
    let fast22 = Settings { semantics: Semantics::SepbitFast22, ..zone(1 << 10) };
    let without_victim: Vec<_> =
        SCHEMES.iter().filter(|e| !e.chooses_victims()).map(|e| e.info.name).collect();
    add(&mut table, "sepbit-fast22", &zipf, (&without_victim, &policies), &fast22);

    agrees(&table, "golden.txt");
}

#[test]
fn schemes_that_recognise_frozen_pages_use_hotness_records_as_before() {
    let recorded = writes("traces/frostline-tpcc.parquet");
    assert!(recorded.hotness.is_some());
    let recorded = TraceVolume::new(prepare(None, recorded, true).unwrap());
    let schemes = [
        "sepbit",
        "dac",
        "lifespan",
        "sepfrozen-bit",
        "sepfrozen-dac",
        "frozen:lifespan",
        "frostline",
        "frozen:sepbit",
        "frozen:dac",
        "frozen-perfect:sepbit",
        "frozen-perfect:dac",
    ];
    let mut table = String::new();
    add(&mut table, "published, GP 15 %", &recorded, (&schemes, &["cost-benefit"]), &zone(128));
    let of = |scheme: &str| relocations(&table, scheme);
    assert!(of("frostline") < of("sepbit"), "Frostline copies more than SepBIT");
    for inner in ["sepbit", "dac"] {
        let (learned, perfect) = (format!("frozen:{inner}"), format!("frozen-perfect:{inner}"));
        assert!(of(&learned) < of(inner), "recognising frozen pages does not help {inner}");
        assert!(of(&perfect) <= of(&learned), "{inner} is better off without knowing the future");
    }
    agrees(&table, "golden_hotness.txt");
}
