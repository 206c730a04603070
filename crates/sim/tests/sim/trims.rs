//! Trims of a trace are replayed at their place among the writes.

use frostline_placement::SchemeSpec;
use frostline_placement::registry::SCHEMES;
use frostline_sim::{Combination, Outcome, ReplayProgress, Settings, Space, TraceVolume, replay};
use frostline_trace::{AccessPattern, Spec, Trim, Writes, generate, prepare};

const PAGES: u32 = 1 << 11;
const ZONE_PAGES: u32 = 32;

/// A filled volume that is overwritten, with two trims of up to 16 pages after every hundred
/// writes.
fn trace() -> Writes {
    let kind = AccessPattern::Zipf { alpha: 0.9 };
    let spec = Spec { kind, pages: PAGES, writes: 20_000, fill: true, seed: 3 };
    let lbas: Vec<u32> = generate(&spec).unwrap().collect();
    let trim = |i: u32| {
        let first = i.wrapping_mul(2_654_435_761) % PAGES;
        Trim { at: 100 * (i as usize / 2), first, last: (first + i % 16).min(PAGES - 1) }
    };
    let trims = (0..lbas.len() as u32 / 50).map(trim).collect();
    Writes { lbas, trims, ..Writes::default() }
}

fn run(volume: &TraceVolume, scheme: &str, settings: &Settings) -> Outcome {
    let scheme = SchemeSpec::parse(scheme).unwrap();
    let victim = scheme.victim.unwrap_or("cost-benefit").to_string();
    let combination = Combination { scheme, victim };
    replay(volume, &combination, settings, ZONE_PAGES, &ReplayProgress::default()).unwrap()
}

#[test]
fn warm_up_and_windows_cut_a_trace_with_trims_without_changing_it() {
    let volume = TraceVolume::new(prepare(None, trace(), true).unwrap());
    for space in [Space::Gp(0.2), Space::Op(0.4)] {
        for entry in SCHEMES {
            let whole = Settings { space, ..Settings::default() };
            let cut = |warmup| Settings { warmup, window: 700, ..whole.clone() };
            let [all, first, late] =
                [whole.clone(), cut(0), cut(5000)].map(|s| run(&volume, entry.info.name, &s));
            assert_eq!(all.counts.relocations, first.counts.relocations, "{}", entry.info.name);
            let copied = |outcome: &Outcome| -> Vec<u64> {
                outcome.windows.iter().map(|w| w.relocations).collect()
            };
            assert_eq!(copied(&first).iter().sum::<u64>(), all.counts.relocations);
            assert_eq!(copied(&late).iter().sum::<u64>(), late.counts.relocations);
            assert_eq!(late.counts.user_writes, volume.all_writes() - 5000);
        }
    }
}

#[test]
fn what_is_trimmed_is_not_copied() {
    let copied = |writes: Writes| {
        let volume = TraceVolume::new(prepare(None, writes, false).unwrap());
        run(&volume, "nosep", &Settings::default()).counts
    };
    let trimmed = copied(trace());
    let kept = copied(Writes { trims: Vec::new(), ..trace() });
    assert!(trimmed.relocations < kept.relocations);
    // Each page is written, then all are trimmed, and so on: no page is ever copied.
    let lbas: Vec<u32> = (0..PAGES).cycle().take(10 * PAGES as usize).collect();
    let trim = |i| Trim { at: i * PAGES as usize, first: 0, last: PAGES - 1 };
    let writes = Writes { lbas, trims: (0..10).map(trim).collect(), ..Writes::default() };
    let counts = copied(writes);
    assert_eq!((counts.relocations, counts.frozen_relocations), (0, 0));
    assert!(counts.zones_reclaimed > 0);
}

#[test]
fn a_version_that_is_trimmed_is_not_frozen() {
    let frozen = |trims: Vec<Trim>| {
        let volume = TraceVolume::new(prepare(None, Writes { trims, ..trace() }, false).unwrap());
        run(&volume, "nosep", &Settings::default()).counts.frozen_relocations
    };
    assert!(frozen(Vec::new()) > 0);
    assert_eq!(frozen(vec![Trim { at: trace().lbas.len(), first: 0, last: PAGES - 1 }]), 0);
}

#[test]
fn a_preload_is_trimmed_before_the_first_write() {
    let writes = || Writes { lbas: (0..PAGES).collect(), ..Writes::default() };
    let trims = vec![Trim { at: 0, first: 0, last: PAGES - 1 }];
    let volume = prepare(Some(writes()), Writes { trims, ..writes() }, false).unwrap();
    let counts = run(&TraceVolume::new(volume), "nosep", &Settings::default()).counts;
    assert_eq!(counts.relocations, 0);
    assert!(counts.zones_reclaimed > 0);
}
