//! Every scheme with every victim policy over every volume, with several settings, on all cores.

use rayon::prelude::*;

use crate::{Cell, Ledger, Outcome, Plan, ReplayProgress, Settings, SimError, TraceVolume, replay};

/// The outcomes of a plan's runs over one volume.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// Outcomes of [`Plan::wanted`], in that order; `None` where the run was stopped.
    pub wanted: Vec<Option<Outcome>>,
    /// Outcomes of [`Plan::references`], in that order. If one of them failed, only the gains
    /// measured against it are missing.
    pub references: Vec<Result<Outcome, SimError>>,
}

impl Outcomes {
    /// True if a run was stopped.
    pub fn is_cut_short(&self) -> bool {
        let stopped = |run: &Result<Outcome, SimError>| matches!(run, Err(SimError::Stopped));
        self.wanted.iter().any(Option::is_none) || self.references.iter().any(stopped)
    }
}

/// Replays every volume with every combination of the plan, on all cores. The outcomes are in the
/// order of the plan, for each volume in turn, whatever the number of cores. After
/// [`ReplayProgress::stop`] it soon returns, with the outcomes of the runs that have finished.
///
/// # Errors
/// The error of the first run in that order that was asked for and failed.
pub fn sweep(
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &Settings,
    progress: &ReplayProgress,
) -> Result<Vec<Outcomes>, SimError> {
    sweep_with(volumes, plan, std::slice::from_ref(settings), &(), progress)
}

/// A sweep, like [`sweep`], with each of several settings, of those runs that a ledger wants and
/// has no outcome of. All other runs count as stopped. The outcomes are settings by settings, for
/// each volume in turn.
///
/// # Errors
/// Those of [`sweep`].
pub fn sweep_with(
    volumes: &[TraceVolume],
    plan: &Plan,
    settings: &[Settings],
    ledger: &dyn Ledger,
    progress: &ReplayProgress,
) -> Result<Vec<Outcomes>, SimError> {
    let zone_pages = settings.iter().map(|one| one.zone_pages(volumes));
    let zone_pages = zone_pages.collect::<Result<Vec<_>, _>>()?;
    let over = (0..settings.len()).flat_map(|one| (0..volumes.len()).map(move |v| (one, v)));
    let over: Vec<_> = over.collect();
    let cell = |&(settings, volume)| plan.runs().map(move |run| Cell { settings, volume, run });
    let cells: Vec<_> = over.iter().flat_map(cell).collect();
    let outcomes: Vec<Result<Outcome, SimError>> = cells
        .into_par_iter()
        .enumerate()
        // One run at a time: runs are long, and their lengths differ a lot.
        .with_max_len(1)
        .map(|(number, cell)| {
            let volume = &volumes[cell.volume];
            if let Some(outcome) = ledger.known(cell) {
                progress.add(volume.words().len());
                return Ok(outcome);
            }
            if !ledger.is_wanted(number) {
                progress.add(volume.words().len());
                return Err(SimError::Stopped);
            }
            let (settings, zone_pages) = (&settings[cell.settings], zone_pages[cell.settings]);
            let outcome = replay(volume, cell.run, settings, zone_pages, progress)?;
            ledger.finished(cell, &outcome);
            Ok(outcome)
        })
        .collect();
    let mut all = outcomes.into_iter();
    let of_volume = |_| {
        let finished = |outcome| match outcome {
            Err(SimError::Stopped) => Ok(None),
            outcome => outcome.map(Some),
        };
        let wanted =
            all.by_ref().take(plan.wanted.len()).map(finished).collect::<Result<Vec<_>, _>>();
        // An error in `wanted` ends the sweep.
        let wanted = wanted?;
        Ok(Outcomes { wanted, references: all.by_ref().take(plan.references.len()).collect() })
    };
    over.iter().map(of_volume).collect()
}
