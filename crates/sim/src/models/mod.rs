//! Comparison of models of frozen pages on the samples of a trace, as in SepFrozen (section 5.2,
//! figures 18 to 21): with each other and with rules that need no training; by the number of a
//! page's writes that they look at; and by their features.

mod features;
mod histories;
mod rivals;
mod two_r;

use std::hint::black_box;

use frostline_learn::{LearnError, ModelKind, Quality, Scorer, Set, Standard, Tiles, tiled, train};
use serde::Serialize;

use crate::Samples;
use crate::cpu_time::cpu_seconds;

pub use features::compare_features;
pub use histories::compare_histories;
pub use rivals::compare_models;
pub use two_r::evaluate_two_r;

/// Pages in a zone of 256 MiB, for which the paper gives times.
pub const ZONE: usize = 65_536;

/// The evaluation of a model or a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Name of the model or rule.
    pub model: &'static str,
    /// Writes of a page that it looks at.
    pub history: usize,
    /// Fields of each write that it looks at.
    pub fields: Vec<String>,
    /// Its quality on the evaluation samples.
    pub quality: Quality,
    /// CPU time of its training; `None` for a rule.
    pub train_seconds: Option<f64>,
    /// CPU time to score [`ZONE`] pages whose features are already gathered: the shortest of
    /// several.
    pub inference_seconds: f64,
    /// Bytes of state that must be kept with each page.
    pub bytes_per_page: f64,
}

/// Trains a model on these fields, and evaluates it.
fn evaluate_kind(
    samples: &Samples,
    kind: ModelKind,
    fields: &[String],
) -> Result<Evaluation, LearnError> {
    let Samples { layout, train: set, test, .. } = samples;
    let started = cpu_seconds();
    let standard = Standard::of(set).only(*layout, fields)?;
    let model = train(kind, *layout, set, &standard, samples.origin(""))?;
    let train_seconds = Some(cpu_seconds() - started);
    let scorer = model.scorer();
    Ok(Evaluation {
        model: kind.name(),
        history: layout.history(),
        fields: fields.to_vec(),
        quality: Quality::of(&scorer, model.threshold(), test),
        train_seconds,
        inference_seconds: inference_seconds(&scorer, test),
        bytes_per_page: layout.bytes_per_page() as f64,
    })
}

/// The evaluation of a rule; its fields are those of the write before the newest.
fn rule(
    model: &'static str,
    fields: &[&str],
    bytes_per_page: f64,
    quality: Quality,
    inference_seconds: f64,
) -> Evaluation {
    Evaluation {
        model,
        history: 2 * fields.len().min(1),
        fields: fields.iter().map(ToString::to_string).collect(),
        quality,
        train_seconds: None,
        inference_seconds,
        bytes_per_page,
    }
}

/// The time to score a zone of pages like those of `test`.
fn inference_seconds(scorer: &dyn Scorer, test: &Set) -> f64 {
    let values = test.rows().iter().copied().cycle().take(ZONE * test.width());
    let tiles = tiled(&values.collect::<Vec<_>>(), test.width());
    let mut scores = vec![0.0; ZONE];
    let times = (0..20).map(|_| {
        let started = cpu_seconds();
        scorer.score(Tiles::new(test.width(), black_box(&tiles)), black_box(&mut scores));
        cpu_seconds() - started
    });
    times.fold(f64::INFINITY, f64::min)
}
