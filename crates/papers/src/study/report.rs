//! The report of a model: its quality and its features.

use frostline_learn::{Feature, Model, Origin, Quality, RecordSource, SampleSplit};
use serde::Serialize;

/// The quality of a model, and its features.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// Kind of the model.
    pub model: &'static str,
    /// The trace of the evaluation.
    pub trace: String,
    /// The split into training and evaluation samples.
    pub split: SampleSplit,
    /// The records that the model uses.
    pub records: RecordSource,
    /// Writes of a page that the model looks at.
    pub history: usize,
    /// The score above which the model takes a page for frozen.
    pub threshold: f32,
    /// Its quality.
    pub quality: Quality,
    /// Its features.
    pub features: Vec<ModelFeature>,
    /// The samples that the model was trained on.
    pub trained_on: Origin,
}

/// A feature of a model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelFeature {
    /// Its name.
    pub name: String,
    /// Pearson's correlation with being frozen, over the evaluation samples.
    pub correlation: f64,
    /// Its weight; none for a network.
    pub weight: Option<f32>,
}

/// A flaw that makes a model useless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The model takes no page for frozen.
    NoPage,
    /// The pages that the model takes for frozen are all not frozen.
    OnlyOthers,
    /// The model takes every page for frozen.
    EveryPage,
}

impl ModelReport {
    /// The report of a model that was evaluated on samples of a trace.
    pub(super) fn new(
        model: &Model,
        trace: String,
        split: SampleSplit,
        quality: Quality,
        correlations: &[f64],
    ) -> ModelReport {
        let features = model.features().iter().zip(correlations);
        let row = |(feature, &correlation): (&Feature, &f64)| ModelFeature {
            name: feature.name.clone(),
            correlation,
            weight: feature.weight,
        };
        ModelReport {
            model: model.kind().name(),
            trace,
            split,
            records: model.layout().records(),
            history: model.layout().history(),
            threshold: model.threshold(),
            quality,
            features: features.map(row).collect(),
            trained_on: model.origin().clone(),
        }
    }

    /// The flaw of a useless model; `None` for a useful model.
    pub fn flaw(&self) -> Option<Flaw> {
        let Quality { recall, false_positive_rate, .. } = self.quality;
        match (recall, false_positive_rate) {
            (0.0, 0.0) => Some(Flaw::NoPage),
            (0.0, _) => Some(Flaw::OnlyOthers),
            (1.0, 1.0) => Some(Flaw::EveryPage),
            _ => None,
        }
    }
}
