//! The report of a bench. Names of JSON fields are a contract: fields are added, never renamed.

use std::collections::BTreeMap;

use frostline_results::RunReport;
use frostline_store::{Stats, Store, StoreError, StoreInfo, Written};
use serde::Serialize;

/// The report of a bench. `S` is the part of its setup that is specific to the bench, `R` is a run.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport<S, R> {
    /// Version of the program.
    pub frostline: &'static str,
    /// The device, by URI.
    pub device: String,
    /// The device's zones, in words.
    pub shape: String,
    /// Name of the drive whose speed was imitated, if there is one.
    pub drive: Option<&'static str>,
    /// Limit of the device's bandwidth in bytes per second, if there is one.
    pub bandwidth: Option<u64>,
    /// The workload, in words.
    pub workload: String,
    /// The thread that cleaned: `background` or `inline`.
    pub cleaning: &'static str,
    /// The rest of the setup.
    #[serde(flatten)]
    pub setup: S,
    /// Seed of all random choices.
    pub seed: u64,
    /// True if the bench was stopped early; it counted until then.
    pub interrupted: bool,
    /// One run for each scheme; fewer after an early stop.
    pub runs: Vec<R>,
}

/// The statistics of a store, with its victims by garbage.
pub(crate) fn with_victims(store: &Store) -> Result<Stats, StoreError> {
    let mut stats = store.stats()?;
    stats.counts.victim_garbage = store.victim_garbage()?;
    Ok(stats)
}

/// The report of a store's work between two moments; the caller adds the time. The WAF includes
/// headers and checkpoints. A page counts as frozen if it was not written again until the later
/// moment.
pub(crate) fn of_store(info: &StoreInfo, before: &Stats, after: &Stats) -> RunReport {
    let counts = RunReport::in_units(&after.counts.since(&before.counts), unit_of(info));
    named(info, counts, after.written.since(&before.written), after)
}

/// The report of a store's work since it was opened, as benches have it.
///
/// # Errors
/// A thread of the store panicked.
pub fn since_opening(store: &Store) -> Result<RunReport, StoreError> {
    let stats = with_victims(store)?;
    let info = store.info()?;
    let counts = RunReport::in_units(&stats.counts, unit_of(&info));
    Ok(named(&info, counts, stats.written.since(&stats.opened), &stats))
}

/// Bytes of a store's unit, if pages are not written whole.
fn unit_of(info: &StoreInfo) -> Option<u32> {
    Some(info.unit).filter(|&unit| unit < 4096)
}

/// Counts of a store with what they are of.
fn named(info: &StoreInfo, counts: RunReport, written: Written, after: &Stats) -> RunReport {
    RunReport {
        user_writes: written.user,
        relocations: written.relocations,
        waf: written.waf(),
        gauges: after.gauges.iter().map(|&(name, value)| (name.into(), value)).collect(),
        peak_bytes: after.bytes as u64,
        scheme: info.scheme.clone(),
        victim: info.victim.clone(),
        zone_pages: info.zone_pages,
        trigger: BTreeMap::from([("gp".into(), info.gp)]),
        far: after.copied.map(|copied| copied.far()),
        ..counts
    }
}
