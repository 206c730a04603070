//! The simulator that the authors of MiDAS published with their FAST'24 paper printed these write
//! amplifications for Zipf traces. Ours, under its semantics, comes within 3 % if a model sizes the
//! groups, and within 0.2 % if they share a pool.

use frostline_placement::SchemeSpec;
use frostline_placement::Semantics;
use frostline_sim::{Plan, ReplayProgress, Settings, Space, TraceVolume, ZoneSize, sweep};
use frostline_trace::{AccessPattern, Spec, Writes, generate, prepare};

/// Pages of a device of 10^9 bytes.
const PAGES_1_GB: u32 = 244_140;
/// Pages of a device of 4 * 10^9 bytes.
const PAGES_4_GB: u32 = 976_562;
/// The over-provisioning of these devices.
const OP: f64 = 0.0737;
/// The over-provisioning of the smaller device without one of its 512 zones: even without hot pages
/// the simulator keeps the hot group's zone open.
const OP_WITHOUT_ONE: f64 = 0.0716;

/// A volume that is filled, and then written by Zipf 1.0, 26 writes a page.
fn volume(pages: u32) -> TraceVolume {
    let kind = AccessPattern::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages, writes: u64::from(pages) * 26, fill: true, seed: 20_240_227 };
    let lbas = generate(&spec).unwrap().collect();
    TraceVolume::new(prepare(None, Writes { lbas, ..Writes::default() }, true).unwrap())
}

/// Write amplification with zones of 2 MiB, the filling of the volume included.
fn waf(volume: &TraceVolume, op: f64, scheme: &str, victim: &str) -> f64 {
    let settings = Settings {
        zone_size: ZoneSize::Bytes(2 << 20),
        space: Space::Op(op),
        semantics: Semantics::MidasFast24,
        ..Settings::default()
    };
    let schemes = [SchemeSpec::parse(scheme).unwrap()];
    let plan = Plan::new(&schemes, &[victim.to_string()], false).unwrap();
    plan.check(&settings).unwrap();
    let volumes = std::slice::from_ref(volume);
    let outcomes = sweep(volumes, &plan, &settings, &ReplayProgress::default()).unwrap();
    outcomes[0].wanted[0].as_ref().unwrap().counts.waf()
}

fn is_within(share: f64, waf: f64, printed: f64) {
    println!("{waf:.4}, printed {printed}");
    assert!((waf / printed - 1.0).abs() < share, "{waf}, printed {printed}");
}

#[test]
fn a_pool_costs_what_the_authors_simulator_prints() {
    let volume = volume(PAGES_1_GB);
    let printed = [
        ("midas:sizes=pool", "cost-benefit", OP, 4.4518),
        ("mida", "cost-benefit", OP_WITHOUT_ONE, 4.9261),
        ("sepgc", "cost-benefit", OP_WITHOUT_ONE, 5.1507),
        ("nosep", "greedy", OP_WITHOUT_ONE, 11.9907),
    ];
    for (scheme, victim, op, printed) in printed {
        is_within(0.002, waf(&volume, op, scheme, victim), printed);
    }
}

/// The pool alone costs 3.80 and 5.83, which is not within 3 %.
#[test]
fn sized_groups_cost_what_the_authors_simulator_prints() {
    let volume = volume(PAGES_4_GB);
    is_within(0.03, waf(&volume, OP, "midas", "cost-benefit"), 3.6603);
    is_within(0.03, waf(&volume, OP, "midas", "greedy"), 4.0877);
}

#[test]
fn a_garbage_proportion_is_refused() {
    let settings = Settings { semantics: Semantics::MidasFast24, ..Settings::default() };
    let plan =
        Plan::new(&[SchemeSpec::parse("midas").unwrap()], &["greedy".into()], false).unwrap();
    let refused = plan.check(&settings).unwrap_err().to_string();
    assert!(refused.contains("over-provisioning"), "{refused}");
}
