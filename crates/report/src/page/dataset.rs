//! Groups of runs that can be compared with each other.

use frostline_results::{ALL_VOLUMES, RunRecord, RunReport};
use frostline_zone::Size;

use crate::matrix::Matrix;

/// Runs over the same trace with the same zones and trigger.
pub(super) struct Dataset<'a> {
    records: Vec<&'a RunRecord>,
    /// The runs by scheme and victim policy.
    pub(super) matrix: Matrix<'a>,
}

impl<'a> Dataset<'a> {
    /// All datasets, in the order of their traces. Runs over one of several volumes are left out.
    pub(super) fn all(records: &'a [RunRecord]) -> Vec<Dataset<'a>> {
        let is_whole = |volume: &str| volume == ALL_VOLUMES;
        let mut groups: Vec<Vec<&RunRecord>> = Vec::new();
        for record in records.iter().filter(|r| r.run.volume.as_deref().is_none_or(is_whole)) {
            match groups.iter_mut().find(|group| is_comparable(group[0], record)) {
                Some(group) => group.push(record),
                None => groups.push(vec![record]),
            }
        }
        let dataset = |records: Vec<&'a RunRecord>| {
            let matrix = Matrix::of(records.iter().map(|record| &record.run));
            Dataset { records, matrix }
        };
        groups.into_iter().map(dataset).collect()
    }

    /// The best run of each scheme, in the order of the matrix.
    pub(super) fn best(&self) -> Vec<&'a RunReport> {
        self.matrix.rows.iter().filter_map(|row| row.best_run()).collect()
    }

    /// The name of the trace or the workload.
    pub(super) fn title(&self) -> String {
        let first = self.records[0];
        match (&first.trace, &first.workload) {
            (Some(trace), _) => trace.path.clone(),
            (None, Some(workload)) => workload.clone(),
            (None, None) => "runs".to_string(),
        }
    }

    /// The trace, settings and versions behind the runs, one per line.
    pub(super) fn notes(&self) -> Vec<String> {
        let first = self.records[0];
        let mut notes = Vec::new();
        if let Some(trace) = &first.trace {
            let digest = trace.sha256.as_ref().map(|digest| format!(", SHA-256 {digest}"));
            notes.push(format!(
                "{} user writes to {} pages ({}){}",
                trace.user_writes,
                trace.unique_pages,
                trace.format,
                digest.unwrap_or_default()
            ));
        }
        notes.push(zones(first));
        if let Some(setup) = &first.setup {
            let preload = setup.preload.as_ref().map(|file| format!(", preload {}", file.path));
            notes.push(format!(
                "semantics {}, seed {}, warm-up {}{}",
                setup.semantics,
                setup.seed,
                setup.warmup,
                preload.unwrap_or_default()
            ));
        }
        let commit = first.commit.as_ref().map(|commit| format!(" ({commit})"));
        notes.push(format!("frostline {}{}", first.frostline, commit.unwrap_or_default()));
        if !first.command.is_empty() {
            notes.push(first.command.join(" "));
        }
        notes
    }
}

/// The zones and the trigger.
fn zones(record: &RunRecord) -> String {
    let run = &record.run;
    let page_bytes = record.setup.as_ref().map_or(4096, |setup| u64::from(setup.page_bytes));
    let figure = |(name, value): (&std::borrow::Cow<'_, str>, &f64)| format!("{name} {value}");
    let trigger: Vec<_> = run.trigger.iter().map(figure).collect();
    let zone = Size(u64::from(run.zone_pages) * page_bytes);
    format!("zones of {zone} ({} pages), {}", run.zone_pages, trigger.join(", "))
}

fn is_comparable(a: &RunRecord, b: &RunRecord) -> bool {
    let path = |record: &'_ RunRecord| record.trace.as_ref().map(|trace| trace.path.clone());
    path(a) == path(b)
        && a.workload == b.workload
        && a.setup == b.setup
        && a.run.zone_pages == b.run.zone_pages
        && a.run.trigger == b.run.trigger
}
