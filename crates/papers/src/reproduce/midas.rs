//! The evaluation of MiDAS: Oh et al., FAST 2024, as far as the slides describe it.

use frostline_sim::Space;

use super::experiment::{
    Change, DeviceLayout, Experiment, FAR, PaperEvaluation, Setting, VICTIM, View, WAF,
};
use super::inputs::Workload;
use super::paper::Paper;
use super::session::TraceSource;

/// The entry of MiDAS among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "midas",
    title: "Oh et al., MiDAS",
    about: "groups whose number and sizes a model finds",
    tables: |session| EVALUATION.tables(session),
    experiments: EVALUATION.experiments,
};

const SOURCES: &[TraceSource] = &[
    TraceSource::Recorded(Workload::Tpcc),
    TraceSource::Recorded(Workload::Ycsb50w),
    TraceSource::Zipf(0.8),
    TraceSource::Zipf(1.0),
    TraceSource::Given,
];

/// The schemes that MiDAS is compared with, and Frostline's own.
const SCHEMES: &[&str] = &[
    "1r-greedy",
    "cat",
    "multiqueue",
    "mida",
    "sepbit",
    "midas",
    "midas-frozen",
    "dogi",
    "frostline",
    "oracle-rate-frozen",
    "ora",
    "oracle-plan",
];

/// Each scheme with the victims that serve it best, in place of the authors' greedy.
const BEST: Setting =
    Setting { name: "best", change: Change::BestVictim(&["cost-benefit", "survival"]) };

pub(super) static EVALUATION: PaperEvaluation = PaperEvaluation {
    layout: DeviceLayout {
        page_bytes: 4096,
        zones: 512,
        least_zone: 16,
        space: Space::Op(0.07),
        victim: "greedy",
        named: &[],
        ..DeviceLayout::USUAL
    },
    experiments: &[
        Experiment {
            name: "overall",
            title: "WAF against other schemes",
            note: "`1r-greedy` is what the slides call PageFTL, `multiqueue` is AutoStream. They average \
                   over Varmail, YCSB-A and -F and TPC-C on MySQL, and traces of Alibaba's cloud and of \
                   Exchange. `ora` is their oracle, `dogi` the newest rival, of FAST 2026; \
                   `midas-frozen` and `oracle-plan`, the bound, are Frostline's. All have greedy \
                   victims, as there, but those that have their own; in the columns *best* each scheme \
                   has the victims with which it copies least: greedy, cost-benefit or survival.",
            sources: SOURCES,
            schemes: SCHEMES,
            points: &[Setting::USUAL, BEST],
            changes: &[
                ("midas", "cat", "-25 % on average of all"),
                ("midas", "multiqueue", "-25 % on average of all"),
                ("midas", "mida", "-25 % on average of all"),
                ("midas", "sepbit", "-16.5 %"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "victims",
            title: "The victims with which each scheme copies least",
            note: "Those of the columns *best* above.",
            sources: SOURCES,
            schemes: SCHEMES,
            points: &[BEST],
            view: View::Grid(VICTIM),
            ..Experiment::NONE
        },
        Experiment {
            name: "ablation",
            title: "The parts of MiDAS",
            note: "`midas:sizes=pool` is MiDA with a hot group, `midas:hot=no` has sized groups without \
                   one.",
            sources: SOURCES,
            schemes: &["mida", "midas:sizes=pool", "midas:hot=no", "midas"],
            changes: &[
                ("midas:sizes=pool", "mida", "-12 %"),
                ("midas", "mida", "-31 %"),
                ("midas:hot=no", "mida", ""),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "relocations",
            title: "Frozen pages",
            note: "Pages that freeze have no observed update interval: `midas` takes them for \
                   short-lived, `midas-frozen` has them in classes of their own.",
            sources: SOURCES,
            schemes: &["midas", "midas-frozen"],
            view: View::List(&[WAF, FAR]),
            ..Experiment::NONE
        },
        Experiment {
            name: "decisions",
            title: "Predictions and measurements, epoch by epoch",
            note: "The decisions of the scheme: after each epoch the distribution of lifespans, the WAF \
                   measured of late, the division that was found and the WAF that it predicts; and \
                   when groups went back to one pool because they did not hold what was predicted.",
            sources: SOURCES,
            schemes: &["midas", "midas-frozen"],
            view: View::Decisions,
            ..Experiment::NONE
        },
    ],
};
