//! `frostline train` and `frostline model`: recognition of frozen pages.

mod text;
mod trace;

use std::path::Path;

use frostline_learn::{LARGEST_FILE, LearnError, Model, ModelKind, RecordSource};
use frostline_papers::{Compared, ModelReport, Study};

use self::text::{Rows, comparison, model_report, warn};
use crate::args::{
    AddedArgs, CompareArgs, EvalArgs, HistoriesArgs, ModelCommand, StudyArgs, TrainArgs,
};
use crate::cause::paper_failure;
use crate::failure::Failure;
use crate::output;

/// Trains a model, writes its file and prints its quality.
pub(crate) fn train_model(args: &TrainArgs) -> Result<String, Failure> {
    const COMMAND: &str = "train";
    let StudyArgs { trace, json, quiet, .. } = &args.study;
    let outputs = [Some(args.output.as_path()), json.as_deref()];
    output::check(COMMAND, outputs.into_iter().flatten(), [trace])?;
    let training = args.training();
    training.kind.check()?;
    let trained = study(COMMAND, &args.study)?.train(&training);
    let (model, report) = trained.map_err(|error| paper_failure(COMMAND, error))?;
    output::write(&args.output, &model.write())?;
    emit(COMMAND, json.as_deref(), *quiet, &report)
}

/// Runs a `frostline model` subcommand.
pub(crate) fn model(command: &ModelCommand) -> Result<String, Failure> {
    match command {
        ModelCommand::Eval(args) => eval(args),
        ModelCommand::Compare(args) => models(args),
        ModelCommand::Histories(args) => histories(args),
        ModelCommand::Features(args) => features(args),
    }
}

fn eval(args: &EvalArgs) -> Result<String, Failure> {
    const COMMAND: &str = "model eval";
    output::check(COMMAND, args.json.as_deref(), [&args.model, &args.trace])?;
    let model = read(&args.model)?;
    let has_hotness = model.layout().records() == RecordSource::Engine;
    let study = Study {
        trace: args.trace.display().to_string(),
        writes: trace::load(COMMAND, &args.trace, &args.loading, has_hotness, args.quiet)?,
        records: None,
        sampling: args.sampling.sampling(args.split.into()),
    };
    let report = study.evaluate(&model).map_err(|error| paper_failure(COMMAND, error))?;
    emit(COMMAND, args.json.as_deref(), args.quiet, &report)
}

fn emit(
    command: &str,
    json: Option<&Path>,
    quiet: bool,
    report: &ModelReport,
) -> Result<String, Failure> {
    if !quiet {
        warn(command, report);
    }
    output::emit(command, json, report, || model_report(report))
}

/// Compares all models and rules.
fn models(args: &CompareArgs) -> Result<String, Failure> {
    let rows = Rows {
        command: "model compare",
        heading: "model",
        name: |_, evaluated| evaluated.model.to_string(),
    };
    compare(&args.study, Compared::Models(args.history.history.into()), &rows)
}

/// Compares models by the length of their history.
fn histories(args: &HistoriesArgs) -> Result<String, Failure> {
    let kind = ModelKind::from(args.model);
    kind.check()?;
    let rows = Rows {
        command: "model histories",
        heading: "writes",
        name: |_, evaluated| evaluated.history.to_string(),
    };
    compare(&args.study, Compared::Histories(kind), &rows)
}

/// Compares models by their features.
fn features(args: &AddedArgs) -> Result<String, Failure> {
    let kind = ModelKind::from(args.model);
    kind.check()?;
    let rows = Rows {
        command: "model features",
        heading: "features",
        name: |i, evaluated| {
            let plus = if i == 0 { "" } else { "+ " };
            evaluated.fields.last().map(|field| format!("{plus}{field}")).unwrap_or_default()
        },
    };
    compare(&args.study, Compared::Features(kind, args.history.history.into()), &rows)
}

fn compare(args: &StudyArgs, compared: Compared, rows: &Rows) -> Result<String, Failure> {
    output::check(rows.command, args.json.as_deref(), [&args.trace])?;
    let found = study(rows.command, args)?.compare(compared);
    let found = found.map_err(|error| paper_failure(rows.command, error))?;
    output::emit(rows.command, args.json.as_deref(), &found, || comparison(&found, rows))
}

/// Reads the trace of a command.
fn study(command: &str, args: &StudyArgs) -> Result<Study, Failure> {
    let StudyArgs { trace, loading, quiet, .. } = args;
    let records = args.records.map(RecordSource::from);
    Ok(Study {
        trace: trace.display().to_string(),
        writes: trace::load(command, trace, loading, records != Some(RecordSource::Block), *quiet)?,
        records,
        sampling: args.sampling.sampling(args.split.into()),
    })
}

/// Reads a model. A file that is too long is not read completely, only refused.
pub(crate) fn read(path: &Path) -> Result<Model, Failure> {
    use std::io::Read;
    let unreadable =
        |why: &dyn std::fmt::Display| Failure::usage(&path.display().to_string(), &why.to_string());
    let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    Model::read(&bytes).map_err(|error| {
        let failure = unreadable(&error);
        match error {
            LearnError::NotAModel(_) => failure.hint("frostline train makes models"),
            _ => failure,
        }
    })
}
