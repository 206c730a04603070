//! A trained model, and its file.

use serde::{Deserialize, Serialize};

use crate::{Kind, Layout, LearnError, Linear, Records, Sampling, Standard};

/// The version of the file.
const VERSION: u32 = 1;
/// The most bytes of a file that are looked at.
pub const LARGEST_FILE: usize = 1 << 16;

/// What a model was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// The trace, as it was named.
    pub trace: String,
    /// Samples that it was trained on.
    pub samples: usize,
    /// How many of them are frozen.
    pub frozen: usize,
    /// How they were taken.
    pub sampling: Sampling,
}

/// What a model makes of a feature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// Its name, see [`Layout`].
    pub name: String,
    /// Mean of the samples that the model was trained on.
    pub mean: f32,
    /// Their standard deviation; 0 if the feature was left out.
    pub deviation: f32,
    /// Weight of the standardised feature.
    pub weight: f32,
}

/// A linear model of whether a page is frozen.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    kind: Kind,
    layout: Layout,
    threshold: f32,
    bias: f32,
    features: Vec<Feature>,
    origin: Origin,
}

/// The file: JSON with these fields.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    frostline_model: u32,
    model: Kind,
    records: Records,
    history: usize,
    threshold: f32,
    bias: f32,
    features: Vec<Feature>,
    trained_on: Origin,
}

/// The field that all versions of the file have.
#[derive(Deserialize)]
struct Versioned {
    frostline_model: u32,
}

impl Model {
    pub(crate) fn new(
        kind: Kind,
        layout: Layout,
        standard: &Standard,
        weights: &[f64],
        origin: Origin,
    ) -> Model {
        let names = layout.names().into_iter();
        let bias = weights.last().copied().unwrap_or_default() as f32;
        let of_each = standard.means.iter().zip(&standard.deviations).zip(weights);
        let feature = |(name, ((&mean, &deviation), &weight)): (_, ((&f64, &f64), &f64))| Feature {
            name,
            mean: mean as f32,
            deviation: deviation as f32,
            weight: if deviation > 0.0 { weight as f32 } else { 0.0 },
        };
        let features = names.zip(of_each).map(feature).collect();
        Model { kind, layout, threshold: 0.0, bias, features, origin }
    }

    /// The same with another threshold: a page passes for frozen if its score is above it. Of
    /// logistic regression, 0 is a probability of one half.
    pub fn with_threshold(self, threshold: f32) -> Model {
        Model { threshold, ..self }
    }

    /// Its features.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How it was trained.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The score above which a page passes for frozen.
    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// The score of a page with average features.
    pub fn bias(&self) -> f32 {
        self.bias
    }

    /// What it makes of each feature.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// What it was trained on.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The model as it is applied: to features as they come.
    pub fn linear(&self) -> Linear {
        let weight = |f: &Feature| if f.deviation > 0.0 { f.weight / f.deviation } else { 0.0 };
        let weights: Vec<f32> = self.features.iter().map(weight).collect();
        let means = self.features.iter().zip(&weights).map(|(feature, w)| feature.mean * w);
        Linear { bias: self.bias - means.sum::<f32>(), weights }
    }

    /// The file.
    pub fn write(&self) -> String {
        let file = File {
            frostline_model: VERSION,
            model: self.kind,
            records: self.layout.records(),
            history: self.layout.history(),
            threshold: self.threshold,
            bias: self.bias,
            features: self.features.clone(),
            trained_on: self.origin.clone(),
        };
        // Only a map with keys that are no strings, or a writer, can fail.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`LearnError::NotAModel`] if it is longer than [`LARGEST_FILE`], not what
    /// [`Model::write`] writes, or has numbers with which nothing can be computed;
    /// [`LearnError::Version`].
    pub fn read(bytes: &[u8]) -> Result<Model, LearnError> {
        let bad = |why: String| LearnError::NotAModel(why);
        if bytes.len() > LARGEST_FILE {
            return Err(bad(format!("longer than {LARGEST_FILE} bytes")));
        }
        let parse_error = |e: serde_json::Error| bad(e.to_string());
        let version: Versioned = serde_json::from_slice(bytes).map_err(parse_error)?;
        if version.frostline_model != VERSION {
            return Err(LearnError::Version(version.frostline_model));
        }
        let file: File = serde_json::from_slice(bytes).map_err(parse_error)?;
        let layout = Layout::new(file.records, file.history).map_err(|e| bad(e.to_string()))?;
        if !layout.names().iter().eq(file.features.iter().map(|feature| &feature.name)) {
            return Err(bad(format!("its features must be {}", layout.names().join(" "))));
        }
        let File { model: kind, threshold, bias, features, trained_on: origin, .. } = file;
        let model = Model { kind, layout, threshold, bias, features, origin };
        match model.is_sound() {
            true => Ok(model),
            false => Err(bad("a number in it is out of range".to_string())),
        }
    }

    /// Whether scores are numbers whatever the features are.
    fn is_sound(&self) -> bool {
        // No feature exceeds 65,535.
        let bounded = |value: &f32| value.abs() < 1e30;
        let Linear { weights, bias } = self.linear();
        let sound = |f: &Feature| f.deviation >= 0.0 && bounded(&f.mean) && bounded(&f.weight);
        self.features.iter().all(sound)
            && weights.iter().chain([&bias, &self.bias, &self.threshold]).all(bounded)
    }
}
