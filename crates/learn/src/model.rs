//! A trained model.

use serde::{Deserialize, Serialize};

use crate::{
    Feature, FeatureLayout, Gru, Linear, ModelKind, Network, Sampling, Scorer, Standard, Tiles,
};

/// The samples that a model was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The name of the trace, as it was given.
    pub trace: String,
    /// Samples in training.
    pub samples: usize,
    /// Frozen ones among them.
    pub frozen: usize,
    /// The way in which the samples were taken.
    pub sampling: Sampling,
}

/// A model that tells whether a page is frozen.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(crate) kind: ModelKind,
    pub(crate) layout: FeatureLayout,
    pub(crate) threshold: f32,
    pub(crate) bias: f32,
    pub(crate) features: Vec<Feature>,
    /// The network of a [`ModelKind::Gru`]; other kinds have none.
    pub(crate) network: Option<Network>,
    pub(crate) origin: Origin,
}

/// A model in use: it takes features that are not standardised.
#[derive(Clone, Debug, PartialEq)]
pub enum Trained {
    /// A weight for each feature.
    Linear(Linear),
    /// A network over a page's writes.
    Gru(Gru),
}

impl Scorer for Trained {
    fn score(&self, tiles: Tiles<'_>, scores: &mut [f32]) {
        match self {
            Trained::Linear(linear) => linear.score(tiles, scores),
            Trained::Gru(gru) => gru.score(tiles, scores),
        }
    }
}

impl Model {
    /// A linear model, from the weights of standardised features and the bias as the last value.
    pub(crate) fn of_weights(
        kind: ModelKind,
        layout: FeatureLayout,
        standard: &Standard,
        weights: &[f64],
        origin: Origin,
    ) -> Model {
        let bias = weights.last().copied().unwrap_or_default() as f32;
        let mut features = features(layout, standard);
        assert_eq!(weights.len(), features.len() + 1, "a weight for each feature, and the bias");
        for (feature, &weight) in features.iter_mut().zip(weights) {
            feature.weight = Some(if feature.deviation > 0.0 { weight as f32 } else { 0.0 });
        }
        Model { kind, layout, threshold: 0.0, bias, features, network: None, origin }
    }

    /// A network model, for standardised features, with the bias of its score.
    #[cfg(feature = "gru")]
    pub(crate) fn of_network(
        layout: FeatureLayout,
        standard: &Standard,
        (network, bias): (Network, f32),
        origin: Origin,
    ) -> Model {
        let (features, network) = (features(layout, standard), Some(network));
        Model { kind: ModelKind::Gru, layout, threshold: 0.0, bias, features, network, origin }
    }

    /// The model with another threshold: a page counts as frozen if its score is above the
    /// threshold. For logistic regression, 0 is a probability of one half.
    pub fn with_threshold(self, threshold: f32) -> Model {
        Model { threshold, ..self }
    }

    /// The features of the model.
    pub fn layout(&self) -> FeatureLayout {
        self.layout
    }

    /// The kind of the model.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// The score above which a page is taken for frozen.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// The score of a page with average features, if the model is linear.
    pub fn bias(&self) -> f32 {
        self.bias
    }

    /// The scale and the weight of each feature.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The samples that the model was trained on.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The model in use.
    pub fn scorer(&self) -> Trained {
        match &self.network {
            Some(network) => {
                Trained::Gru(Gru::new(network.clone(), self.layout, &self.features, self.bias))
            }
            None => Trained::Linear(self.linear()),
        }
    }

    /// The weights for features that are not standardised.
    fn linear(&self) -> Linear {
        let scaled = |f: &Feature| match f.weight {
            Some(weight) if f.deviation > 0.0 => weight / f.deviation,
            _ => 0.0,
        };
        let weights: Vec<f32> = self.features.iter().map(scaled).collect();
        let means = self.features.iter().zip(&weights).map(|(feature, w)| feature.mean * w);
        Linear { bias: self.bias - means.sum::<f32>(), weights }
    }

    /// True if the model has the parts that its kind needs, and all its scores will be numbers.
    pub(crate) fn is_sound(&self) -> bool {
        // No feature exceeds 65,535.
        let bounded = |value: &f32| value.abs() < 1e30;
        let Linear { weights, bias } = self.linear();
        let of_feature = |f: &Feature| {
            f.deviation >= 0.0
                && [Some(f.mean), f.weight].iter().flatten().all(bounded)
                && f.weight.is_none() == self.network.is_some()
        };
        let network = |network: &Network| network.is_sound(self.layout, &self.features);
        self.features.iter().all(of_feature)
            && weights.iter().chain([&bias, &self.bias, &self.threshold]).all(bounded)
            && self.network.is_some() == (self.kind == ModelKind::Gru)
            && self.network.as_ref().is_none_or(network)
    }
}

/// The features without weights.
pub(crate) fn features(layout: FeatureLayout, standard: &Standard) -> Vec<Feature> {
    let scales = [standard.means.len(), standard.deviations.len()];
    assert_eq!(scales, [layout.width(); 2], "each feature has a scale");
    let standard = standard.means.iter().zip(&standard.deviations);
    let feature = |(name, (&mean, &deviation)): (_, (&f64, &f64))| Feature {
        name,
        mean: mean as f32,
        deviation: deviation as f32,
        weight: None,
    };
    layout.names().into_iter().zip(standard).map(feature).collect()
}
