//! The evaluation of 2R: Kang et al., PVLDB 13(11), 2020, sections 4.3 and 5.

use frostline_sim::Space;

use super::experiment::{
    Change, DeviceLayout, Experiment, FAR, Figure, PaperEvaluation, Setting, View, WAF,
};
use super::inputs::Workload;
use super::paper::Paper;
use super::run::{Run, WINDOWS};
use super::session::{SKEWS, TraceSource};
use super::tables::Cell;

/// The entry of 2R among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "2r",
    title: "Kang et al., 2R",
    about: "two regions, cold pages apart",
    tables: |session| EVALUATION.tables(session),
    experiments: EVALUATION.experiments,
};

const SCHEMES: &[&str] = &["1r-greedy", "2r-greedy", "2r-fifo"];

const TPCC: TraceSource = TraceSource::Recorded(Workload::Tpcc);
const SOURCES: &[TraceSource] =
    &[TraceSource::Zipf(1.0), TPCC, TraceSource::Recorded(Workload::LinkBench), TraceSource::Given];
/// The traces of its figures 9 to 11.
const ON_TPCC: &[TraceSource] = &[TPCC, TraceSource::Given];

const fn op(name: &'static str, op: f64) -> Setting {
    Setting { name, change: Change::Space(Space::Op(op)) }
}

/// WAF in a tenth of the run.
fn tenth(run: &Run, n: usize) -> Cell {
    const EACH: usize = WINDOWS as usize / 10;
    run.waf_in(n * EACH..(n + 1) * EACH)
}

/// WAF by tenths of the run, and over all of it.
const TENTHS: &[Figure] = &[
    Figure { heading: "0.1", of: |run| tenth(run, 0) },
    Figure { heading: "0.2", of: |run| tenth(run, 1) },
    Figure { heading: "0.3", of: |run| tenth(run, 2) },
    Figure { heading: "0.4", of: |run| tenth(run, 3) },
    Figure { heading: "0.5", of: |run| tenth(run, 4) },
    Figure { heading: "0.6", of: |run| tenth(run, 5) },
    Figure { heading: "0.7", of: |run| tenth(run, 6) },
    Figure { heading: "0.8", of: |run| tenth(run, 7) },
    Figure { heading: "0.9", of: |run| tenth(run, 8) },
    Figure { heading: "1.0", of: |run| tenth(run, 9) },
    Figure { heading: "all", of: |run| Cell::waf(run.report.waf) },
];

/// The share of zones with this many tenths of valid pages, among the sealed zones at three
/// quarters of the run.
fn valid(run: &Run, tenth: usize) -> Cell {
    let census = run.outcome.windows.get(WINDOWS as usize * 3 / 4 - 1).map(|window| &window.census);
    let of = |zones: &[[u32; 10]]| {
        let all: u32 = zones.iter().flatten().sum();
        let those: u32 = zones.iter().map(|class| class[tenth]).sum();
        f64::from(those) / f64::from(all)
    };
    Cell::share(census.map(|zones| of(zones)))
}

const UTILISATION: &[Figure] = &[
    Figure { heading: "below 10 %", of: |run| valid(run, 0) },
    Figure { heading: "20 %", of: |run| valid(run, 1) },
    Figure { heading: "30 %", of: |run| valid(run, 2) },
    Figure { heading: "40 %", of: |run| valid(run, 3) },
    Figure { heading: "50 %", of: |run| valid(run, 4) },
    Figure { heading: "60 %", of: |run| valid(run, 5) },
    Figure { heading: "70 %", of: |run| valid(run, 6) },
    Figure { heading: "80 %", of: |run| valid(run, 7) },
    Figure { heading: "90 %", of: |run| valid(run, 8) },
    Figure { heading: "100 %", of: |run| valid(run, 9) },
];

/// The share of cold zones among the zones in use, after this many tenths of the run.
fn cold(run: &Run, tenths: usize) -> Cell {
    let census = run.outcome.windows.get(WINDOWS as usize / 10 * tenths - 1).map(|w| &w.census);
    let of = |zones: &[[u32; 10]]| {
        let each = zones.iter().map(|class| f64::from(class.iter().sum::<u32>()));
        let each: Vec<f64> = each.collect();
        each.get(1).copied().unwrap_or(0.0) / each.iter().sum::<f64>()
    };
    Cell::share(census.map(|zones| of(zones)))
}

const COLD: &[Figure] = &[
    Figure { heading: "0.1", of: |run| cold(run, 1) },
    Figure { heading: "0.2", of: |run| cold(run, 2) },
    Figure { heading: "0.4", of: |run| cold(run, 4) },
    Figure { heading: "0.6", of: |run| cold(run, 6) },
    Figure { heading: "0.8", of: |run| cold(run, 8) },
    Figure { heading: "1.0", of: |run| cold(run, 10) },
];

/// The median share of valid pages in victims.
const VICTIMS: Figure =
    Figure { heading: "valid in victims", of: |run| Cell::Share(1.0 - run.report.victim_gp.p50) };

pub(super) static EVALUATION: PaperEvaluation = PaperEvaluation {
    layout: DeviceLayout {
        page_bytes: 4096,
        zones: 2560,
        least_zone: 16,
        space: Space::Op(0.1),
        victim: "greedy",
        named: &[],
        ..DeviceLayout::USUAL
    },
    experiments: &[
        Experiment {
            name: "running-waf",
            title: "Running WAF (figure 7)",
            note: "By tenths of each trace, and over all of it. OP is 10 % of the pages that there are \
                   in the end. The paper's text gives WAF over all of TPC-C.",
            sources: SOURCES,
            schemes: SCHEMES,
            view: View::List(TENTHS),
            told: &[("TPC-C", "2r-greedy", "all 1.61"), ("TPC-C", "2r-fifo", "all 1.23")],
            ..Experiment::NONE
        },
        Experiment {
            name: "comparison",
            title: "Other schemes (figure 14)",
            note: "The paper: LFS with cost-benefit lies between 2R-Greedy and 2R-FIFO, DAC with \
                   cost-benefit is best on all traces; 2R-FIFO halves 1R-Greedy's WAF.",
            sources: SOURCES,
            schemes: &[
                "1r-greedy",
                "2r-greedy",
                "2r-fifo",
                "lfs-cb",
                "dac-cb",
                "sepbit",
                "frostline",
            ],
            points: &[Setting { name: "", change: Change::Victim("cost-benefit") }],
            changes: &[
                ("2r-fifo", "1r-greedy", "-50 %"),
                ("2r-fifo", "2r-greedy", "TPC-C -24 %, derived"),
                ("2r-fifo", "lfs-cb", "below"),
                ("2r-fifo", "dac-cb", "above"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "skew",
            title: "Skew (figure 8)",
            note: "Zipf's law on a full volume. The paper: the same WAF up to 0.4, 2R below 1R-Greedy \
                   from 0.6 on, and never above it.",
            sources: SKEWS,
            schemes: SCHEMES,
            changes: &[
                ("2r-greedy", "1r-greedy", "never above"),
                ("2r-fifo", "1r-greedy", "never above"),
            ],
            ..Experiment::NONE
        },
        Experiment {
            name: "op",
            title: "Over-provisioning (figure 11)",
            note: "The paper: 2R-FIFO with 5 % is below 1R-Greedy with 50 %.",
            sources: ON_TPCC,
            schemes: SCHEMES,
            points: &[
                op("5 %", 0.05),
                op("10 %", 0.1),
                op("20 %", 0.2),
                op("30 %", 0.3),
                op("40 %", 0.4),
                op("50 %", 0.5),
            ],
            changes: &[("2r-fifo", "1r-greedy", "below")],
            ..Experiment::NONE
        },
        Experiment {
            name: "utilisation",
            title: "Valid pages of zones (figure 9)",
            note: "The share of the sealed zones at three quarters of the run, by what of them is \
                   valid: from the heading before up to this one. The paper: 1R-Greedy has one peak, \
                   above the point of cleaning, 2R two, of normal and of cold zones.",
            sources: ON_TPCC,
            schemes: SCHEMES,
            view: View::List(UTILISATION),
            ..Experiment::NONE
        },
        Experiment {
            name: "cold-zones",
            title: "Cold zones over time (figure 10)",
            note: "The share of the sealed zones that are of the cold region; valid in victims: the \
                   median over all of them. The paper: 2R-FIFO's share is about 0.2 lower, of all \
                   zones; its figure of victims is the mean of normal ones.",
            sources: ON_TPCC,
            schemes: &["2r-greedy", "2r-fifo"],
            view: View::List(COLD),
            ..Experiment::NONE
        },
        Experiment {
            name: "victims",
            title: "Valid pages of victims (section 5.2.3)",
            note: "The median over all victims; the paper's are means over the normal ones, for \
                   1R-Greedy over those of the last tenth on another trace of TPC-C.",
            sources: ON_TPCC,
            schemes: SCHEMES,
            view: View::List(&[VICTIMS, WAF, FAR]),
            told: &[("", "1r-greedy", "0.8"), ("", "2r-greedy", "0.41"), ("", "2r-fifo", "0.16")],
            ..Experiment::NONE
        },
        Experiment {
            name: "scan-depth",
            title: "FIFO_SCAN_DEPTH (figure 6)",
            sources: ON_TPCC,
            schemes: &[
                "2r-fifo:scan-depth=0.6",
                "2r-fifo:scan-depth=0.7",
                "2r-fifo:scan-depth=0.8",
                "2r-fifo:scan-depth=0.9",
                "2r-fifo:scan-depth=1.0",
            ],
            told: &[("", "2r-fifo:scan-depth=0.8", "the lowest")],
            ..Experiment::NONE
        },
        Experiment {
            name: "tenants",
            title: "Four tenants (figure 13)",
            note: "TPC-C four times at LBAs of their own, a page of each in turn, beside a single one. \
                   The paper: the gap is very close to that of a single tenant; there the last \
                   hundredth has 1.7 under 2R-FIFO and 5 under 1R-Greedy.",
            sources: &[TPCC, TraceSource::Tenants(4)],
            schemes: SCHEMES,
            changes: &[("2r-fifo", "1r-greedy", "very close to each other")],
            ..Experiment::NONE
        },
    ],
};
