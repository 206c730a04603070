//! Replays of one workload with different schemes, victim policies, zone sizes and thresholds.

use std::sync::Arc;

use frostline_benches::Monitor;
use frostline_learn::Model;
use frostline_placement::SchemeSpec;
use frostline_results::RunReport;
use frostline_sim::{
    Evaluation, Plan, Settings, SimError, Space, TraceVolume, ZoneSize, evaluate_two_r, report,
};

use crate::Result;
use crate::reproduce::finished::FinishedRuns;
use crate::reproduce::going_on;
use crate::sweep::ledgered_sweep;

/// The paper's victim policy.
pub(super) const VICTIM: &str = "cost-benefit";
/// The paper's threshold: the garbage proportion above which the log is cleaned.
pub(super) const GP: f64 = 0.15;

/// The schemes of the paper's figures 11 and 12, 2R in the paper's description (`sepgc`: two zones,
/// for user writes and relocations), SepBIT's version of future knowledge, and ours.
pub(super) const SCHEMES: [&str; 15] = [
    "nosep",
    "sepgc",
    "2r-greedy",
    "2r-fifo",
    "warcip",
    "dac",
    "sepbit",
    "sepfrozen-dac",
    "sepfrozen-bit",
    "fk-kmeans",
    "fk",
    "frozen:sepbit",
    "lifespan",
    "frozen:lifespan",
    "frozen-perfect:sepbit",
];

/// The schemes of figures 15 to 17, and ours.
pub(super) const SEVEN: [&str; 10] = [
    "nosep",
    "sepgc",
    "warcip",
    "dac",
    "sepbit",
    "sepfrozen-dac",
    "sepfrozen-bit",
    "frozen:sepbit",
    "frozen:lifespan",
    "frozen-perfect:sepbit",
];

/// The steps from SepBIT to the bound.
pub(super) const STEPS: [(&str, &str); 9] = [
    ("sepbit", "nothing is recognised"),
    ("sepfrozen-bit", "learned on the way, above 0.5, in SepBIT's coldest class"),
    ("frozen:sepbit:confidence=0.5:tiers=1", "the same in a class of its own"),
    ("frozen:sepbit:tiers=1", "the same above 0.95"),
    ("frozen:sepbit", "tiers of certainty, each in a class of its own"),
    ("lifespan", "nothing is recognised, classes by expected lifespan"),
    ("frozen:lifespan", "the same with frozen pages in classes of their own"),
    ("frozen-perfect:sepbit:separate=no", "the future for a recogniser, in SepBIT's coldest class"),
    ("frozen-perfect:sepbit", "the future for a recogniser, in a class of its own"),
];

/// The scheme with a model that was trained beforehand.
pub(super) const OFF_LINE: &str = "sepfrozen-bit:recogniser=model";

/// Replays one workload several times.
pub(super) struct Matrix<'a> {
    volumes: [TraceVolume; 1],
    settings: Settings,
    zone_pages: u32,
    finished: FinishedRuns,
    monitor: &'a dyn Monitor,
}

impl<'a> Matrix<'a> {
    /// Replays of this volume, whose first `loading` writes are those of loading, in zones of
    /// `zone_pages` pages.
    pub(super) fn new(
        volume: TraceVolume,
        loading: u64,
        zone_pages: u32,
        seed: u64,
        monitor: &'a dyn Monitor,
    ) -> Self {
        let settings = Settings {
            zone_size: ZoneSize::Bytes(u64::from(zone_pages) * 4096),
            space: Space::Gp(GP),
            warmup: loading,
            window: (volume.user_writes() - loading).div_ceil(QUARTERS),
            seed,
            ..Settings::default()
        };
        Matrix {
            volumes: [volume],
            settings,
            zone_pages,
            finished: FinishedRuns::default(),
            monitor,
        }
    }

    /// Runs these schemes with the paper's settings, each also in quarters.
    pub(super) fn schemes(&self, schemes: &[&str]) -> Result<Vec<RunReport>> {
        self.sweep(schemes, VICTIM, &self.settings)
    }

    /// Runs these schemes with another victim policy.
    pub(super) fn with_victim(&self, schemes: &[&str], victim: &str) -> Result<Vec<RunReport>> {
        self.sweep(schemes, victim, &self.settings)
    }

    /// Runs these schemes with zones of `times` the size.
    pub(super) fn with_zones(&self, schemes: &[&str], times: f64) -> Result<Vec<RunReport>> {
        let bytes = (f64::from(self.zone_pages) * times) as u64 * 4096;
        let settings = Settings { zone_size: ZoneSize::Bytes(bytes), ..self.settings.clone() };
        self.sweep(schemes, VICTIM, &settings)
    }

    /// Runs these schemes with another threshold.
    pub(super) fn with_gp(&self, schemes: &[&str], gp: f64) -> Result<Vec<RunReport>> {
        self.sweep(schemes, VICTIM, &Settings { space: Space::Gp(gp), ..self.settings.clone() })
    }

    /// Runs these schemes with a model that was trained beforehand.
    pub(super) fn with_model(&self, schemes: &[&str], model: Model) -> Result<Vec<RunReport>> {
        let settings = Settings { model: Some(Arc::new(model)), ..self.settings.clone() };
        self.sweep(schemes, VICTIM, &settings)
    }

    /// Evaluates 2R's rule in a replay.
    pub(super) fn two_r(&self) -> Result<Evaluation> {
        Ok(evaluate_two_r(&self.volumes[0], &self.settings, self.zone_pages)?)
    }

    fn sweep(&self, schemes: &[&str], victim: &str, settings: &Settings) -> Result<Vec<RunReport>> {
        let specs = schemes.iter().map(|name| SchemeSpec::parse(name));
        let specs = specs.collect::<std::result::Result<Vec<_>, _>>().map_err(SimError::from)?;
        let plan = Plan::new(&specs, &[victim.to_string()], false)?;
        plan.check(settings)?;
        let ledger = self.finished.ledger(settings);
        let settings = std::slice::from_ref(settings);
        let outcomes = ledgered_sweep(&self.volumes, &plan, settings, &ledger, self.monitor)?;
        going_on(self.monitor)?;
        Ok(report(Vec::new(), &self.volumes, &plan, settings, &outcomes).runs)
    }
}

/// The number of a run's windows.
pub(super) const QUARTERS: u64 = 4;

/// The run of a scheme.
pub(super) fn of<'r>(runs: &'r [RunReport], scheme: &str) -> Option<&'r RunReport> {
    runs.iter().find(|run| run.scheme == scheme)
}
