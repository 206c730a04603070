//! The gain of each feature (figure 21 of the paper).

use frostline_learn::{LearnError, ModelKind, RecordSource, correlations};

use super::{Evaluation, evaluate_kind};
use crate::Samples;

/// The order in which the paper adds the fields of an engine's records.
const PAPERS_ORDER: [&str; 6] = [
    "valid-bytes",
    "write-time",
    "access-interval",
    "modification-interval",
    "accesses",
    "modifications",
];

/// Trains a model with one field of each write, then one with two fields, and so on. An engine's
/// fields come in the paper's order. For a block layer's fields the paper has no order: the field
/// with the highest correlation with being frozen comes first.
///
/// # Errors
/// Those of [`train`](frostline_learn::train).
pub fn compare_features(samples: &Samples, kind: ModelKind) -> Result<Vec<Evaluation>, LearnError> {
    let order = match samples.layout.records() {
        RecordSource::Engine => PAPERS_ORDER.map(String::from).to_vec(),
        RecordSource::Block => by_correlation(samples),
    };
    (1..=order.len()).map(|fields| evaluate_kind(samples, kind, &order[..fields])).collect()
}

/// The fields in order of the largest correlation that each has in any write.
fn by_correlation(samples: &Samples) -> Vec<String> {
    let correlations = correlations(&samples.train);
    let strength = |field: usize| {
        let writes = 0..samples.layout.history();
        let columns = writes.filter_map(|back| samples.layout.columns(back).nth(field));
        columns.map(|column| correlations[column].abs()).fold(0.0, f64::max)
    };
    let fields = samples.fields();
    let mut fields: Vec<_> =
        fields.into_iter().enumerate().map(|(i, f)| (strength(i), f)).collect();
    fields.sort_by(|a, b| b.0.total_cmp(&a.0));
    fields.into_iter().map(|(_, field)| field).collect()
}
