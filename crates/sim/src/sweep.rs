//! Every scheme with every victim policy over every volume, on all cores.

use frostline_placement::Foresight;
use frostline_placement::registry::SchemeSpec;
use rayon::prelude::*;

use crate::{Combination, Outcome, Progress, Settings, SimError, Volume, replay};

/// The scheme whose gain is 0.
pub const BASELINE: &str = "nosep";

/// The scheme whose gain is 1.
pub const BOUND: &str = "oracle-rate-frozen";

/// The runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What was asked for.
    pub wanted: Vec<Combination>,
    /// What else must be run so that every gain is known.
    pub references: Vec<Combination>,
}

impl Plan {
    /// The runs of these schemes with these victim policies; with `gains` also the runs against
    /// which their gain is measured.
    ///
    /// # Errors
    /// Never in practice: the references are in the registry.
    pub fn new(schemes: &[SchemeSpec], victims: &[String], gains: bool) -> Result<Plan, SimError> {
        let wanted = Combination::cross(schemes, victims);
        let mut references = Vec::new();
        if gains {
            let yardsticks = [SchemeSpec::parse(BASELINE)?, SchemeSpec::parse(BOUND)?];
            references = Combination::cross(&yardsticks, victims);
            references.retain(|r| wanted.iter().all(|w| !same(w, r)));
        }
        Ok(Plan { wanted, references })
    }

    /// All runs, those that were asked for first.
    pub fn runs(&self) -> impl Iterator<Item = &Combination> {
        self.wanted.iter().chain(&self.references)
    }

    /// True if a run needs the lifespan of every write.
    pub fn needs_lifespans(&self) -> bool {
        self.runs().any(|c| c.scheme.entry.foresight == Foresight::Lifespans)
    }
}

fn same(a: &Combination, b: &Combination) -> bool {
    a.scheme.text == b.scheme.text && a.victim == b.victim
}

/// Replays every volume with every combination of the plan, on all cores. The outcomes are in
/// the order of the plan, for each volume in turn, whatever the number of cores.
///
/// # Errors
/// The first run in that order that failed.
pub fn sweep(
    volumes: &[Volume],
    plan: &Plan,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Vec<Outcome>>, SimError> {
    let zone_pages = settings.zone_pages(volumes)?;
    let runs: Vec<_> = volumes.iter().flat_map(|v| plan.runs().map(move |c| (v, c))).collect();
    let outcomes: Vec<Result<Outcome, SimError>> = runs
        .into_par_iter()
        // One at a time: runs are long and of very different lengths.
        .with_max_len(1)
        .map(|(volume, combination)| replay(volume, combination, settings, zone_pages, progress))
        .collect();
    let mut all = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter();
    let per_volume = plan.runs().count();
    Ok(volumes.iter().map(|_| all.by_ref().take(per_volume).collect()).collect())
}
