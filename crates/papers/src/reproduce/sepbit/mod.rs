//! The evaluation of SepBIT: Wang et al., FAST 2022, sections 3 and 4.

mod inference;
mod probabilities;

use frostline_sim::Space;

use super::experiment::{
    Change, DeviceLayout, Experiment, FAR, Figure, PaperEvaluation, Setting, View, WAF,
};
use super::inputs::Workload;
use super::paper::Paper;
use super::session::{SKEWS, TraceSource};
use super::tables::Cell;

/// The entry of SepBIT among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "sepbit",
    title: "Wang et al., SepBIT",
    about: "classes by inferred lifespan and by age",
    tables: |session| EVALUATION.tables(session),
    experiments: EVALUATION.experiments,
};

/// The schemes of figure 12.
const SCHEMES: &[&str] = &[
    "nosep",
    "sepgc",
    "dac",
    "sfs",
    "multilog",
    "eti",
    "multiqueue",
    "sfr",
    "fadac",
    "warcip",
    "sepbit",
    "fk",
];

/// The schemes of figures 13 and 14.
const FEW: &[&str] = &["nosep", "sepgc", "warcip", "sepbit", "fk"];

/// The traces that replace the volumes of Alibaba's cloud.
const SOURCES: &[TraceSource] = &[
    TraceSource::Recorded(Workload::Tpcc),
    TraceSource::Recorded(Workload::LinkBench),
    TraceSource::Zipf(1.0),
    TraceSource::Given,
];

/// The traces for sweeps of settings.
const SWEPT: &[TraceSource] = &[TraceSource::Recorded(Workload::Tpcc), TraceSource::Zipf(1.0)];

const fn gp(name: &'static str, gp: f64) -> Setting {
    Setting { name, change: Change::Space(Space::Gp(gp)) }
}

const fn zones(name: &'static str, times: f64) -> Setting {
    Setting { name, change: Change::Zones(times) }
}

const fn victim(name: &'static str) -> Setting {
    Setting { name, change: Change::Victim(name) }
}

/// A gauge as a share of all pages.
fn of_pages(run: &super::run::Run, gauge: &str) -> Cell {
    let pages = f64::from(run.trace.volume.unique_pages());
    Cell::share(run.gauge(gauge).map(|held| 1.0 - held / pages))
}

static EVALUATION: PaperEvaluation = PaperEvaluation {
    layout: DeviceLayout {
        page_bytes: 4096,
        zones: 128,
        least_zone: 16,
        space: Space::Gp(0.15),
        victim: "cost-benefit",
        named: &[],
        ..DeviceLayout::USUAL
    },
    experiments: &[
        Experiment {
            name: "probabilities",
            title: "Probabilities under Zipf's law (figures 8 and 10)",
            view: View::Made(probabilities::tables),
            ..Experiment::NONE
        },
        Experiment {
            name: "inference",
            title: "The same probabilities, measured (figures 9 and 11)",
            view: View::Made(|session| inference::tables(session, SOURCES)),
            ..Experiment::NONE
        },
        Experiment {
            name: "victims",
            title: "Exp#1 and Exp#6: victim policies, on each trace (figures 12 and 17)",
            note: "The paper's figures are of 186 volumes of Alibaba's cloud, its Exp#6 is of 271 of \
                   Tencent's; the traces here are others, and each stands for itself. The paper \
                   gives changes: under greedy -28.5 % against NoSep, -8.6 to -15.9 % against \
                   SepGC and the schemes by temperature, +13.5 % against FK; under cost-benefit as \
                   below.",
            sources: SOURCES,
            schemes: SCHEMES,
            points: &[victim("cost-benefit"), victim("greedy")],
            changes: &[
                ("sepbit", "nosep", "-39.8 %"),
                ("sepbit", "sepgc", "-9.1 to -20.2 %"),
                ("sepbit", "dac", "-9.1 to -20.2 %"),
                ("sepbit", "warcip", "-9.1 to -20.2 %"),
                ("sepbit", "fk", "+3.1 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "zones",
            title: "Exp#2: size of zones (figure 13)",
            note: "The paper's 64 to 512 MiB are an eighth to one times its own size. It cleans as \
                   many bytes at once whatever the size, here one zone is cleaned after the other.",
            sources: SWEPT,
            schemes: FEW,
            points: &[
                zones("x1/8", 0.125),
                zones("x1/4", 0.25),
                zones("x1/2", 0.5),
                zones("x1", 1.0),
            ],
            changes: &[
                ("sepbit", "warcip", "-5.5 %, -8.2 %, -10.0 % up to x1/2"),
                ("sepbit", "fk", "-3.9 to -5.7 % up to x1/2"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "thresholds",
            title: "Exp#3: threshold of garbage (figure 14)",
            sources: SWEPT,
            schemes: FEW,
            points: &[gp("10 %", 0.10), gp("15 %", 0.15), gp("20 %", 0.20), gp("25 %", 0.25)],
            changes: &[("sepbit", "warcip", "-5.0 to -13.8 %"), ("sepbit", "fk", "within 1.8 %")],
            ..Experiment::NONE
        },
        Experiment {
            name: "victim-gp",
            title: "Exp#4: garbage in victims (figure 15)",
            note: "Quartiles of the garbage proportion of the zones that are cleaned; the paper gives \
                   medians over all volumes.",
            sources: SOURCES,
            schemes: &["nosep", "sepgc", "warcip", "sepbit"],
            view: View::List(&[
                Figure { heading: "p25", of: |run| Cell::Share(run.report.victim_gp.p25) },
                Figure { heading: "p50", of: |run| Cell::Share(run.report.victim_gp.p50) },
                Figure { heading: "p75", of: |run| Cell::Share(run.report.victim_gp.p75) },
                WAF,
                FAR,
            ]),
            told: &[
                ("", "nosep", "p50 32.3 %"),
                ("", "sepgc", "p50 51.6 %"),
                ("", "warcip", "p50 52.9 %"),
                ("", "sepbit", "p50 61.5 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "breakdown",
            title: "Exp#5: user writes and relocations separated alone (figure 16)",
            sources: SOURCES,
            schemes: &["nosep", "sepgc", "uw", "gw", "sepbit"],
            changes: &[
                ("uw", "nosep", "-35.2 %"),
                ("gw", "nosep", "-36.7 %"),
                ("uw", "sepgc", "-4.8 %"),
                ("gw", "sepgc", "-7.0 %"),
                ("sepbit", "uw", "-7.0 %"),
                ("sepbit", "gw", "-4.9 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "top-shares",
            title: "Exp#7: skew of Zipf's law (table 1)",
            view: View::Made(probabilities::top_shares),
            ..Experiment::NONE
        },
        Experiment {
            name: "skew",
            title: "Exp#7: skew (figure 18)",
            note: "Greedy. The paper has a point for each volume; where more than 80 % of the writes go \
                   to the top fifth of the pages SepBIT's WAF is 38.0 to 76.7 % below NoSep's.",
            sources: SKEWS,
            schemes: &["nosep", "sepbit"],
            points: &[victim("greedy")],
            changes: &[("sepbit", "nosep", "-38.0 to -76.7 % from 80 % on")],
            ..Experiment::NONE
        },
        Experiment {
            name: "skew-of-traces",
            title: "Exp#7: skew of the traces (figure 18)",
            note: "Greedy. The share of the writes to the most written fifth of the pages.",
            sources: SOURCES,
            schemes: &["nosep", "sepbit"],
            points: &[victim("greedy")],
            view: View::List(&[
                Figure { heading: "top fifth", of: |run| Cell::Share(run.trace.top_share()) },
                WAF,
            ]),
            ..Experiment::NONE
        },
        Experiment {
            name: "memory",
            title: "Exp#8: memory (figure 19)",
            note: "The share of the pages that the queue of recent LBAs leaves out: at its longest, and \
                   in the end. The paper: over all volumes together, and the median volume.",
            sources: SOURCES,
            schemes: &["sepbit:memory=fifo"],
            view: View::List(&[
                Figure { heading: "worst", of: |run| of_pages(run, "lbas_held_max") },
                Figure { heading: "snapshot", of: |run| of_pages(run, "lbas_held") },
                WAF,
            ]),
            told: &[("", "sepbit:memory=fifo", "44.8 % and 71.8 %; median 72.3 % and 93.1 %")],
            ..Experiment::NONE
        },
    ],
};
