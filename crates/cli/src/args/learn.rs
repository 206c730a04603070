//! Arguments of `frostline train` and `frostline model`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, value_parser};
use frostline_learn::{ModelKind, RecordSource, SampleSplit, Sampling};
use frostline_papers::Training;

use super::reading::Loading;
use super::share::horizon;

/// `frostline train`
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// The file for the model
    #[arg(long, short, value_name = "MODEL")]
    pub output: PathBuf,
    /// The kind of model
    #[arg(long, value_name = "M", default_value = "sgd")]
    pub model: ModelArg,
    #[command(flatten)]
    pub history: HistoryArg,
    /// Use only these features, of all writes of the history [default: all]
    #[arg(long = "features", value_name = "A,B", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Take a page for frozen if its score is above this; with logistic regression, 0 is a
    /// probability of one half, 2.2 of 0.9
    #[arg(long, value_name = "SCORE", default_value_t = 0.0, value_parser = score,
        allow_negative_numbers = true)]
    pub threshold: f32,
}

impl TrainArgs {
    /// The training.
    pub(crate) fn training(&self) -> Training {
        Training {
            kind: self.model.into(),
            history: self.history.history.into(),
            only: self.only.clone(),
            threshold: self.threshold,
        }
    }
}

/// `frostline model`
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// Evaluate a model on a trace
    Eval(EvalArgs),
    /// Train all kinds of models on a trace, and compare them and the rules that need no training
    Compare(CompareArgs),
    /// Compare models by the number of a page's writes that they look at
    Histories(HistoriesArgs),
    /// Compare models by their features, with one more at a time
    Features(AddedArgs),
}

/// `frostline model eval`
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// The model
    pub model: PathBuf,
    /// The trace
    pub trace: PathBuf,
    #[command(flatten)]
    pub loading: Loading,
    /// The samples to evaluate on
    #[arg(long, value_name = "S", default_value = "all")]
    pub split: SplitArg,
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Print JSON instead of the table (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// `frostline model compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub history: HistoryArg,
}

/// `frostline model histories`
#[derive(Debug, Args)]
pub(crate) struct HistoriesArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    /// The kind of models
    #[arg(long, value_name = "M", default_value = "sgd")]
    pub model: ModelArg,
}

/// `frostline model features`
#[derive(Debug, Args)]
pub(crate) struct AddedArgs {
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub history: HistoryArg,
    /// The kind of models
    #[arg(long, value_name = "M", default_value = "sgd")]
    pub model: ModelArg,
}

/// The samples that models are trained on and evaluated on.
#[derive(Debug, Args)]
pub(crate) struct StudyArgs {
    /// The trace
    pub trace: PathBuf,
    #[command(flatten)]
    pub loading: Loading,
    /// The records of pages to use [default: the engine's, if the trace has hotness records]
    #[arg(long, value_name = "R")]
    pub records: Option<RecordsArg>,
    /// The samples for evaluation; the others are for training
    #[arg(long, value_name = "S", default_value = "random")]
    pub split: TrainSplitArg,
    #[command(flatten)]
    pub sampling: SamplingArgs,
    /// Print JSON instead of the table (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// The number of writes that models look at.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HistoryArg {
    /// Writes of a page to look at
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = value_parser!(u8).range(1..=4), allow_negative_numbers = true)]
    pub history: u8,
}

/// The way in which samples are taken.
#[derive(Debug, Args)]
pub(crate) struct SamplingArgs {
    /// The share of the trace that must follow a sample: later samples might be frozen or not
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = horizon,
        allow_negative_numbers = true)]
    pub horizon: f64,
    /// Sample pages that are still valid N user writes after they were written, and again whenever
    /// their age has doubled, as cleaning would; 0: once, when they are written
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub age: u32,
    /// The most samples to train on; a third of it is the most to evaluate on
    #[arg(long, value_name = "N", default_value_t = 3_000_000,
        value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub samples: u32,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
}

impl SamplingArgs {
    /// The sampling that the arguments ask for.
    pub(crate) fn sampling(&self, split: SampleSplit) -> Sampling {
        let SamplingArgs { horizon, age, samples, seed } = *self;
        Sampling { split, horizon, age, most: samples as usize, seed }
    }
}

/// A kind of model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelArg {
    /// Logistic regression by stochastic gradient descent
    Sgd,
    /// Logistic regression over all samples at once
    Logistic,
    /// A linear support vector machine
    Svm,
    /// A gated recurrent unit, if frostline was built with the feature gru
    Gru,
}

/// The samples that a model is evaluated on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitArg {
    /// All
    All,
    /// One in four, at random
    Random,
    /// The samples of the last quarter of the trace
    Time,
}

/// The samples that a model is evaluated on, if it is trained on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrainSplitArg {
    /// One in four, at random: training then knows what comes after them
    Random,
    /// The samples of the last quarter of the trace, which training does not know
    Time,
}

/// The source of a page's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RecordsArg {
    /// The block layer
    Block,
    /// The engine, in its hotness records
    Engine,
}

impl From<ModelArg> for ModelKind {
    fn from(arg: ModelArg) -> ModelKind {
        match arg {
            ModelArg::Sgd => ModelKind::Sgd,
            ModelArg::Logistic => ModelKind::Logistic,
            ModelArg::Svm => ModelKind::Svm,
            ModelArg::Gru => ModelKind::Gru,
        }
    }
}

impl From<SplitArg> for SampleSplit {
    fn from(arg: SplitArg) -> SampleSplit {
        match arg {
            SplitArg::All => SampleSplit::All,
            SplitArg::Random => SampleSplit::Random,
            SplitArg::Time => SampleSplit::Time,
        }
    }
}

impl From<TrainSplitArg> for SampleSplit {
    fn from(arg: TrainSplitArg) -> SampleSplit {
        match arg {
            TrainSplitArg::Random => SampleSplit::Random,
            TrainSplitArg::Time => SampleSplit::Time,
        }
    }
}

impl From<RecordsArg> for RecordSource {
    fn from(arg: RecordsArg) -> RecordSource {
        match arg {
            RecordsArg::Block => RecordSource::Block,
            RecordsArg::Engine => RecordSource::Engine,
        }
    }
}

fn score(text: &str) -> Result<f32, String> {
    match text.parse() {
        Ok(score) if (-1e6..=1e6).contains(&score) => Ok(score),
        Ok(_) => Err("must be from -1000000 to 1000000".to_string()),
        Err(_) => Err("must be a number".to_string()),
    }
}
