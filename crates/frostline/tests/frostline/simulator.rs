//! The simulator behind the front door gives what the parts give.

use frostline::sim::{Settings, Trace, replay, sweep};

#[test]
fn a_trace_file_is_replayed_by_the_names_of_scheme_and_policy() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/tiny_zipf10.u32.zst");
    let trace = Trace::open(path).unwrap();
    let settings = Settings::default();
    let waf = |scheme| replay(&trace, scheme, "cost-benefit", &settings).unwrap().counts.waf();
    assert!(waf("nosep") > waf("sepbit"), "separation pays on a skewed trace");
    assert!(waf("sepbit") > waf("oracle-death"), "an oracle is better");
}

#[test]
fn unknown_names_and_files_are_errors() {
    let trace = Trace::of_pages(0..1000).unwrap();
    let settings = Settings::default();
    assert!(replay(&trace, "nonesuch", "greedy", &settings).is_err());
    assert!(replay(&trace, "sepbit", "nonesuch", &settings).is_err());
    assert!(Trace::open("no/such/file").is_err());
}

#[test]
fn a_sweep_has_every_scheme_with_every_policy_the_best_first() {
    let pages =
        (0..60_000u32).map(|n| n.wrapping_mul(2_654_435_761) >> if n % 2 == 0 { 24 } else { 20 });
    let (trace, settings) = (Trace::of_pages(pages).unwrap(), Settings::default());
    let named = ["nosep", "sepbit", "2r-greedy", "oracle-death"];
    let runs = sweep(&trace, &named, &["greedy", "cost-benefit"], &settings).unwrap();
    assert_eq!(runs.len(), 7, "one has its own victim side");
    assert!(runs.is_sorted_by(|a, b| a.outcome.counts.waf() <= b.outcome.counts.waf()));
    assert!(runs.iter().all(|run| run.is_oracle == (run.scheme == "oracle-death")));
    let alone = replay(&trace, "sepbit", "greedy", &settings).unwrap();
    let swept = runs.iter().find(|run| (&run.scheme[..], &run.victim[..]) == ("sepbit", "greedy"));
    assert_eq!(swept.unwrap().outcome.counts.waf(), alone.counts.waf());
    assert!(sweep(&trace, &["all"], &[], &settings).unwrap().len() > 20);
    assert!(sweep(&trace, &["nonesuch"], &[], &settings).is_err());
}
