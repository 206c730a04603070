//! The simulator behind the front door gives what the parts give.

use frostline::sim::{Settings, Trace, replay};

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
