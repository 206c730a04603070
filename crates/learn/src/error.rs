//! Errors.

use frostline_placement::Past;
use thiserror::Error;

/// An error of training, reading or using a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LearnError {
    /// More writes of a page than are remembered.
    #[error("a history of {0} writes: must be from 1 to {max}", max = Past::HISTORY)]
    History(usize),
    /// A field that these records don't have.
    #[error("unknown feature {name:?} (known: {known})")]
    UnknownFeature {
        /// The value given.
        name: String,
        /// The known values.
        known: String,
    },
    /// Nothing to tell apart in the part to train on.
    #[error("of {samples} samples to train on {frozen} are frozen, so there is nothing to learn")]
    OneClass {
        /// Samples in it.
        samples: usize,
        /// The number of them that are frozen.
        frozen: usize,
    },
    /// The part of the program that trains such models was left out of the build.
    #[error("training {model} is left out of this build, which has not the feature {feature:?}")]
    NotBuilt {
        /// The kind of model.
        model: &'static str,
        /// The Cargo feature that trains it.
        feature: &'static str,
    },
    /// A library could not train it.
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
    /// The file is of a version that is not known.
    #[error("a model file of version {0}, of which nothing is known here")]
    Version(u32),
    /// The model asks for more of a page's past than a store keeps.
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
    /// A model is asked for, and none was given.
    #[error("no model was given")]
    NoModel,
}
