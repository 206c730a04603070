//! The evaluation of the schemes `survival` and `frostline`, which are this project's own: with
//! many settings, with parts left out, and with the scatter of the figures.

use frostline_placement::Semantics;
use frostline_sim::Space;

use super::experiment::{
    Change, DeviceLayout, Experiment, FAR, Figure, PaperEvaluation, Setting, View, WAF,
};
use super::inputs::Workload;
use super::paper::Paper;
use super::run::{Run, WINDOWS};
use super::session::TraceSource;
use super::tables::Cell;

/// The entry of these schemes among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "survival",
    title: "Frostline, survival",
    about: "classes are clusters of learned survival curves; the project's own",
    tables: |session| EVALUATION.tables(session),
    experiments: EVALUATION.experiments,
};

const TPCC: TraceSource = TraceSource::Recorded(Workload::Tpcc);

const SOURCES: &[TraceSource] = &[
    TPCC,
    TraceSource::Recorded(Workload::LinkBench),
    TraceSource::Recorded(Workload::Ycsb50w),
    TraceSource::Zipf(1.0),
    TraceSource::Zipf(0.0),
    TraceSource::Given,
];

/// The traces for sweeps of settings.
const SWEPT: &[TraceSource] = &[TPCC, TraceSource::Zipf(1.0), TraceSource::Given];

/// The schemes of sweeps.
const FEW: &[&str] = &["sepbit", "frozen:lifespan", "survival", "frostline"];

const CHANGES: &[(&str, &str, &str)] = &[("survival", "sepbit", ""), ("frostline", "sepbit", "")];

const fn gp(name: &'static str, gp: f64) -> Setting {
    Setting { name, change: Change::Space(Space::Gp(gp)) }
}

const fn op(name: &'static str, op: f64) -> Setting {
    Setting { name, change: Change::Space(Space::Op(op)) }
}

const fn zones(name: &'static str, times: f64) -> Setting {
    Setting { name, change: Change::Zones(times) }
}

const fn open(name: &'static str, zones: usize) -> Setting {
    Setting { name, change: Change::Open(zones) }
}

const fn victims(name: &'static str) -> Setting {
    Setting { name, change: Change::Victim(name) }
}

/// WAF in quarters of a run.
const QUARTERS: &[Figure] = &[
    Figure { heading: "first quarter", of: |run| quarter(run, 0) },
    Figure { heading: "second", of: |run| quarter(run, 1) },
    Figure { heading: "third", of: |run| quarter(run, 2) },
    Figure { heading: "last", of: |run| quarter(run, 3) },
];

fn quarter(run: &Run, quarter: usize) -> Cell {
    let windows = WINDOWS as usize / 4;
    run.waf_in(quarter * windows..(quarter + 1) * windows)
}

/// The two ways to tell frozen pages: by curves, and by a classifier of page features.
const TOLD: &[Figure] = &[
    Figure { heading: "curves' precision", of: |run| gauge(run, "curves' precision") },
    Figure { heading: "curves' recall", of: |run| gauge(run, "curves' recall") },
    Figure { heading: "recogniser's precision", of: |run| gauge(run, "recogniser's precision") },
    Figure { heading: "recogniser's recall", of: |run| gauge(run, "recogniser's recall") },
    FAR,
    WAF,
];

fn gauge(run: &Run, name: &str) -> Cell {
    Cell::share(run.gauge(name))
}

/// Defaults for sweeps.
const SWEEP: Experiment =
    Experiment { sources: SWEPT, schemes: FEW, changes: CHANGES, ..Experiment::NONE };

pub(super) static EVALUATION: PaperEvaluation = PaperEvaluation {
    layout: DeviceLayout::USUAL,
    experiments: &[
        Experiment {
            name: "overall",
            title: "Write amplification by scheme and victim policy",
            note: "`frostline` goes by what the database tells of its pages; on traces without hotness \
                   records it is `survival`. The last three know the future.",
            sources: SOURCES,
            schemes: &[
                "nosep",
                "sepbit",
                "lifespan",
                "sepfrozen-bit",
                "frozen:lifespan",
                "survival",
                "frostline",
                "frozen-perfect:lifespan",
                "oracle-rate-frozen",
                "fk-kmeans",
            ],
            points: &[victims("cost-benefit"), victims("survival")],
            changes: CHANGES,
            ..Experiment::NONE
        },
        Experiment {
            name: "frozen",
            title: "Relocations of frozen pages",
            note: "FAR is the share of relocations that copied a page that is not written again. \
                   `sepfrozen-bit` and `frozen:lifespan` recognise frozen pages by a classifier of page \
                   features and keep them apart; `survival` and `frostline` have curves alone.",
            sources: &[TPCC, TraceSource::Recorded(Workload::LinkBench)],
            schemes: &["sepbit", "sepfrozen-bit", "frozen:lifespan", "survival", "frostline"],
            view: View::List(&[FAR, WAF]),
            ..Experiment::NONE
        },
        Experiment {
            name: "cells",
            title: "Frozen pages by curves and by a recogniser, for the same copies",
            note: "Copies of one run, that of the inner scheme: a recogniser judges each, and nothing is \
                   done about it (`separate=watch`). Curves take a page for frozen if it is more likely \
                   than not to outlive the last horizon, at least four times the volume's valid pages \
                   in user writes. Frozen is a page that the trace writes no more.",
            sources: &[TPCC, TraceSource::Recorded(Workload::LinkBench), TraceSource::Given],
            schemes: &[
                "frozen:survival:separate=watch:confidence=0.5",
                "frozen:frostline:separate=watch:confidence=0.5",
            ],
            view: View::List(TOLD),
            ..Experiment::NONE
        },
        Experiment {
            name: "time",
            title: "Write amplification in quarters of the run",
            note: "What is learned is worth more later; data grow meanwhile.",
            view: View::List(QUARTERS),
            changes: &[],
            ..SWEEP
        },
        Experiment {
            name: "gp",
            title: "Garbage proportion",
            points: &[
                gp("GP 5 %", 0.05),
                gp("10 %", 0.10),
                gp("15 %", 0.15),
                gp("25 %", 0.25),
                gp("50 %", 0.50),
            ],
            ..SWEEP
        },
        Experiment {
            name: "op",
            title: "Fixed capacity: over-provisioning",
            note: "Free zones run out before a garbage proportion is reached. A scheme that wants more \
                   zones than are spare has no figure.",
            points: &[
                op("OP 5 %", 0.05),
                op("7 %", 0.07),
                op("12 %", 0.12),
                op("20 %", 0.20),
                op("28 %", 0.28),
            ],
            ..SWEEP
        },
        Experiment {
            name: "zones",
            title: "Sizes of zones",
            note: "Times the usual, of which there are about 128 in the pages of a trace. No zone has \
                   fewer than 64 pages, which ends the row early at a small scale.",
            points: &[zones("1/4", 0.25), zones("1/2", 0.5), zones("2", 2.0), zones("4", 4.0)],
            ..SWEEP
        },
        Experiment {
            name: "open",
            title: "Limits of open zones",
            note: "SepBIT has six classes, and keeps them.",
            schemes: &["sepbit", "survival", "frostline"],
            points: &[open("6 zones", 6), open("8", 8), open("10", 10), open("14", 14)],
            ..SWEEP
        },
        Experiment {
            name: "loading",
            title: "With the load phase counted, and by another reading",
            note: "Elsewhere the page writes of loading are replayed first and do not count. \
                   `sepbit-fast22` is the reading of the simulator published with SepBIT.",
            points: &[
                Setting { name: "loading counted", change: Change::Loading },
                Setting {
                    name: "sepbit-fast22",
                    change: Change::Semantics(Semantics::SepbitFast22),
                },
            ],
            ..SWEEP
        },
        Experiment {
            name: "pages",
            title: "Pages of 16 KiB",
            note: "Each page write of a recording is one of the 16 KiB that it lies in. Of those nothing \
                   is told, so that `frostline` would be `survival`.",
            sources: &[TraceSource::Large(Workload::Tpcc), TraceSource::Large(Workload::LinkBench)],
            schemes: &["sepbit", "lifespan", "survival"],
            changes: &[("survival", "sepbit", "")],
            ..Experiment::NONE
        },
        Experiment {
            name: "parts",
            title: "Parts left out one by one",
            note: "`survival` is `frostline` without hints. `streams=0` has no classes of long runs.",
            schemes: &[
                "frostline",
                "survival",
                "survival:streams=0",
                "survival:classes=14:streams=0",
                "survival:classes=4",
                "survival:classes=2:streams=0",
            ],
            changes: &[
                ("survival:streams=0", "survival", ""),
                ("survival:classes=4", "survival", ""),
                ("survival:classes=2:streams=0", "survival", ""),
            ],
            ..SWEEP
        },
        Experiment {
            name: "starts",
            title: "Scatter by shifted starts",
            note: "TPC-C five times, each time begun 997 page writes later: nothing but where zones begin \
                   and end differs. A difference within two standard deviations is none.",
            sources: &[
                TraceSource::Later(Workload::Tpcc, 0),
                TraceSource::Later(Workload::Tpcc, 1),
                TraceSource::Later(Workload::Tpcc, 2),
                TraceSource::Later(Workload::Tpcc, 3),
                TraceSource::Later(Workload::Tpcc, 4),
            ],
            ..SCATTER
        },
        Experiment {
            name: "seeds",
            title: "Scatter by seed",
            note: "Zipf's law by five seeds. Nothing is told of pages.",
            sources: &[
                TraceSource::Zipf(1.0),
                TraceSource::Seeded(1.0, 1),
                TraceSource::Seeded(1.0, 2),
                TraceSource::Seeded(1.0, 3),
                TraceSource::Seeded(1.0, 4),
            ],
            ..SCATTER
        },
    ],
};

/// Defaults for experiments on scatter.
const SCATTER: Experiment = Experiment {
    schemes: &[
        "sepbit",
        "lifespan",
        "frozen:lifespan",
        "survival",
        "survival:classes=10:streams=4",
        "frostline",
    ],
    view: View::Scatter(WAF),
    changes: &[
        ("survival", "sepbit", ""),
        ("survival", "lifespan", ""),
        ("survival:classes=10:streams=4", "survival", ""),
        ("frostline", "sepbit", ""),
        ("frostline", "frozen:lifespan", ""),
        ("frostline", "survival", ""),
    ],
    ..Experiment::NONE
};
