//! Every scheme with every victim policy over every volume, on all cores.

use rayon::prelude::*;

use crate::{Outcome, Plan, Progress, Settings, SimError, TraceVolume, replay};

/// The outcomes of a plan's runs over one volume.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Of [`Plan::wanted`], in that order; none where the run was stopped.
    pub wanted: Vec<Option<Outcome>>,
    /// Of [`Plan::references`], in that order. One that can't be run takes the gains with it, and
    /// nothing else.
    pub references: Vec<Result<Outcome, SimError>>,
}

impl Outcomes {
    /// True if a run was stopped.
    pub fn is_cut_short(&self) -> bool {
        let stopped = |run: &Result<Outcome, SimError>| matches!(run, Err(SimError::Stopped));
        self.wanted.iter().any(Option::is_none) || self.references.iter().any(stopped)
    }
}

/// Replays every volume with every combination of the plan, on all cores. The outcomes are in
/// the order of the plan, for each volume in turn, whatever the number of cores. After
/// [`Progress::stop`] those of the runs that have finished are returned soon.
///
/// # Errors
/// The first run in that order that was asked for and failed.
pub fn sweep(
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &Settings,
    progress: &Progress,
) -> Result<Vec<Outcomes>, SimError> {
    let zone_pages = settings.zone_pages(volumes)?;
    let runs: Vec<_> = volumes.iter().flat_map(|v| plan.runs().map(move |c| (v, c))).collect();
    let outcomes: Vec<Result<Outcome, SimError>> = runs
        .into_par_iter()
        // One at a time: runs are long and of very different lengths.
        .with_max_len(1)
        .map(|(volume, combination)| replay(volume, combination, settings, zone_pages, progress))
        .collect();
    let mut all = outcomes.into_iter();
    let of_volume = |_| {
        let finished = |outcome| match outcome {
            Err(SimError::Stopped) => Ok(None),
            outcome => outcome.map(Some),
        };
        let wanted =
            all.by_ref().take(plan.wanted.len()).map(finished).collect::<Result<Vec<_>, _>>();
        // An error ends `wanted` early, and the sweep with it.
        let wanted = wanted?;
        Ok(Outcomes { wanted, references: all.by_ref().take(plan.references.len()).collect() })
    };
    volumes.iter().map(of_volume).collect()
}
