//! Runs that several experiments share are done once.

use std::sync::{Mutex, PoisonError};

use frostline_sim::{Cell, Combination, Ledger, Outcome, Settings};

/// The runs over one trace that were done so far.
#[derive(Debug, Default)]
pub(super) struct FinishedRuns(Mutex<Vec<FinishedRun>>);

#[derive(Debug)]
struct FinishedRun {
    settings: Settings,
    scheme: String,
    victim: String,
    outcome: Outcome,
}

impl FinishedRuns {
    /// The ledger of a sweep over the trace with these settings.
    pub(super) fn ledger<'a>(&'a self, settings: &'a Settings) -> TraceLedger<'a> {
        TraceLedger { finished: self, settings }
    }
}

/// The ledger of a sweep over one trace: it knows what earlier sweeps have done.
#[derive(Debug)]
pub(super) struct TraceLedger<'a> {
    finished: &'a FinishedRuns,
    settings: &'a Settings,
}

impl Ledger for TraceLedger<'_> {
    fn known(&self, cell: Cell<'_>) -> Option<Outcome> {
        let Combination { scheme, victim } = cell.run;
        let runs = self.finished.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |run: &&FinishedRun| {
            run.scheme == scheme.text && run.victim == *victim && run.settings == *self.settings
        };
        runs.iter().find(is_same).map(|run| run.outcome.clone())
    }

    fn finished(&self, Cell { run, .. }: Cell<'_>, outcome: &Outcome) {
        let run = FinishedRun {
            settings: self.settings.clone(),
            scheme: run.scheme.text.clone(),
            victim: run.victim.clone(),
            outcome: outcome.clone(),
        };
        self.finished.0.lock().unwrap_or_else(PoisonError::into_inner).push(run);
    }
}

#[cfg(test)]
mod tests {
    use frostline_placement::SchemeSpec;

    use super::*;

    #[test]
    fn a_run_is_known_only_with_its_scheme_its_victim_policy_and_all_its_settings() {
        let run = |scheme: &str, victim: &str| Combination {
            scheme: SchemeSpec::parse(scheme).unwrap(),
            victim: victim.to_string(),
        };
        fn cell(run: &Combination) -> Cell<'_> {
            Cell { settings: 0, volume: 0, run }
        }
        let (finished, settings) = (FinishedRuns::default(), Settings::default());
        let outcome = Outcome { replayed: 7, ..Outcome::default() };
        let done = run("sepbit:classes=5", "greedy");
        finished.ledger(&settings).finished(cell(&done), &outcome);
        let known = |settings: &Settings, scheme, victim| {
            let known = finished.ledger(settings).known(cell(&run(scheme, victim)));
            known.map(|outcome| outcome.replayed)
        };
        assert_eq!(known(&settings, "sepbit:classes=5", "greedy"), Some(7));
        assert_eq!(known(&settings, "sepbit", "greedy"), None);
        assert_eq!(known(&settings, "sepbit:classes=5", "cost-benefit"), None);
        let other = Settings { warmup: 1, ..settings };
        assert_eq!(known(&other, "sepbit:classes=5", "greedy"), None);
    }
}
