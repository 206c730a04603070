//! What can go wrong.

use frostline_placement::Past;
use thiserror::Error;

/// Why there is no model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LearnError {
    /// More writes of a page than are remembered.
    #[error("a history of {0} writes: must be from 1 to {max}", max = Past::HISTORY)]
    History(usize),
    /// A field that these records don't have.
    #[error("unknown feature {name:?} (known: {known})")]
    UnknownFeature {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing to tell apart in the part to train on.
    #[error("of {samples} samples to train on {frozen} are frozen, so there is nothing to learn")]
    OneClass {
        /// Samples in it.
        samples: usize,
        /// How many of them are frozen.
        frozen: usize,
    },
    /// What trains such models was left out.
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
        /// What the library says.
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
    /// A recogniser that there is none of.
    #[error("nothing of the name recognises frozen pages: {name:?} (known: {known})")]
    UnknownRecogniser {
        /// What was asked for.
        name: String,
        /// What there is.
        known: &'static str,
    },
    /// The model goes by what engines tell, and none does.
    #[error("the model goes by hotness records, and writes come without them")]
    NotTold,
    /// A model is asked for, and none was given.
    #[error("no model was given")]
    NoModel,
}
