//! Trains models.

use crate::sgd::{Loss, descend};
use crate::{FeatureLayout, LearnError, Model, ModelKind, Origin, Set, Standard, newton};

/// The penalty on squared weights. With standardised features and tens of thousands of samples it
/// only keeps weights finite that nothing else bounds.
pub const PENALTY: f64 = 1e-4;

/// Trains a model. The same arguments give the same model, bit for bit; for [`ModelKind::Gru`] only
/// on the same kind of processor, because candle multiplies matrices in the way that suits the
/// processor.
///
/// # Errors
/// [`LearnError::OneClass`]; for [`ModelKind::Gru`] also [`LearnError::NotBuilt`] and
/// [`LearnError::Training`].
pub fn train(
    kind: ModelKind,
    layout: FeatureLayout,
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
        ModelKind::Sgd => descend(set, standard, Loss::Logistic, PENALTY, seed),
        ModelKind::Logistic => newton::solve(set, standard, PENALTY),
        ModelKind::Svm => descend(set, standard, Loss::Hinge, PENALTY, seed),
        #[cfg(feature = "gru")]
        ModelKind::Gru => {
            let learnt = crate::gru::fit(layout, set, standard, seed).map_err(|error| {
                LearnError::Training { model: kind.name(), why: error.to_string() }
            })?;
            return Ok(Model::of_network(layout, standard, learnt, origin));
        }
        #[cfg(not(feature = "gru"))]
        ModelKind::Gru => return Err(kind.not_built()),
    };
    Ok(Model::of_weights(kind, layout, standard, &weights, origin))
}
