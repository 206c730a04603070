//! `frostline train` and `frostline model`: recognising frozen pages.

mod compare;
mod report;
mod samples;

use std::path::Path;

use frostline_learn::{
    Kind, LARGEST_FILE, LearnError, Model, Quality, Split, Standard, correlations, train,
};

use crate::args::{EvalArgs, ModelArg, ModelCommand, SplitArg, StudyArgs, TrainArgs};
use crate::failure::Failure;
use crate::output;
use report::Report;
use samples::{of_trace, sampling, split};

/// Trains a model, writes its file and tells how good it is.
pub fn train_model(args: &TrainArgs) -> Result<String, Failure> {
    let StudyArgs { trace, loading, records, json, quiet, .. } = &args.study;
    let outputs = [Some(args.output.as_path()), json.as_deref()];
    output::check("train", outputs.into_iter().flatten(), [trace])?;
    let kind = kind(args.model);
    kind.check()?;
    let how = sampling(&args.study.sampling, split(args.study.split));
    let history = args.history.history;
    let samples = of_trace("train", trace, loading, history, *records, &how, *quiet)?;
    let layout = samples.layout;
    let mut standard = Standard::of(&samples.train);
    if !args.only.is_empty() {
        standard = standard.only(layout, &args.only)?;
    }
    let origin = samples.origin(&trace.display().to_string());
    let model = train(kind, layout, &samples.train, &standard, origin)?;
    let model = model.with_threshold(args.threshold);
    let report = judge(&model, trace, how.split, &samples.test);
    output::write(&args.output, &model.write())?;
    if !quiet {
        report.warn("train");
    }
    output::emit("train", json.as_deref(), &report, || report.text())
}

/// Does what was asked of models.
pub fn model(command: &ModelCommand) -> Result<String, Failure> {
    match command {
        ModelCommand::Eval(args) => eval(args),
        ModelCommand::Compare(args) => compare::models(args),
        ModelCommand::Histories(args) => compare::histories(args),
        ModelCommand::Features(args) => compare::features(args),
    }
}

fn kind(arg: ModelArg) -> Kind {
    match arg {
        ModelArg::Sgd => Kind::Sgd,
        ModelArg::Logistic => Kind::Logistic,
        ModelArg::Svm => Kind::Svm,
        ModelArg::Gru => Kind::Gru,
    }
}

fn eval(args: &EvalArgs) -> Result<String, Failure> {
    output::check("model eval", args.json.as_deref(), [&args.model, &args.trace])?;
    let model = read(&args.model)?;
    let how = sampling(
        &args.sampling,
        match args.split {
            SplitArg::All => Split::All,
            SplitArg::Random => Split::Random,
            SplitArg::Time => Split::Time,
        },
    );
    let data = samples::of_layout(
        "model eval",
        &args.trace,
        &args.loading,
        model.layout(),
        &how,
        args.quiet,
    )?;
    let report = judge(&model, &args.trace, how.split, &data.test);
    if !args.quiet {
        report.warn("model eval");
    }
    output::emit("model eval", args.json.as_deref(), &report, || report.text())
}

fn judge(model: &Model, trace: &Path, split: Split, test: &frostline_learn::Set) -> Report {
    let quality = Quality::of(&model.scorer(), model.threshold(), test);
    Report::new(model, trace, split, quality, &correlations(test))
}

/// Reads a model, and of a longer file no more than shows that it is none.
pub fn read(path: &Path) -> Result<Model, Failure> {
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
