//! The report of a bench. Names of JSON fields are a contract: fields are added, never renamed.

use std::collections::BTreeMap;

use frostline_sim::RunReport;
use frostline_store::{Stats, StoreInfo};
use serde::Serialize;

/// The report of a bench: `S` is its own part of the setup, `R` a run.
#[derive(Clone, Debug, Serialize)]
pub struct BenchReport<S, R> {
    /// Version of the program.
    pub frostline: &'static str,
    /// The device, by URI.
    pub device: String,
    /// The device's zones, in words.
    pub shape: String,
    /// Name of the drive whose speed the device had, if it was made slower.
    pub drive: Option<&'static str>,
    /// Bytes a second that the device was held to.
    pub bandwidth: Option<u64>,
    /// The workload, in words.
    pub workload: String,
    /// The thread that cleaned: `background` or `inline`.
    pub cleaning: &'static str,
    /// The rest of the setup.
    #[serde(flatten)]
    pub setup: S,
    /// Seed of all chance.
    pub seed: u64,
    /// True if the bench was stopped early; it counted up to then.
    pub interrupted: bool,
    /// A run for each scheme. After an early stop there are fewer.
    pub runs: Vec<R>,
}

/// The work of a store from one moment to another; the caller adds the time that it took. The
/// WAF counts headers and checkpoints too. A page counts as frozen if it was not written again up to
/// the later moment.
pub(crate) fn of_store(info: &StoreInfo, before: &Stats, after: &Stats) -> RunReport {
    let written = after.written.since(&before.written);
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
        ..RunReport::of(&after.counts.since(&before.counts))
    }
}
