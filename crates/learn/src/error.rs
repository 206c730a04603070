//! Errors.

use frostline_placement::Past;
use thiserror::Error;

/// An error of training, reading or using a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LearnError {
    /// The history has more writes of a page than are kept.
    #[error("a history of {0} writes: must be from 1 to {max}", max = Past::HISTORY)]
    History(usize),
    /// The records don't have this field.
    #[error("unknown feature {name:?} (known: {known})")]
    UnknownFeature {
        /// The value given.
        name: String,
        /// The known values.
        known: String,
    },
    /// All training samples have the same label, so there is nothing to tell apart.
    #[error("of {samples} samples to train on {frozen} are frozen, so there is nothing to learn")]
    OneClass {
        /// Training samples.
        samples: usize,
        /// Frozen ones among them.
        frozen: usize,
    },
    /// This build cannot train this kind of model.
    #[error("training {model} is left out of this build, which has not the feature {feature:?}")]
    NotBuilt {
        /// The kind of model.
        model: &'static str,
        /// The Cargo feature that trains it.
        feature: &'static str,
    },
    /// The library that trains the model failed.
    #[error("training {model}: {why}")]
    Training {
        /// The kind of model.
        model: &'static str,
        /// The error of the library.
        why: String,
    },
    /// The file is not a model.
    #[error("not a model: {0}")]
    NotAModel(String),
    /// The file has an unknown version.
    #[error("a model file of version {0}, of which nothing is known here")]
    Version(u32),
    /// The model looks at more writes of a page than a store keeps.
    #[error("it looks at {0} hotness records of a page, and with a page there are two")]
    TooFarBack(usize),
    /// No recogniser has this name.
    #[error("nothing of the name recognises frozen pages: {name:?} (known: {known})")]
    UnknownRecogniser {
        /// The value given.
        name: String,
        /// The known values.
        known: &'static str,
    },
    /// The model needs an engine's hotness records, and there are none.
    #[error("the model goes by hotness records, and writes come without them")]
    NotTold,
    /// The recogniser needs a model, and none was given.
    #[error("no model was given")]
    NoModel,
}
