//! The evaluation of PHFTL: Sun et al., DAC 2023, section V.

use frostline_sim::Space;

use super::experiment::{DeviceLayout, EXTRA, Experiment, Figure, PaperEvaluation, View, WAF};
use super::inputs::Workload;
use super::paper::Paper;
use super::run::Run;
use super::session::TraceSource;
use super::tables::Cell;

/// The entry of PHFTL among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "phftl",
    title: "Sun et al., PHFTL",
    about: "a network predicts what lives shortly",
    tables: |session| EVALUATION.tables(session),
    experiments: EVALUATION.experiments,
};

const SOURCES: &[TraceSource] = &[
    TraceSource::Recorded(Workload::Tpcc),
    TraceSource::Recorded(Workload::Ycsb50w),
    TraceSource::Zipf(1.0),
    TraceSource::Given,
];

fn share(run: &Run, gauge: &str) -> Cell {
    Cell::share(run.gauge(gauge))
}

/// The quality of the classifier, and its last threshold.
const QUALITY: &[Figure] = &[
    Figure { heading: "accuracy", of: |run| share(run, "accuracy") },
    Figure { heading: "precision", of: |run| share(run, "precision") },
    Figure { heading: "recall", of: |run| share(run, "recall") },
    Figure { heading: "F1", of: |run| share(run, "f1") },
    Figure {
        heading: "threshold, of the pages",
        of: |run| {
            let pages = f64::from(run.trace.volume.unique_pages());
            Cell::Number(run.gauge("threshold").map_or(f64::NAN, |at| at / pages), 3)
        },
    },
    EXTRA,
];

/// The cost of the scheme's metadata.
const META: &[Figure] = &[
    Figure { heading: "hit rate", of: |run| share(run, "meta_hit_rate") },
    Figure {
        heading: "meta pages, of all written",
        of: |run| {
            let report = &run.report;
            let all = report.user_writes + report.relocations + report.meta_pages;
            Cell::Share(report.meta_pages as f64 / all as f64)
        },
    },
    Figure {
        heading: "reads of meta pages a write",
        of: |run| {
            let writes = run.outcome.replayed as f64;
            Cell::Number(run.gauge("meta_misses").map_or(f64::NAN, |reads| reads / writes), 4)
        },
    },
    EXTRA,
    WAF,
];

pub(super) static EVALUATION: PaperEvaluation = PaperEvaluation {
    layout: DeviceLayout {
        page_bytes: 16384,
        zones: 256,
        least_zone: 64,
        space: Space::Op(0.07),
        victim: "cost-benefit",
        named: &[("phftl", "adjusted-greedy")],
        ..DeviceLayout::USUAL
    },
    experiments: &[
        Experiment {
            name: "overall",
            title: "Write amplification (figure 5)",
            note: "(F-U)/U, in which 0 is perfect: pages written beyond the user's over the user's. A \
                   page of a trace is taken for one of 16 KiB. Base has cost-benefit here as there, \
                   `phftl` the victim policy of its own; the paper's are averages over 20 drives of \
                   Alibaba's cloud.",
            sources: SOURCES,
            schemes: &[
                "nosep",
                "2r-greedy",
                "2r-fifo",
                "sepbit",
                "phftl",
                "dogi",
                "frostline",
                "oracle-plan",
            ],
            view: View::Grid(EXTRA),
            changes: &[
                ("phftl", "nosep", "-65.1 %"),
                ("phftl", "2r-fifo", "-22.8 to -54.6 %"),
                ("phftl", "sepbit", "-22.8 to -54.6 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "classifier",
            title: "The classifier (table I), its history and its threshold",
            note: "Over all windows that were judged. `history=1` sees a page's newest write alone, \
                   `threshold=first` keeps the threshold of the first window. The paper: averages over \
                   20 drives, and the loss by a history of 1.",
            sources: SOURCES,
            schemes: &["phftl", "phftl:history=1", "phftl:threshold=first"],
            view: View::List(QUALITY),
            told: &[
                ("", "phftl", "90.9 %, 83.4 %, 92.1 %, 86.7 %"),
                ("", "phftl:history=1", "accuracy 4.0 % less, at most 9.2 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "metadata",
            title: "Metadata (section V.B)",
            note: "The cache holds 1 % of the meta pages.",
            sources: SOURCES,
            schemes: &["phftl", "phftl:meta=free"],
            view: View::List(META),
            told: &[("", "phftl", "hit rate 98.2 to 99.9 %")],
            ..Experiment::NONE
        },
    ],
};
