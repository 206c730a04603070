//! The simulator that the authors of MiDAS published with their FAST'24 paper comes to these write
//! amplifications with a Zipf trace; ours under its semantics comes within 3 %.

use frostline_placement::Semantics;
use frostline_placement::registry::SchemeSpec;
use frostline_sim::{Plan, Progress, Settings, Space, Volume, ZoneSize, sweep};
use frostline_trace::{Kind, Spec, Writes, generate, prepare};

/// Pages of a device of 10^9 bytes, in 2^30 bytes of flash.
const PAGES: u32 = 244_140;

/// Scheme, victim policy and the simulator's write amplification, the filling of the volume included:
/// device of 1 GB, segments of 2 MB, 26 writes a page by Zipf 1.0.
const PRINTED: [(&str, &str, f64); 5] = [
    ("midas", "cost-benefit", 4.6200),
    ("midas:sizes=pool", "cost-benefit", 4.4518),
    ("mida", "cost-benefit", 4.9261),
    ("sepgc", "cost-benefit", 5.1507),
    ("nosep", "greedy", 11.9907),
];

fn volume() -> Volume {
    let writes = u64::from(PAGES) * 26;
    let kind = Kind::Zipf { alpha: 1.0 };
    let spec = Spec { kind, pages: PAGES, writes, fill: true, seed: 20_240_227 };
    let lbas = generate(&spec).unwrap().collect();
    Volume::new(prepare(None, Writes { lbas, ..Writes::default() }, true).unwrap())
}

#[test]
fn write_amplification_is_within_three_percent_of_the_authors_simulator() {
    let volumes = [volume()];
    let settings = Settings {
        zone_size: ZoneSize::Bytes(2 << 20),
        space: Space::Op(0.0737),
        semantics: Semantics::MidasFast24,
        ..Settings::default()
    };
    let mut far = Vec::new();
    for (scheme, victim, printed) in PRINTED {
        let schemes = [SchemeSpec::parse(scheme).unwrap()];
        let plan = Plan::new(&schemes, &[victim.to_string()], false).unwrap();
        plan.check(&settings).unwrap();
        let outcomes = sweep(&volumes, &plan, &settings, &Progress::default()).unwrap();
        let waf = outcomes[0].wanted[0].as_ref().unwrap().counts.waf();
        println!("{scheme} {victim}: {waf:.4}, printed {printed}");
        if (waf / printed - 1.0).abs() > 0.03 {
            far.push((scheme, victim, waf, printed));
        }
    }
    assert_eq!(far, []);
}

#[test]
fn a_garbage_proportion_is_refused() {
    let settings = Settings { semantics: Semantics::MidasFast24, ..Settings::default() };
    let plan =
        Plan::new(&[SchemeSpec::parse("midas").unwrap()], &["greedy".into()], false).unwrap();
    let refused = plan.check(&settings).unwrap_err().to_string();
    assert!(refused.contains("over-provisioning"), "{refused}");
}
