//! The number of writes of a page that are worth looking at (figure 20 of the paper).

use frostline_learn::{LearnError, ModelKind};

use super::{Evaluation, evaluate_kind};
use crate::Samples;

/// A model that looks at a page's newest write only, then one that looks at the two newest, and so
/// on up to what the samples tell of.
///
/// # Errors
/// As [`train`](frostline_learn::train).
pub fn compare_histories(
    samples: &Samples,
    kind: ModelKind,
) -> Result<Vec<Evaluation>, LearnError> {
    let fields = samples.fields();
    let histories = 1..=samples.layout.history();
    histories.map(|history| evaluate_kind(&samples.narrowed(history)?, kind, &fields)).collect()
}
