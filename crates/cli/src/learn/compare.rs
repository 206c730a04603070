//! `frostline model compare`: all recognisers on the same samples.

use std::hint::black_box;
use std::time::Instant;

use frostline_learn::{
    EveryPage, Kind, Layout, OneBit, Origin, Quality, Scorer, Set, Split, Standard, Tiles, tiled,
    train,
};
use frostline_sim::Samples;
use serde::Serialize;

use super::report::{QUALITY, emit, quality_cells};
use super::samples::{check, of_trace, sampling, split};
use crate::args::CompareArgs;
use crate::failure::Failure;
use crate::table;

/// Pages of a zone of 256 MiB, for which the paper gives times.
const ZONE: usize = 65_536;

#[derive(Serialize)]
struct Comparison {
    trace: String,
    split: Split,
    train_samples: usize,
    models: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    model: &'static str,
    quality: Quality,
    /// None of a rule.
    train_seconds: Option<f64>,
    /// For 65,536 pages, features gathered before.
    inference_seconds: f64,
    /// What must be kept with each page.
    bytes_per_page: f64,
}

/// Trains and compares.
pub fn run(args: &CompareArgs) -> Result<String, Failure> {
    check(args.json.as_deref())?;
    let how = sampling(&args.sampling, split(args.split));
    let (layout, data) =
        of_trace("model compare", &args.trace, &args.reading, &args.features, &how, args.quiet)?;
    let trace = args.trace.display().to_string();
    let origin = Origin {
        trace: trace.clone(),
        samples: data.train.len(),
        frozen: data.train.frozen_samples(),
        sampling: how,
    };
    let mut models = Vec::new();
    for &kind in Kind::TRAINABLE {
        let started = Instant::now();
        let standard = Standard::of(&data.train);
        let model = train(kind, layout, &data.train, &standard, origin.clone())?;
        let seconds = started.elapsed().as_secs_f64();
        let bytes = layout.bytes_per_page() as f64;
        models.push(row(kind.name(), &model.scorer(), &data.test, Some(seconds), bytes));
    }
    models.extend(rules(layout, &data));
    let train_samples = data.train.len();
    let report = Comparison { trace, split: how.split, train_samples, models };
    emit(args.json.as_deref(), &report, || text(&report))
}

/// The rules that need no training.
fn rules(layout: Layout, data: &Samples) -> Vec<Row> {
    let one_bit = OneBit::new(layout, data.pages);
    let one_bit = one_bit.map(|rule| row("one-bit", &rule, &data.test, None, 0.125));
    one_bit.into_iter().chain([row("2r", &EveryPage, &data.test, None, 0.0)]).collect()
}

fn row(
    model: &'static str,
    scorer: &dyn Scorer,
    test: &Set,
    train_seconds: Option<f64>,
    bytes_per_page: f64,
) -> Row {
    let quality = Quality::of(scorer, 0.0, test);
    let inference_seconds = inference(scorer, test);
    Row { model, quality, train_seconds, inference_seconds, bytes_per_page }
}

/// How long it takes to score a zone of such pages: the shortest of several times.
fn inference(scorer: &dyn Scorer, test: &Set) -> f64 {
    let values = test.rows().iter().copied().cycle().take(ZONE * test.width());
    let tiles = tiled(&values.collect::<Vec<_>>(), test.width());
    let mut scores = vec![0.0; ZONE];
    let times = (0..20).map(|_| {
        let started = Instant::now();
        scorer.score(Tiles::new(test.width(), black_box(&tiles)), black_box(&mut scores));
        started.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn text(report: &Comparison) -> String {
    let mut headings = vec!["model"];
    headings.extend(QUALITY);
    headings.extend(["training s", "inference us", "ns/page", "bytes/page"]);
    let cells = |row: &Row| {
        let seconds = |s: f64| format!("{s:.2}");
        let mut cells = vec![row.model.to_string()];
        cells.extend(quality_cells(&row.quality));
        cells.push(row.train_seconds.map_or("-".to_string(), seconds));
        cells.push(format!("{:.1}", row.inference_seconds * 1e6));
        cells.push(format!("{:.2}", row.inference_seconds * 1e9 / ZONE as f64));
        cells.push(format!("{}", row.bytes_per_page));
        cells
    };
    let by = match report.split {
        Split::All => "all",
        Split::Random => "random",
        Split::Time => "the later",
    };
    let judged = report.models.first().map_or(0, |row| row.quality.samples);
    format!(
        "{}: trained on {} samples, judged by {by} {judged}; inference of {ZONE} pages\n\n",
        report.trace, report.train_samples
    ) + &table::columns(&headings, 1, report.models.iter().map(cells).collect())
}
