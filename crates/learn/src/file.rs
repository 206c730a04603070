//! A model's file: JSON.

use serde::{Deserialize, Serialize};

use crate::{Feature, FeatureLayout, LearnError, Model, ModelKind, Network, Origin, RecordSource};

/// The version of the file.
const VERSION: u32 = 1;
/// The most bytes of a file that is read.
pub const LARGEST_FILE: usize = 1 << 17;

/// The contents of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    frostline_model: u32,
    model: ModelKind,
    records: RecordSource,
    history: usize,
    threshold: f32,
    bias: f32,
    features: Vec<Feature>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    network: Option<Network>,
    trained_on: Origin,
}

/// The field that files of all versions have.
#[derive(Deserialize)]
struct Versioned {
    frostline_model: u32,
}

impl Model {
    /// The contents of the model's file.
    pub fn write(&self) -> String {
        let file = File {
            frostline_model: VERSION,
            model: self.kind,
            records: self.layout.records(),
            history: self.layout.history(),
            threshold: self.threshold,
            bias: self.bias,
            features: self.features.clone(),
            network: self.network.clone(),
            trained_on: self.origin.clone(),
        };
        // This can fail only for a map whose keys are not strings, or for a writer.
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Reads a model's file.
    ///
    /// # Errors
    /// [`LearnError::NotAModel`] if it is longer than [`LARGEST_FILE`], is not what
    /// [`Model::write`] writes, or has numbers that can't be computed with;
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
        let layout =
            FeatureLayout::new(file.records, file.history).map_err(|e| bad(e.to_string()))?;
        if !layout.names().iter().eq(file.features.iter().map(|feature| &feature.name)) {
            return Err(bad(format!("its features must be {}", layout.names().join(" "))));
        }
        let File { model: kind, threshold, bias, features, network, trained_on: origin, .. } = file;
        let model = Model { kind, layout, threshold, bias, features, network, origin };
        match model.is_sound() {
            true => Ok(model),
            false => Err(bad("a number in it is missing or out of range".to_string())),
        }
    }
}
