//! The report of a model: its quality and its features.

use frostline_learn::{Feature, Model, Origin, Quality, Records, Split};
use serde::Serialize;

/// The quality of a model, and its features.
#[derive(Clone, Debug, Serialize)]
pub struct ModelReport {
    /// Kind of the model.
    pub model: &'static str,
    /// The trace that it was evaluated on.
    pub trace: String,
    /// The samples of the trace that it was evaluated on.
    pub split: Split,
    /// The records that it uses.
    pub records: Records,
    /// Writes of a page that it looks at.
    pub history: usize,
    /// The score above which it takes a page for frozen.
    pub threshold: f32,
    /// Its quality.
    pub quality: Quality,
    /// Its features.
    pub features: Vec<ModelFeature>,
    /// The samples that it was trained on.
    pub trained_on: Origin,
}

/// A feature of a model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelFeature {
    /// Its name.
    pub name: String,
    /// Pearson's correlation with being frozen, over the samples that the model was evaluated on.
    pub correlation: f64,
    /// Its weight; none in a network.
    pub weight: Option<f32>,
}

/// A flaw that makes a model useless as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It takes no page for frozen.
    NoPage,
    /// It takes no page for frozen that is.
    OnlyOthers,
    /// It takes every page for frozen.
    EveryPage,
}

impl ModelReport {
    /// Of a model that was evaluated on samples of a trace.
    pub(super) fn new(
        model: &Model,
        trace: String,
        split: Split,
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

    /// The flaw of a useless model; none if the model is of use.
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
