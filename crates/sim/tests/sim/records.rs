//! Pages whose records take as many units as the trace says.

use frostline_log::LogError;
use frostline_placement::registry::SCHEMES;
use frostline_placement::{SchemeSpec, Semantics};
use frostline_sim::{
    Combination, Outcome, ReplayProgress, Settings, SimError, Space, TraceVolume, replay,
};
use frostline_trace::{AccessPattern, Spec, Writes, generate, prepare};

const PAGES: u32 = 1 << 11;
const ZONE_PAGES: u32 = 32;

/// A filled volume that is overwritten; write `i` has `bytes(i)` bytes.
fn volume(bytes: impl Fn(u32) -> u16) -> TraceVolume {
    let kind = AccessPattern::Zipf { alpha: 0.9 };
    let spec = Spec { kind, pages: PAGES, writes: 20_000, fill: true, seed: 3 };
    let lbas: Vec<u32> = generate(&spec).unwrap().collect();
    let bytes = Some((0..lbas.len() as u32).map(bytes).collect());
    TraceVolume::new(prepare(None, Writes { lbas, bytes, ..Writes::default() }, true).unwrap())
}

fn run(volume: &TraceVolume, scheme: &str, settings: &Settings) -> Result<Outcome, SimError> {
    let scheme = SchemeSpec::parse(scheme).unwrap();
    let victim = scheme.victim.unwrap_or("cost-benefit").to_string();
    let combination = Combination { scheme, victim };
    replay(volume, &combination, settings, ZONE_PAGES, &ReplayProgress::default())
}

/// The outcome with units of `unit` bytes; `None` for a scheme that places whole pages only.
fn in_units(volume: &TraceVolume, scheme: &str, unit: u32, space: Space) -> Option<Outcome> {
    let settings = Settings { unit: Some(unit), space, ..Settings::default() };
    match run(volume, scheme, &settings) {
        Err(SimError::Log { error: LogError::WholePages, .. }) => None,
        outcome => Some(outcome.unwrap()),
    }
}

#[test]
fn records_that_take_whole_pages_are_placed_as_pages_are() {
    let volume = volume(|i| if i % 2 == 0 { 4096 } else { 4000 });
    for space in [Space::Gp(0.2), Space::Op(0.4)] {
        let mut alike = 0;
        for name in SCHEMES.iter().map(|entry| entry.info.name) {
            let Some(records) = in_units(&volume, name, 512, space) else { continue };
            let pages = run(&volume, name, &Settings { space, ..Settings::default() }).unwrap();
            let (a, b) = (&pages.counts, &records.counts);
            assert_eq!(
                (a.relocations, a.zones_reclaimed),
                (b.relocations, b.zones_reclaimed),
                "{name}"
            );
            assert_eq!((a.classes.as_slice(), a.waf()), (b.classes.as_slice(), b.waf()), "{name}");
            assert_eq!(b.user_units, 8 * a.user_writes);
            alike += 1;
        }
        assert!(alike > SCHEMES.len() / 2, "{alike}");
    }
}

#[test]
fn shorter_records_take_less_room_and_less_is_copied_of_them() {
    let volume = volume(|i| 1500 + (i % 500) as u16);
    let whole = run(&volume, "nosep", &Settings::default()).unwrap();
    let records = in_units(&volume, "nosep", 64, Space::Gp(0.15)).unwrap();
    let bytes = |units: u64| units * 64;
    let of_records = bytes(records.counts.user_units + records.counts.relocated_units);
    let of_pages = 4096 * (whole.counts.user_writes + whole.counts.relocations);
    assert!(2 * of_records < of_pages, "{of_records} {of_pages}");
    let user = bytes(records.counts.user_units);
    assert!((1500..2064).contains(&(user / records.counts.user_writes)), "{user}");
}

#[test]
fn a_unit_is_a_part_of_a_page_that_the_semantics_know() {
    let volume = volume(|_| 100);
    let refused = |unit, semantics| {
        Settings { unit: Some(unit), semantics, ..Settings::default() }.check().err()
    };
    for unit in [0, 100, 8, 8192] {
        let error = Some(SimError::Unit { unit, page: 4096 });
        assert_eq!(refused(unit, Semantics::Published), error);
    }
    assert_eq!(refused(64, Semantics::SepbitFast22), Some(SimError::UnitInSemantics));
    assert_eq!(refused(64, Semantics::Published), None);
    assert!(in_units(&volume, "multilog", 64, Space::Gp(0.15)).is_none());
}
