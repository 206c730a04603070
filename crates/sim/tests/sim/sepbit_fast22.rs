//! The simulator that the authors of SepBIT published with their FAST'22 paper wrote these numbers
//! of blocks; ours, under its semantics, writes the same.

use std::path::{Path, PathBuf};

use frostline_log::LogError;
use frostline_placement::SchemeSpec;
use frostline_placement::Semantics;
use frostline_sim::{
    Combination, Outcome, Plan, ReplayProgress, Settings, SimError, Space, TraceVolume, ZoneSize,
    replay, sweep,
};
use frostline_trace::{LoadOptions, load, prepare};

/// A row of the authors' results.
struct Cell {
    scheme: String,
    victim: &'static str,
    total_blocks: u64,
    cleanings: u64,
    mean_victim_gp: String,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn cells(trace: &str) -> Vec<Cell> {
    let text = std::fs::read_to_string(data("sepbit_blocks.csv")).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let cells = rows.filter(|row| row[0] == trace).map(|row| Cell {
        scheme: row[1].to_lowercase(),
        victim: if row[2] == "Greedy" { "greedy" } else { "cost-benefit" },
        total_blocks: row[7].parse().unwrap(),
        cleanings: row[8].parse().unwrap(),
        mean_victim_gp: row[9].to_string(),
    });
    cells.collect()
}

fn volume(name: &str) -> TraceVolume {
    let path = data(&format!("{name}.u32.zst"));
    let mut loaded = load(&path, &LoadOptions::default(), &mut |_| ()).unwrap();
    TraceVolume::new(prepare(None, loaded.volumes.remove(0), true).unwrap())
}

/// Every scheme of the table with both victim policies; returns how many cells are equal.
fn compare(trace: &str, zone_bytes: u64) -> usize {
    let cells = cells(trace);
    let settings = Settings {
        zone_size: ZoneSize::Bytes(zone_bytes),
        semantics: Semantics::SepbitFast22,
        ..Settings::default()
    };
    let volumes = [volume(trace)];
    let mut schemes: Vec<_> = cells.iter().map(|c| c.scheme.as_str()).collect();
    schemes.dedup();
    let schemes: Vec<_> = schemes.iter().map(|s| SchemeSpec::parse(s).unwrap()).collect();
    let victims = ["greedy".to_string(), "cost-benefit".to_string()];
    let plan = Plan::new(&schemes, &victims, false).unwrap();
    let outcomes = sweep(&volumes, &plan, &settings, &ReplayProgress::default()).unwrap();
    let outcome = |cell: &Cell| -> &Outcome {
        let mut runs = plan.wanted.iter().zip(outcomes[0].wanted.iter().flatten());
        runs.find(|(c, _)| c.scheme.text == cell.scheme && c.victim == cell.victim).unwrap().1
    };
    let mut wrong = Vec::new();
    for cell in &cells {
        let counts = &outcome(cell).counts;
        let total = counts.user_writes + counts.relocations;
        let equal = match cell.scheme.as_str() {
            // Its random numbers are not seeded in the authors' simulator.
            "multilog" => total.abs_diff(cell.total_blocks) * 100 <= cell.total_blocks,
            _ => {
                total == cell.total_blocks
                    && counts.cleanings == cell.cleanings
                    && format!("{:.4}", counts.mean_victim_gp()) == cell.mean_victim_gp
            }
        };
        if !equal {
            wrong.push(format!(
                "{} {}: {total} blocks, {} cleanings, not {}, {}",
                cell.scheme, cell.victim, counts.cleanings, cell.total_blocks, cell.cleanings
            ));
        }
    }
    println!("{trace}: {} of {} cells are equal", cells.len() - wrong.len(), cells.len());
    assert_eq!(wrong, [""; 0]);
    cells.len()
}

#[test]
fn small_zones_give_the_authors_block_counts_in_every_cell() {
    assert_eq!(compare("tiny_zipf10", 1 << 20), 28);
}

#[test]
fn large_zones_give_the_authors_block_counts_in_every_cell() {
    assert_eq!(compare("zipf10", 16 << 20), 28);
}

/// The error of a run of `nosep` under these settings.
fn refused(settings: &Settings) -> SimError {
    let scheme = SchemeSpec::parse("nosep").unwrap();
    let combination = Combination { scheme, victim: "greedy".to_string() };
    let settings = Settings { semantics: Semantics::SepbitFast22, ..settings.clone() };
    let volume = volume("tiny_zipf10");
    replay(&volume, &combination, &settings, 256, &ReplayProgress::default()).unwrap_err()
}

#[test]
fn six_zones_are_open_whatever_the_scheme_needs() {
    let limited = Settings { max_open: Some(5), ..Settings::default() };
    let SimError::Log { error, .. } = refused(&limited) else { panic!("another error") };
    assert_eq!(error, LogError::TooManyClasses { classes: 6, limit: 5 });
}

#[test]
fn a_fixed_capacity_is_refused() {
    let fixed = Settings { space: Space::Op(0.2), ..Settings::default() };
    assert!(matches!(refused(&fixed), SimError::SpaceInSemantics));
}
