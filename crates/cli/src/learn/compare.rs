//! `frostline model compare`, `histories` and `features`: models on the same samples.

use frostline_learn::{Layout, LearnError, Records, Split};
use frostline_sim::{
    Judged, Samples, Settings, Volume, ZONE, compare_features, compare_histories, compare_models,
    judge_two_r,
};
use frostline_trace::{Writes, prepare};
use serde::Serialize;

use super::kind;
use super::report::{QUALITY, quality_cells};
use super::samples::{load_for, of_writes, sampling, split};
use crate::args::{AddedArgs, CompareArgs, HistoriesArgs, StudyArgs};
use crate::failure::Failure;
use crate::{output, table};

#[derive(Serialize)]
struct Comparison {
    trace: String,
    split: Split,
    records: Records,
    train_samples: usize,
    models: Vec<Judged>,
}

/// What tells the rows of a table apart.
struct Rows {
    command: &'static str,
    heading: &'static str,
    /// Names a row, given its number.
    name: fn(usize, &Judged) -> String,
}

/// All models and rules.
pub fn models(args: &CompareArgs) -> Result<String, Failure> {
    let rows = Rows {
        command: "model compare",
        heading: "model",
        name: |_, judged| judged.model.to_string(),
    };
    let two_r = |writes: &Writes| match args.study.sampling.age {
        0 => replay_two_r(writes).map(Some),
        _ => Ok(None),
    };
    run(&args.study, args.history.history, &rows, two_r, compare_models)
}

/// A model by how far it looks back.
pub fn histories(args: &HistoriesArgs) -> Result<String, Failure> {
    let kind = kind(args.model);
    kind.check()?;
    let rows = Rows {
        command: "model histories",
        heading: "writes",
        name: |_, judged| judged.history.to_string(),
    };
    let judge = |samples: &Samples| compare_histories(samples, kind);
    run(&args.study, Layout::LONGEST as u8, &rows, |_| Ok(None), judge)
}

/// A model by its features.
pub fn features(args: &AddedArgs) -> Result<String, Failure> {
    let kind = kind(args.model);
    kind.check()?;
    let rows = Rows {
        command: "model features",
        heading: "features",
        name: |i, judged| {
            let plus = if i == 0 { "" } else { "+ " };
            judged.fields.last().map(|field| format!("{plus}{field}")).unwrap_or_default()
        },
    };
    let judge = |samples: &Samples| compare_features(samples, kind);
    run(&args.study, args.history.history, &rows, |_| Ok(None), judge)
}

fn run(
    args: &StudyArgs,
    history: u8,
    rows: &Rows,
    replayed: impl FnOnce(&Writes) -> Result<Option<Judged>, Failure>,
    judge: impl FnOnce(&Samples) -> Result<Vec<Judged>, LearnError>,
) -> Result<String, Failure> {
    let StudyArgs { trace, loading, records, quiet, .. } = args;
    output::check(rows.command, args.json.as_deref(), [trace])?;
    let how = sampling(&args.sampling, split(args.split));
    let writes = load_for(rows.command, trace, loading, *records, *quiet)?;
    let replayed = replayed(&writes)?;
    let samples = of_writes(trace, writes, history, *records, &how)?;
    let comparison = Comparison {
        trace: trace.display().to_string(),
        split: how.split,
        records: samples.layout.records(),
        train_samples: samples.train.len(),
        models: judge(&samples)?.into_iter().chain(replayed).collect(),
    };
    output::emit(rows.command, args.json.as_deref(), &comparison, || text(&comparison, rows))
}

/// 2R's rule in a replay with the settings that `frostline sim` has if nothing is said.
fn replay_two_r(writes: &Writes) -> Result<Judged, Failure> {
    let Writes { name, lbas, trims, starts, .. } = writes;
    let (lbas, trims, starts) = (lbas.clone(), trims.clone(), starts.clone());
    let writes = Writes { name: name.clone(), lbas, trims, starts, ..Writes::default() };
    let volume = [Volume::new(prepare(None, writes, false)?)];
    let settings = Settings::default();
    Ok(judge_two_r(&volume[0], &settings, settings.zone_pages(&volume)?)?)
}

fn text(comparison: &Comparison, rows: &Rows) -> String {
    let mut headings = vec![rows.heading];
    headings.extend(QUALITY);
    headings.extend(["training s", "inference us", "ns/page", "bytes/page"]);
    let cells = |(i, judged): (usize, &Judged)| {
        let mut cells = vec![(rows.name)(i, judged)];
        cells.extend(quality_cells(&judged.quality));
        cells.push(judged.train_seconds.map_or("-".to_string(), |s| format!("{s:.2}")));
        cells.push(format!("{:.1}", judged.inference_seconds * 1e6));
        cells.push(format!("{:.2}", judged.inference_seconds * 1e9 / ZONE as f64));
        cells.push(format!("{}", judged.bytes_per_page));
        cells
    };
    let Comparison { trace, train_samples, models, .. } = comparison;
    let by = match comparison.split {
        Split::All => "all",
        Split::Random => "random",
        Split::Time => "the later",
    };
    let judged = models.first().map_or(0, |judged| judged.quality.samples);
    let rows = models.iter().enumerate().map(cells).collect();
    format!(
        "{trace}: trained on {train_samples} samples, judged by {by} {judged}; inference of \
         {ZONE} pages\n\n"
    ) + &table::columns(&headings, 1, rows)
}
