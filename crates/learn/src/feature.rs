//! A feature as a model sees it.

use serde::{Deserialize, Serialize};

/// A feature of a model: its scale in the samples, and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name, see [`FeatureLayout`](crate::FeatureLayout).
    pub name: String,
    /// Mean over the training samples.
    pub mean: f32,
    /// Standard deviation over the training samples; 0 if the feature was left out.
    pub deviation: f32,
    /// Weight of the standardised feature; `None` for a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
}
