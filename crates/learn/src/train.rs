//! Trains models.

use serde::{Deserialize, Serialize};

use crate::sgd::{Loss, descend};
use crate::{Layout, LearnError, Model, Origin, Set, Standard, newton};

/// The penalty on squared weights: with standardised features and samples by the ten thousand it
/// only keeps weights finite that nothing else bounds.
pub const PENALTY: f64 = 1e-4;

/// How a model is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Logistic regression by stochastic gradient descent: SepFrozen's model.
    Sgd,
    /// Logistic regression over all samples at once.
    Logistic,
    /// A linear support vector machine, by stochastic gradient descent.
    Svm,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 3] = [Kind::Sgd, Kind::Logistic, Kind::Svm];

    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sgd => "sgd",
            Kind::Logistic => "logistic",
            Kind::Svm => "svm",
        }
    }
}

/// Trains a model. The same arguments give the same model, bit for bit.
///
/// # Errors
/// [`LearnError::OneClass`].
pub fn train(
    kind: Kind,
    layout: Layout,
    set: &Set,
    standard: &Standard,
    origin: Origin,
) -> Result<Model, LearnError> {
    let (samples, frozen) = (set.len(), set.frozen_samples());
    if frozen == 0 || frozen == samples {
        return Err(LearnError::OneClass { samples, frozen });
    }
    let seed = origin.sampling.seed;
    let weights = match kind {
        Kind::Sgd => descend(set, standard, Loss::Logistic, PENALTY, seed),
        Kind::Logistic => newton::solve(set, standard, PENALTY),
        Kind::Svm => descend(set, standard, Loss::Hinge, PENALTY, seed),
    };
    Ok(Model::new(kind, layout, standard, &weights, origin))
}
