//! Models of frozen pages, trained on a trace's writes and evaluated on them.

mod report;

use frostline_learn::{
    FeatureLayout, Model, ModelKind, Quality, RecordSource, SampleSplit, Sampling, Set, Standard,
    correlations, train,
};
use frostline_sim::{
    Evaluation, Samples, Settings, TraceVolume, compare_features, compare_histories,
    compare_models, evaluate_two_r, sample,
};
use frostline_trace::{Writes, prepare};
use serde::Serialize;

use crate::{Error, Result};

pub use report::{Flaw, ModelFeature, ModelReport};

/// A trace's writes, to train models on and to evaluate them.
#[derive(Clone, Debug)]
pub struct Study {
    /// The name of the trace in reports.
    pub trace: String,
    /// Its writes, with hotness records if models are to use them.
    pub writes: Writes,
    /// The records that models use; if `None`, those of the engine if the writes have them.
    pub records: Option<RecordSource>,
    /// The way in which samples are taken.
    pub sampling: Sampling,
}

/// Options for training a model.
#[derive(Clone, Debug)]
pub struct Training {
    /// The kind of model.
    pub kind: ModelKind,
    /// Writes of a page that the model looks at.
    pub history: usize,
    /// Features that the model may use; all if empty.
    pub only: Vec<String>,
    /// The score above which the model takes a page for frozen.
    pub threshold: f32,
}

/// The difference between the models of a [`Comparison`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// All kinds of models that look at this many writes of a page, and the rules that need no
    /// training.
    Models(usize),
    /// Models of this kind that look at different numbers of a page's writes.
    Histories(ModelKind),
    /// Models of this kind that look at this many writes of a page, with one more feature at a
    /// time.
    Features(ModelKind, usize),
}

/// The evaluations of models that were trained on the same samples.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The trace.
    pub trace: String,
    /// The split into training and evaluation samples.
    pub split: SampleSplit,
    /// The records that the models use.
    pub records: RecordSource,
    /// Number of training samples.
    pub train_samples: usize,
    /// The models and rules.
    pub models: Vec<Evaluation>,
}

impl Study {
    /// Trains a model, and evaluates it.
    ///
    /// # Errors
    /// The writes have no hotness records but need them, or are too few; a feature is unknown; this
    /// build can't train this kind of model.
    pub fn train(self, how: &Training) -> Result<(Model, ModelReport)> {
        let (trace, split) = (self.trace.clone(), self.sampling.split);
        let samples = self.samples(how.history)?;
        let layout = samples.layout;
        let mut standard = Standard::of(&samples.train);
        if !how.only.is_empty() {
            standard = standard.only(layout, &how.only)?;
        }
        let model = train(how.kind, layout, &samples.train, &standard, samples.origin(&trace))?;
        let model = model.with_threshold(how.threshold);
        let report = evaluate(&model, trace, split, &samples.test);
        Ok((model, report))
    }

    /// Evaluates a model that was trained before.
    ///
    /// # Errors
    /// The model uses hotness records and the writes have none; the writes are too few.
    pub fn evaluate(self, model: &Model) -> Result<ModelReport> {
        let (trace, split) = (self.trace.clone(), self.sampling.split);
        let samples = self.samples_of(model.layout())?;
        Ok(evaluate(model, trace, split, &samples.test))
    }

    /// Trains models that differ in one thing, and evaluates them on the same samples. For
    /// [`Compared::Models`] it adds 2R's rule in a replay, unless the samples are of pages at some
    /// age.
    ///
    /// # Errors
    /// Those of [`Study::train`]; an error of the replay.
    pub fn compare(self, compared: Compared) -> Result<Comparison> {
        let (trace, split) = (self.trace.clone(), self.sampling.split);
        let history = match compared {
            Compared::Models(history) | Compared::Features(_, history) => history,
            Compared::Histories(_) => FeatureLayout::LONGEST,
        };
        let replayed = match compared {
            Compared::Models(_) if self.sampling.age == 0 => Some(replay_two_r(&self.writes)?),
            _ => None,
        };
        let samples = self.samples(history)?;
        let evaluated = match compared {
            Compared::Models(_) => compare_models(&samples),
            Compared::Histories(kind) => compare_histories(&samples, kind),
            Compared::Features(kind, _) => compare_features(&samples, kind),
        };
        Ok(Comparison {
            trace,
            split,
            records: samples.layout.records(),
            train_samples: samples.train.len(),
            models: evaluated?.into_iter().chain(replayed).collect(),
        })
    }

    fn samples(self, history: usize) -> Result<Samples> {
        let has_hotness = self.writes.hotness.is_some();
        let found = if has_hotness { RecordSource::Engine } else { RecordSource::Block };
        let layout = FeatureLayout::new(self.records.unwrap_or(found), history)?;
        self.samples_of(layout)
    }

    fn samples_of(self, layout: FeatureLayout) -> Result<Samples> {
        sample(self.writes, layout, &self.sampling).map_err(Error::sampling(&self.trace))
    }
}

fn evaluate(model: &Model, trace: String, split: SampleSplit, test: &Set) -> ModelReport {
    let quality = Quality::of(&model.scorer(), model.threshold(), test);
    ModelReport::new(model, trace, split, quality, &correlations(test))
}

/// 2R's rule in a replay with the default settings.
fn replay_two_r(writes: &Writes) -> Result<Evaluation> {
    let Writes { name, lbas, trims, starts, .. } = writes;
    let (lbas, trims, starts) = (lbas.clone(), trims.clone(), starts.clone());
    let writes = Writes { name: name.clone(), lbas, trims, starts, ..Writes::default() };
    let volume = [TraceVolume::new(prepare(None, writes, false)?)];
    let settings = Settings::default();
    Ok(evaluate_two_r(&volume[0], &settings, settings.zone_pages(&volume)?)?)
}
