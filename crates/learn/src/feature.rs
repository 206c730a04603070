//! A feature as a model sees it.

use serde::{Deserialize, Serialize};

/// A feature of a model: its scale in the samples, and its weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name, see [`Layout`](crate::Layout).
    pub name: String,
    /// Mean of the samples that the model was trained on.
    pub mean: f32,
    /// Their standard deviation; 0 if the feature was left out.
    pub deviation: f32,
    /// Weight of the standardised feature; a network has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
}
