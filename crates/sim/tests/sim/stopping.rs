//! A sweep that is stopped returns the runs that had finished.

use frostline_placement::SchemeSpec;
use frostline_sim::{
    Outcomes, Plan, ReplayProgress, Settings, SimError, TraceVolume, replay, report, sweep,
};
use frostline_trace::{AccessPattern, Spec, Writes, generate, prepare};

fn volume() -> TraceVolume {
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages: 4096, writes: 100_000, fill: true, seed: 5 };
    let lbas = generate(&spec).unwrap().collect();
    TraceVolume::new(prepare(None, Writes { lbas, ..Writes::default() }, false).unwrap())
}

fn plan(runs: u32) -> Plan {
    let schemes: Vec<_> = (2..runs + 2).map(|n| format!("dac:classes={n}")).collect();
    let schemes: Vec<_> = schemes.iter().map(|text| SchemeSpec::parse(text).unwrap()).collect();
    Plan::new(&schemes, &["cost-benefit".to_string()], true).unwrap()
}

fn finished(outcomes: &[Outcomes]) -> usize {
    outcomes.iter().flat_map(|outcomes| outcomes.wanted.iter().flatten()).count()
}

#[test]
fn runs_that_have_finished_are_kept() {
    // Enough runs to last much longer than the first one alone.
    let (volumes, plan, settings) = ([volume()], plan(40), Settings::default());
    let progress = ReplayProgress::default();
    let one_at_a_time = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let outcomes = std::thread::scope(|scope| {
        scope.spawn(|| {
            while progress.writes() < volumes[0].all_writes() {
                std::thread::yield_now();
            }
            progress.stop();
        });
        one_at_a_time.install(|| sweep(&volumes, &plan, &settings, &progress)).unwrap()
    });
    let kept = finished(&outcomes);
    assert!((1..plan.wanted.len()).contains(&kept), "{kept}");
    let report = report(Vec::new(), &volumes, &plan, std::slice::from_ref(&settings), &outcomes);
    assert!(report.interrupted);
    assert_eq!(report.runs.len(), kept);
    let zone_pages = settings.zone_pages(&volumes).unwrap();
    let alone =
        replay(&volumes[0], &plan.wanted[0], &settings, zone_pages, &ReplayProgress::default());
    assert_eq!(report.runs[0].waf, alone.unwrap().counts.waf());
}

#[test]
fn a_sum_over_volumes_has_only_runs_that_finished_in_all() {
    let (volumes, plan, settings) = ([volume(), volume()], plan(2), Settings::default());
    let mut outcomes = sweep(&volumes, &plan, &settings, &ReplayProgress::default()).unwrap();
    assert!(
        !report(Vec::new(), &volumes, &plan, std::slice::from_ref(&settings), &outcomes)
            .interrupted
    );
    outcomes[1].wanted[0] = None;
    let report = report(Vec::new(), &volumes, &plan, std::slice::from_ref(&settings), &outcomes);
    let of = |volume: &str| {
        let runs = report.runs.iter().filter(|run| run.volume.as_deref() == Some(volume));
        runs.map(|run| run.scheme.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("all").len(), plan.wanted.len() - 1);
    assert!(!of("all").contains(&"dac:classes=2"));
    assert!(report.interrupted);
}

#[test]
fn a_stopped_run_says_so() {
    let (volume, plan, settings) = (volume(), plan(1), Settings::default());
    let progress = ReplayProgress::default();
    progress.stop();
    let stopped = replay(&volume, &plan.wanted[0], &settings, 256, &progress);
    assert_eq!(stopped.unwrap_err(), SimError::Stopped);
}
