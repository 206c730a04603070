//! Models of frozen pages, evaluated on samples of a recorded workload: the paper's figures 18 to
//! 21.

use frostline_learn::{
    FeatureLayout, LearnError, Model, ModelKind, RecordSource, SampleSplit, Sampling, Set,
    Standard, correlations, train,
};
use frostline_sim::{
    Evaluation, Samples, compare_features, compare_histories, compare_models, sample,
};

use super::paper;
use crate::reproduce::inputs::Recorded;
use crate::reproduce::scale::Scale;
use crate::reproduce::tables::{Cell, ReportTable, headings};
use crate::{Error, Result};

/// The kind of model: it finds the weights that sgd approaches, and finds them faster.
const KIND: ModelKind = ModelKind::Logistic;

/// Training samples of a model, at scale 1.
const SAMPLES: f64 = 600_000.0;

/// The number of a page's writes that the paper's model looks at.
const HISTORY: usize = 2;

/// The age at which cleaning first meets a page, as a share of the volume: about the share of
/// garbage at which cleaning begins.
const CLEANED: f64 = 0.15;

/// Trains models on a workload.
pub(super) struct Models<'a> {
    recorded: &'a Recorded,
    seed: u64,
    /// The age at which cleaning first meets a page.
    age: u32,
    /// The most training samples of a model.
    most: usize,
}

/// The ages of the samples, and the split into training and evaluation.
#[derive(Clone, Copy)]
struct How {
    split: SampleSplit,
    cleaned: bool,
}

impl How {
    const ALL: [How; 4] = [
        How { split: SampleSplit::Random, cleaned: false },
        How { split: SampleSplit::Time, cleaned: false },
        How { split: SampleSplit::Random, cleaned: true },
        How { split: SampleSplit::Time, cleaned: true },
    ];

    fn name(self) -> String {
        let when = if self.cleaned { "cleaned" } else { "written" };
        format!("{when}, {}", split_name(self.split))
    }
}

fn split_name(split: SampleSplit) -> &'static str {
    match split {
        SampleSplit::Time => "by time",
        _ => "at random",
    }
}

impl<'a> Models<'a> {
    /// Models for a workload with `pages` pages.
    pub(super) fn new(recorded: &'a Recorded, pages: u32, scale: Scale, seed: u64) -> Self {
        let age = (f64::from(pages) * CLEANED) as u32;
        Models { recorded, seed, age, most: (SAMPLES * scale.0) as usize }
    }

    /// A model trained as in the paper, on pages when they are written; or, if `cleaned`, on pages
    /// when cleaning meets them.
    pub(super) fn trained(&self, cleaned: bool) -> Result<Model> {
        let samples = self.samples(HISTORY, How { split: SampleSplit::Random, cleaned })?;
        let standard = Standard::of(&samples.train);
        let origin = samples.origin(self.recorded.workload.name());
        Ok(train(ModelKind::Sgd, samples.layout, &samples.train, &standard, origin)?)
    }

    /// All models, and the rules that need no training (figures 18 and 19); `two_r` is the
    /// evaluation of 2R's rule in a replay.
    pub(super) fn comparison(&self, two_r: &Evaluation, timing: bool) -> Result<ReportTable> {
        let mut rows = Vec::new();
        for how in How::ALL {
            for evaluated in compare_models(&self.samples(HISTORY, how)?)? {
                let is_papers = how.split == SampleSplit::Random && !how.cleaned;
                rows.push(evaluation_cells(&evaluated, &how.name(), is_papers, timing));
            }
        }
        rows.push(evaluation_cells(two_r, "at work", true, timing));
        let mut columns = vec!["model", "samples", "accuracy", "paper", "recall"];
        columns.extend([
            "false positives",
            "paper's",
            "precision",
            "ROC area",
            "balanced",
            "frozen",
        ]);
        if timing {
            columns.extend(["training s", "inference us"]);
        }
        let time = match timing {
            true => " Inference is of 65,536 pages; the paper's bound is 50 ms.",
            false => "",
        };
        Ok(ReportTable {
            name: "models",
            title: "Models (figures 18 and 19)".to_string(),
            note: format!(
                "TPC-C. Samples are of pages as they are written, as in the paper, or as cleaning \
                 meets them. Models are evaluated on a quarter of them, at random as in the paper or \
                 the last by time, and trained on the others. At work: of all that is \
                 written, what a replay of 2R copies. Balanced: what the accuracy would be if half \
                 of the samples were frozen.{time} The paper: sections 3 and 5.2."
            ),
            columns: headings(columns),
            rows,
        })
    }

    /// Models by the number of a page's writes that they look at (figure 20).
    pub(super) fn history(&self) -> Result<ReportTable> {
        let (random, by_time) =
            self.both_ways(FeatureLayout::LONGEST, |samples| compare_histories(samples, KIND))?;
        let each = random.iter().zip(&by_time).zip(paper::HISTORY);
        let row = |((random, by_time), told): ((&Evaluation, &Evaluation), &'static str)| {
            let mut row = vec![Cell::text(random.history.to_string())];
            row.extend(how_good(random));
            row.push(Cell::text(told));
            row.extend(how_good(by_time));
            row
        };
        let columns = vec!["writes", "accuracy", "balanced", "ROC area", "paper"];
        let more = ["accuracy by time", "balanced by time", "ROC area by time"];
        Ok(ReportTable {
            name: "history",
            title: "Length of the history (figure 20)".to_string(),
            note: "TPC-C, logistic regression, samples of pages as they are written. The paper: \
                   accuracy, split at random, section 5.2."
                .to_string(),
            columns: headings(columns.into_iter().chain(more)),
            rows: each.map(row).collect(),
        })
    }

    /// Models by their features, with one more feature at a time (figure 21), and each feature's
    /// correlation with being frozen.
    pub(super) fn features(&self) -> Result<ReportTable> {
        let how = How { split: SampleSplit::Random, cleaned: false };
        let test = self.samples(HISTORY, how)?;
        let (names, correlated) = (test.layout.names(), correlations(&test.test));
        let (random, by_time) =
            self.both_ways(HISTORY, |samples| compare_features(samples, KIND))?;
        let each = random.iter().zip(&by_time).zip(paper::FEATURES);
        let row = |((random, by_time), (told_name, field, accuracy, correlation))| {
            // For these fields the paper takes the difference of two writes.
            let is_difference = matches!(field, "valid-bytes" | "write-time");
            let feature = if is_difference { format!("{field}-1") } else { field.to_string() };
            let place = names.iter().position(|name| *name == feature);
            let mut row = vec![Cell::text(format!("{field} ({told_name})"))];
            row.extend(how_good(random).into_iter().take(2));
            row.push(Cell::text(accuracy));
            row.extend(how_good(by_time).into_iter().take(2));
            row.push(place.map_or(Cell::None, |place| Cell::Number(correlated[place], 4)));
            row.push(Cell::text(correlation));
            row
        };
        let mut rows: Vec<Vec<Cell>> = each.map(row).collect();
        rows.insert(0, without_features(&test.test));
        let columns = vec!["feature", "accuracy", "balanced", "paper"];
        let more = ["accuracy by time", "balanced by time", "correlation", "paper's"];
        Ok(ReportTable {
            name: "features",
            title: "Features, one after the other (figure 21)".to_string(),
            note: "TPC-C, logistic regression, two writes of a page, samples of pages as they are \
                   written; each row with the features above it as well. None: every page passes \
                   for what most are. Correlation: Pearson's with being frozen, of valid-bytes and \
                   write-time that of the difference between two writes. The paper: sections 5.2 \
                   and 4.1."
                .to_string(),
            columns: headings(columns.into_iter().chain(more)),
            rows,
        })
    }

    /// Evaluates with a random split and with a split by time, on pages when they are written.
    fn both_ways(
        &self,
        history: usize,
        evaluate: impl Fn(&Samples) -> std::result::Result<Vec<Evaluation>, LearnError>,
    ) -> Result<(Vec<Evaluation>, Vec<Evaluation>)> {
        let with = |split| {
            let samples = self.samples(history, How { split, cleaned: false })?;
            Ok::<_, Error>(evaluate(&samples)?)
        };
        Ok((with(SampleSplit::Random)?, with(SampleSplit::Time)?))
    }

    fn samples(&self, history: usize, how: How) -> Result<Samples> {
        let layout = FeatureLayout::new(RecordSource::Engine, history)?;
        let age = if how.cleaned { self.age } else { 0 };
        let (split, most, seed) = (how.split, self.most, self.seed);
        let sampling = Sampling { split, age, most, seed, ..Sampling::default() };
        let samples = sample(self.recorded.writes.clone(), layout, &sampling);
        samples.map_err(Error::sampling(self.recorded.workload.name()))
    }
}

/// Accuracy, balanced accuracy and ROC area.
fn how_good(evaluated: &Evaluation) -> [Cell; 3] {
    let quality = &evaluated.quality;
    let shares = [quality.accuracy, quality.balanced_accuracy].map(Cell::Share);
    let [accuracy, balanced] = shares;
    [accuracy, balanced, Cell::Number(quality.roc_area, 3)]
}

/// The row of a model that puts every page into the larger class.
fn without_features(set: &Set) -> Vec<Cell> {
    let frozen = set.frozen_samples() as f64 / set.len().max(1) as f64;
    let mut row = vec![Cell::text("none"), Cell::Share(frozen.max(1.0 - frozen))];
    row.extend([Cell::Share(0.5), Cell::text(""), Cell::None, Cell::Share(0.5)]);
    row.extend([Cell::None, Cell::text("")]);
    row
}

fn evaluation_cells(
    evaluated: &Evaluation,
    samples: &str,
    is_papers: bool,
    timing: bool,
) -> Vec<Cell> {
    let Evaluation { model, quality, train_seconds, inference_seconds, .. } = evaluated;
    let told = paper::MODELS.iter().find(|(name, ..)| is_papers && name == model);
    let (_, accuracy, alarms) = told.copied().unwrap_or_default();
    let mut cells = vec![
        Cell::text(*model),
        Cell::text(samples),
        Cell::Share(quality.accuracy),
        Cell::text(accuracy),
        Cell::Share(quality.recall),
        Cell::Share(quality.false_positive_rate),
        Cell::text(alarms),
        Cell::Share(quality.precision),
        Cell::Number(quality.roc_area, 3),
        Cell::Share(quality.balanced_accuracy),
        Cell::Share(quality.base_rate),
    ];
    if timing {
        cells.push(train_seconds.map_or(Cell::None, |seconds| Cell::Number(seconds, 2)));
        cells.push(Cell::Number(inference_seconds * 1e6, 0));
    }
    cells
}
