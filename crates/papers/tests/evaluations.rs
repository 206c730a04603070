//! Evaluations and studies without the command, and their typed errors.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use frostline_benches::{DatabaseBench, Event, Monitor, YcsbBench};
use frostline_learn::{ModelKind, Sampling};
use frostline_papers::{Cell, Compared, Error, PAPERS, Reproduction, Session, Study, Training};
use frostline_store::Cleaning;
use frostline_trace::{AccessPattern, LoadOptions, Spec, generate, load};
use frostline_workload::ycsb::{NamedMix, YcsbOptions};

#[test]
fn a_recorded_run_trains_models() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("run.parquet");
    let workload = YcsbBench::new("f".parse::<NamedMix>().unwrap());
    let options = YcsbOptions { records: 3000, value_bytes: 100, ..workload.options };
    let bench = DatabaseBench {
        transactions: Some(3000),
        buffer_bytes: 256 << 10,
        cleaning: Cleaning::Inline,
        in_order: true,
        record: Some(trace.clone()),
        ..DatabaseBench::default()
    };
    bench.run(&YcsbBench { options, ..workload }, &()).unwrap();
    let options = LoadOptions { hotness: true, ..LoadOptions::default() };
    let writes = load(&trace, &options, &mut |_| {}).unwrap().volumes.remove(0);

    let study = Study { trace: "run".into(), writes, records: None, sampling: Sampling::default() };
    let training =
        Training { kind: ModelKind::Logistic, history: 2, only: Vec::new(), threshold: 0.0 };
    let (model, report) = study.clone().train(&training).unwrap();
    let evaluated = study.clone().evaluate(&model).unwrap();
    assert_eq!(report.quality.samples, evaluated.quality.samples);
    let compared = study.compare(Compared::Histories(ModelKind::Logistic)).unwrap();
    assert_eq!(compared.models.len(), frostline_learn::FeatureLayout::LONGEST);
}

/// Runs the evaluation of a paper at the smallest scale, except for parts without runs, on its own
/// traces and the given ones.
fn smallest(paper: &str, traces: Vec<PathBuf>) {
    let paper = PAPERS.iter().find(|known| known.name == paper).unwrap();
    let made_without_runs = ["probabilities", "top-shares"];
    let names: Vec<_> =
        paper.experiments().filter(|name| !made_without_runs.contains(name)).collect();
    let only = names.iter().map(ToString::to_string).collect();
    let how = Reproduction { scale: 0.01, seed: 1, timing: false, traces, only };
    let report = paper.run(&Session::new(&how, &())).unwrap();
    let found: Vec<_> = report.tables.iter().map(|table| table.name).collect();
    assert_eq!(found, ["traces"].into_iter().chain(names).collect::<Vec<_>>());
    for table in &report.tables {
        assert!(!table.rows.is_empty(), "{}", table.name);
        let numbers = table.rows.iter().flatten().filter(|cell| match cell {
            Cell::Number(number, _) | Cell::Share(number) => number.is_finite(),
            Cell::Text(text) => match table.name {
                "decisions" => text.contains("WAF"),
                "victims" => text == "greedy",
                _ => false,
            },
            _ => false,
        });
        assert!(numbers.count() > 0, "{}", table.markdown());
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{}", table.name);
    }
}

#[test]
fn the_evaluation_of_sepbit_has_numbers_in_each_table() {
    smallest("sepbit", Vec::new());
}

#[test]
fn the_evaluation_of_2r_has_numbers_in_each_table() {
    smallest("2r", Vec::new());
}

#[test]
fn the_evaluation_of_midas_has_numbers_in_each_table() {
    smallest("midas", Vec::new());
}

#[test]
fn the_evaluation_of_phftl_has_numbers_in_each_table_on_a_trace_that_is_given() {
    let scratch = tempfile::tempdir().unwrap();
    let trace = scratch.path().join("given.u32");
    let spec = Spec {
        kind: AccessPattern::Zipf { alpha: 1.0 },
        pages: 10_000,
        writes: 30_000,
        fill: true,
        seed: 1,
    };
    let bytes: Vec<u8> = generate(&spec).unwrap().flat_map(u32::to_le_bytes).collect();
    std::fs::write(&trace, bytes).unwrap();
    smallest("phftl", vec![trace]);
}

/// Stops what it follows when a database is loaded.
struct StopsAtLoading(AtomicBool);

impl Monitor for StopsAtLoading {
    fn on(&self, event: Event<'_>) {
        if let Event::Progress { what: "loading", .. } = event {
            self.0.store(true, Relaxed);
        }
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Relaxed)
    }
}

#[test]
fn an_evaluation_that_is_stopped_has_no_report() {
    let stopping = StopsAtLoading(AtomicBool::new(false));
    let how =
        Reproduction { scale: 0.01, seed: 1, timing: false, traces: Vec::new(), only: Vec::new() };
    for paper in PAPERS {
        let session = Session::new(&how, &stopping);
        assert!(matches!(paper.run(&session), Err(Error::Stopped { .. })), "{}", paper.name);
    }
}
