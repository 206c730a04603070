//! What `frostline train` and `frostline model eval` tell.

use std::path::Path;

use frostline_learn::{Model, Origin, Quality, Records, Split};
use serde::Serialize;

use crate::failure::say;
use crate::table;

/// What helps a model that takes too few pages for frozen.
const LOWER: &str =
    "train it with a lower --threshold, or on pages as cleaning meets them, with --age";

/// What helps one that takes too many.
const HIGHER: &str = "train it with a higher --threshold, or a longer --history";

/// What helps one that learned what does not hold.
const OTHER: &str = "train it on a longer trace, or with --split time to see what holds later";

/// How good a model is, and what it goes by.
#[derive(Serialize)]
pub struct Report {
    model: &'static str,
    trace: String,
    split: Split,
    records: Records,
    history: usize,
    threshold: f32,
    quality: Quality,
    features: Vec<FeatureRow>,
    trained_on: Origin,
}

#[derive(Serialize)]
struct FeatureRow {
    name: String,
    /// Pearson's, with being frozen, over the samples that the model is judged by.
    correlation: f64,
    /// None in a network.
    weight: Option<f32>,
}

impl Report {
    /// Of a model that was judged by a part of a trace.
    pub fn new(
        model: &Model,
        trace: &Path,
        split: Split,
        quality: Quality,
        correlations: &[f64],
    ) -> Report {
        let features = model.features().iter().zip(correlations);
        let row = |(feature, &correlation): (&frostline_learn::Feature, &f64)| FeatureRow {
            name: feature.name.clone(),
            correlation,
            weight: feature.weight,
        };
        Report {
            model: model.kind().name(),
            trace: trace.display().to_string(),
            split,
            records: model.layout().records(),
            history: model.layout().history(),
            threshold: model.threshold(),
            quality,
            features: features.map(row).collect(),
            trained_on: model.origin().clone(),
        }
    }

    /// Warns, for a command, of a model that is of no use as it is.
    pub fn warn(&self, command: &str) {
        let Quality { recall, false_positive_rate, .. } = self.quality;
        let (what, hint) = if recall == 0.0 && false_positive_rate == 0.0 {
            ("no page", LOWER)
        } else if recall == 0.0 {
            ("only pages that are not frozen", OTHER)
        } else if recall == 1.0 && false_positive_rate == 1.0 {
            ("every page", HIGHER)
        } else {
            return;
        };
        let threshold = self.threshold;
        let why = format!("with its threshold of {threshold} the model takes {what} for frozen");
        say(&format!("{command}: warning: {why}"), Some(hint));
    }

    /// The report as people read it.
    pub fn text(&self) -> String {
        let Origin { trace, samples, frozen, sampling } = &self.trained_on;
        let on = match sampling.split {
            Split::All => "all",
            Split::Random => "random",
            Split::Time => "the earlier",
        };
        let mut text = format!(
            "{}, trained on {on} {samples} samples of {trace}, {frozen} frozen\n",
            self.model
        );
        let by = match self.split {
            Split::All => "all",
            Split::Random => "random",
            Split::Time => "the later",
        };
        let quality = &self.quality;
        text += &format!("judged by {by} {} samples of {}\n\n", quality.samples, self.trace);
        text += &table::columns(&QUALITY, 0, vec![quality_cells(quality)]);
        let row = |f: &FeatureRow| {
            vec![
                f.name.clone(),
                number(f.correlation),
                f.weight.map_or("-".to_string(), |weight| number(f64::from(weight))),
            ]
        };
        let rows = self.features.iter().map(row).collect();
        text + "\n" + &table::columns(&["feature", "correlation", "weight"], 1, rows)
    }
}

/// The headings of [`quality_cells`].
pub const QUALITY: [&str; 7] =
    ["accuracy", "recall", "false positives", "precision", "ROC area", "balanced", "frozen"];

/// How good a recogniser is, in a table.
pub fn quality_cells(quality: &Quality) -> Vec<String> {
    let percent = |share: f64| match share.is_nan() {
        true => "-".to_string(),
        false => format!("{:.1} %", share * 100.0),
    };
    vec![
        percent(quality.accuracy),
        percent(quality.recall),
        percent(quality.false_positive_rate),
        percent(quality.precision),
        number(quality.roc_area),
        percent(quality.balanced_accuracy),
        percent(quality.base_rate),
    ]
}

fn number(value: f64) -> String {
    if value.is_nan() { "-".to_string() } else { format!("{value:.4}") }
}
