//! The gain of a longer history of each page (figure 20 of the paper).

use frostline_learn::{LearnError, ModelKind};

use super::{Evaluation, evaluate_kind};
use crate::Samples;

/// Trains a model that looks at a page's newest write only, then one that looks at the two newest
/// writes, and so on, up to the history of the samples.
///
/// # Errors
/// Those of [`train`](frostline_learn::train).
pub fn compare_histories(
    samples: &Samples,
    kind: ModelKind,
) -> Result<Vec<Evaluation>, LearnError> {
    let fields = samples.fields();
    let histories = 1..=samples.layout.history();
    histories.map(|history| evaluate_kind(&samples.narrowed(history)?, kind, &fields)).collect()
}
