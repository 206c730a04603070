//! The kinds of models.

use serde::{Deserialize, Serialize};

use crate::error::LearnError;

/// A kind of model, and the way it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Logistic regression by stochastic gradient descent: SepFrozen's model.
    Sgd,
    /// Logistic regression over all samples at once.
    Logistic,
    /// A linear support vector machine, by stochastic gradient descent.
    Svm,
    /// A gated recurrent unit over a page's writes. Training it takes the Cargo feature `gru`.
    Gru,
}

impl ModelKind {
    /// All kinds that this build can train.
    pub const TRAINABLE: &[ModelKind] = match cfg!(feature = "gru") {
        true => &[ModelKind::Sgd, ModelKind::Logistic, ModelKind::Svm, ModelKind::Gru],
        false => &[ModelKind::Sgd, ModelKind::Logistic, ModelKind::Svm],
    };

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            ModelKind::Sgd => "sgd",
            ModelKind::Logistic => "logistic",
            ModelKind::Svm => "svm",
            ModelKind::Gru => "gru",
        }
    }

    /// Checks that this build can train it.
    ///
    /// # Errors
    /// [`LearnError::NotBuilt`].
    pub fn check(self) -> Result<(), LearnError> {
        match ModelKind::TRAINABLE.contains(&self) {
            true => Ok(()),
            false => Err(self.not_built()),
        }
    }

    pub(crate) fn not_built(self) -> LearnError {
        LearnError::NotBuilt { model: self.name(), feature: "gru" }
    }
}
