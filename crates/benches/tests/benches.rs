//! Benches without the command: their results, their monitors, and their typed errors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use frostline_benches::{DatabaseBench, DeviceSpec, Error, Event, Monitor, StoreBench, YcsbBench};
use frostline_store::{Cleaning, Format, StoreError};
use frostline_trace::{LoadOptions, load};
use frostline_workload::ycsb::{NamedMix, YcsbOptions};
use frostline_workload::{linkbench, tpcc};

/// A store of 32 zones in memory.
fn small() -> StoreBench {
    let (bytes, zone_bytes) = (Some(8 << 20), Some(256 << 10));
    StoreBench {
        device: DeviceSpec { bytes, zone_bytes, ..DeviceSpec::default() },
        writes: Some(2000),
        cleaning: Cleaning::Inline,
        ..StoreBench::default()
    }
}

/// Records the names of events, and stops the bench at one of them.
#[derive(Default)]
struct Followed {
    seen: Mutex<Vec<String>>,
    stop_at: Option<&'static str>,
    stopped: AtomicBool,
}

impl Monitor for Followed {
    fn on(&self, event: Event<'_>) {
        let name = match event {
            Event::Step(step) => step.to_string(),
            Event::Progress { what, .. } => what.to_string(),
            Event::Recorded { writes, .. } => format!("{writes} recorded"),
            Event::Counted => "counted".to_string(),
            _ => return,
        };
        if self.stop_at == Some(&name) {
            self.stopped.store(true, Relaxed);
        }
        let mut seen = self.seen.lock().unwrap();
        if seen.last() != Some(&name) {
            seen.push(name);
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }
}

#[test]
fn a_monitor_follows_a_bench_and_equal_benches_relocate_equal_pages() {
    let followed = Followed::default();
    let (one, two) = (small().run(&followed).unwrap(), small().run(&()).unwrap());
    assert_eq!(*followed.seen.lock().unwrap(), ["filling", "counted"]);
    assert_eq!(one.runs[0].run.relocations, two.runs[0].run.relocations);
    assert!(one.runs[0].run.far.is_some_and(|far| far > 0.0));
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!((&json["threads"], &json["runs"][0]["user_writes"]), (&1.into(), &2000.into()));
}

#[test]
fn a_stop_before_the_store_is_filled_is_an_error() {
    let followed = Followed { stop_at: Some("filling"), ..Followed::default() };
    assert!(matches!(small().run(&followed), Err(Error::Stopped { .. })));
}

#[test]
fn a_stop_while_databases_are_loaded_gives_a_report_without_runs() {
    let followed = Followed { stop_at: Some("loading"), ..Followed::default() };
    let report =
        DatabaseBench::default().run(&linkbench::LinkBenchOptions { nodes: 20_000 }, &followed);
    let report = report.unwrap();
    assert!(report.interrupted && report.runs.is_empty());
}

#[test]
fn errors_are_typed() {
    let no_size = StoreBench { device: DeviceSpec::default(), ..small() };
    assert!(matches!(no_size.run(&()), Err(Error::NoSize { uri }) if uri == "mem:"));
    let gp = StoreBench { format: Format { gp: f64::NAN, ..Format::default() }, ..small() };
    assert!(matches!(gp.run(&()), Err(Error::GarbageProportion { .. })));
    let device = DeviceSpec { bytes: Some(1 << 20), ..small().device };
    let tiny = StoreBench { device, ..small() };
    let error = tiny.run(&()).unwrap_err();
    assert!(matches!(error, Error::Store { error: StoreError::TooSmall { .. }, .. }), "{error:?}");
    let kept = DatabaseBench { keep: true, ..DatabaseBench::default() };
    let kept = kept.run(&linkbench::LinkBenchOptions { nodes: 10 }, &());
    assert!(matches!(kept, Err(Error::NothingToKeep { .. })));
    let scale = tpcc::Scale { warehouses: 1, items: 3, customers: 20 };
    let bench = DatabaseBench { transactions: Some(1), ..DatabaseBench::default() };
    let error = bench.run(&tpcc::TpccOptions { scale, steady: false }, &()).unwrap_err();
    assert!(matches!(error, Error::Workload { .. }), "{error:?}");
}

#[test]
fn a_recorded_run_has_the_page_writes_that_were_counted_and_those_of_loading() {
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
    let followed = Followed::default();
    let report = bench.run(&YcsbBench { options, ..workload }, &followed).unwrap();
    let options = LoadOptions { hotness: true, ..LoadOptions::default() };
    let writes = load(&trace, &options, &mut |_| {}).unwrap().volumes.remove(0);
    let counted = writes.lbas.len() as u64 - report.runs[0].replay.warmup();
    assert_eq!(counted, report.runs[0].run.user_writes);
    assert!(followed.seen.lock().unwrap().contains(&format!("{} recorded", writes.lbas.len())));
}

/// Keeps the numbers of pages that each view had.
struct Viewer(Mutex<Vec<u64>>);

impl Monitor for Viewer {
    fn on(&self, event: Event<'_>) {
        if let Event::View(view) = event {
            self.0.lock().unwrap().push(view.written.user);
        }
    }

    fn views_every(&self) -> Option<Duration> {
        Some(Duration::from_millis(1))
    }
}

#[test]
fn a_monitor_that_wants_to_sees_the_store_while_it_is_filled_and_written() {
    let viewer = Viewer(Mutex::new(Vec::new()));
    StoreBench { seconds: Some(1), writes: None, ..small() }.run(&viewer).unwrap();
    let seen = viewer.0.into_inner().unwrap();
    assert!(seen.len() > 3 && seen.is_sorted(), "{seen:?}");
    assert!(seen[0] < seen[seen.len() - 1], "{seen:?}");

    let viewer = Viewer(Mutex::new(Vec::new()));
    let bench = DatabaseBench { transactions: Some(200), ..DatabaseBench::default() };
    bench.run(&linkbench::LinkBenchOptions { nodes: 2000 }, &viewer).unwrap();
    assert!(!viewer.0.into_inner().unwrap().is_empty());
}
