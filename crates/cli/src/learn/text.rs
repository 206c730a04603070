//! Reports of models as text.

use frostline_learn::{Origin, Quality, SampleSplit};
use frostline_papers::{Comparison, Flaw, ModelFeature, ModelReport};
use frostline_sim::{Evaluation, ZONE};

use crate::failure::say;
use crate::table;

/// The hint for a model that takes too few pages for frozen.
const LOWER: &str =
    "train it with a lower --threshold, or on pages as cleaning meets them, with --age";

/// The hint for a model that takes too many pages for frozen.
const HIGHER: &str = "train it with a higher --threshold, or a longer --history";

/// The hint for a model whose rules do not hold on other samples.
const OTHER: &str = "train it on a longer trace, or with --split time to see what holds later";

/// Prints a warning for a useless model.
pub(super) fn warn(command: &str, report: &ModelReport) {
    let (pages, hint) = match report.flaw() {
        None => return,
        Some(Flaw::NoPage) => ("no page", LOWER),
        Some(Flaw::OnlyOthers) => ("only pages that are not frozen", OTHER),
        Some(Flaw::EveryPage) => ("every page", HIGHER),
    };
    let threshold = report.threshold;
    let why = format!("with its threshold of {threshold} the model takes {pages} for frozen");
    say(&format!("{command}: warning: {why}"), Some(hint));
}

/// The report of a model.
pub(super) fn model_report(report: &ModelReport) -> String {
    let Origin { trace, samples, frozen, sampling } = &report.trained_on;
    let on = match sampling.split {
        SampleSplit::All => "all",
        SampleSplit::Random => "random",
        SampleSplit::Time => "the earlier",
    };
    let model = report.model;
    let mut text =
        format!("{model}, trained on {on} {samples} samples of {trace}, {frozen} frozen\n");
    let (which, quality) = (samples_in_words(report.split), &report.quality);
    text += &format!("evaluated on {which} {} samples of {}\n\n", quality.samples, report.trace);
    text += &table::columns(&QUALITY, 0, vec![quality_cells(quality)]);
    let row = |f: &ModelFeature| {
        vec![
            f.name.clone(),
            number(f.correlation),
            f.weight.map_or("-".to_string(), |weight| number(f64::from(weight))),
        ]
    };
    let rows = report.features.iter().map(row).collect();
    text + "\n" + &table::columns(&["feature", "correlation", "weight"], 1, rows)
}

/// The evaluation samples, in words.
fn samples_in_words(split: SampleSplit) -> &'static str {
    match split {
        SampleSplit::All => "all",
        SampleSplit::Random => "random",
        SampleSplit::Time => "the later",
    }
}

/// The rows of a comparison.
pub(super) struct Rows {
    /// The command.
    pub command: &'static str,
    /// Heading of the column of names.
    pub heading: &'static str,
    /// The name of a row, given its number.
    pub name: fn(usize, &Evaluation) -> String,
}

/// The comparison of models that were trained on the same samples.
pub(super) fn comparison(comparison: &Comparison, rows: &Rows) -> String {
    let mut headings = vec![rows.heading];
    headings.extend(QUALITY);
    headings.extend(["training s", "inference us", "ns/page", "bytes/page"]);
    let cells = |(i, evaluated): (usize, &Evaluation)| {
        let mut cells = vec![(rows.name)(i, evaluated)];
        cells.extend(quality_cells(&evaluated.quality));
        cells.push(evaluated.train_seconds.map_or("-".to_string(), |s| format!("{s:.2}")));
        cells.push(format!("{:.1}", evaluated.inference_seconds * 1e6));
        cells.push(format!("{:.2}", evaluated.inference_seconds * 1e9 / ZONE as f64));
        cells.push(format!("{}", evaluated.bytes_per_page));
        cells
    };
    let Comparison { trace, train_samples, models, .. } = comparison;
    let which = samples_in_words(comparison.split);
    let evaluated = models.first().map_or(0, |evaluated| evaluated.quality.samples);
    let rows = models.iter().enumerate().map(cells).collect();
    format!(
        "{trace}: trained on {train_samples} samples, evaluated on {which} {evaluated}; inference of \
         {ZONE} pages\n\n"
    ) + &table::columns(&headings, 1, rows)
}

/// The headings of [`quality_cells`].
const QUALITY: [&str; 7] =
    ["accuracy", "recall", "false positives", "precision", "ROC area", "balanced", "frozen"];

/// The quality of a recogniser, as cells of a table.
fn quality_cells(quality: &Quality) -> Vec<String> {
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
