//! A paper's experiment, as data.

use frostline_placement::Semantics;
use frostline_sim::Space;

use super::run::Run;
use super::session::{Session, TraceSource};
use super::tables::{Cell, ReportTable};
use crate::Result;

/// The evaluation of a paper.
#[derive(Debug)]
pub(super) struct PaperEvaluation {
    /// The device of its experiments, unless an experiment has another.
    pub(super) layout: DeviceLayout,
    /// Its experiments.
    pub(super) experiments: &'static [Experiment],
}

/// A device, and its cleaning.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeviceLayout {
    /// Bytes in a page; a page of a trace is taken for one page of the device.
    pub(super) page_bytes: u32,
    /// The approximate number of zones that the logical pages fill.
    pub(super) zones: u32,
    /// The fewest pages in a zone; a small volume has fewer zones instead.
    pub(super) least_zone: u32,
    /// The capacity, and the trigger of cleaning.
    pub(super) space: Space,
    /// The victim policy of schemes that have no own one.
    pub(super) victim: &'static str,
    /// Schemes whose papers name a victim policy, with that policy, which overrides `victim`.
    pub(super) named: &'static [(&'static str, &'static str)],
    /// Further victim policies to try: each scheme has the one with which it copies least.
    pub(super) tried: &'static [&'static str],
    /// Zones that may be open at once; `None` if there is no limit.
    pub(super) max_open: Option<usize>,
    /// The reading of the papers to follow.
    pub(super) semantics: Semantics,
    /// True if the page writes of loading are counted.
    pub(super) counts_loading: bool,
}

/// An experiment: its runs, and the table of their results.
#[derive(Debug)]
pub(super) struct Experiment {
    /// Its name in JSON and on the command line.
    pub(super) name: &'static str,
    /// Its title, with the paper's figure.
    pub(super) title: &'static str,
    /// A note for readers of its table.
    pub(super) note: &'static str,
    /// The traces.
    pub(super) sources: &'static [TraceSource],
    /// The schemes.
    pub(super) schemes: &'static [&'static str],
    /// The settings; each is run with all schemes on all traces.
    pub(super) points: &'static [Setting],
    /// The table.
    pub(super) view: View,
    /// The paper's figures: trace (any trace if empty), scheme, figure.
    pub(super) told: &'static [(&'static str, &'static str, &'static str)],
    /// Changes from one scheme to another, with the paper's figure; the new scheme comes first.
    pub(super) changes: &'static [(&'static str, &'static str, &'static str)],
}

impl Experiment {
    /// True if there are figures of the paper to show.
    pub(super) fn is_told(&self) -> bool {
        let told = self.told.iter().chain(self.changes);
        told.into_iter().any(|(_, _, told)| !told.is_empty())
    }
}

impl Experiment {
    /// Defaults for experiments.
    pub(super) const NONE: Experiment = Experiment {
        name: "",
        title: "",
        note: "",
        sources: &[],
        schemes: &[],
        points: &[Setting::USUAL],
        view: View::Grid(WAF),
        told: &[],
        changes: &[],
    };
}

/// A setting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    /// Its name in tables.
    pub(super) name: &'static str,
    /// The difference from the paper's own setting.
    pub(super) change: Change,
}

impl Setting {
    /// The paper's own setting.
    pub(super) const USUAL: Setting = Setting { name: "", change: Change::Nothing };
}

/// A difference from the paper's own setting.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// No difference.
    Nothing,
    /// Another victim policy.
    Victim(&'static str),
    /// The victim policy with which a scheme copies least: one of these, or what it has otherwise.
    BestVictim(&'static [&'static str]),
    /// Zones of this many times the size.
    Zones(f64),
    /// Another capacity, or trigger.
    Space(Space),
    /// At most this many open zones.
    Open(usize),
    /// Another reading of the papers.
    Semantics(Semantics),
    /// The page writes of loading are counted.
    Loading,
}

impl DeviceLayout {
    /// Defaults for devices.
    pub(super) const USUAL: DeviceLayout = DeviceLayout {
        page_bytes: 4096,
        zones: 128,
        least_zone: 64,
        space: Space::Gp(0.15),
        victim: "cost-benefit",
        named: &[],
        tried: &[],
        max_open: None,
        semantics: Semantics::Published,
        counts_loading: false,
    };

    /// The layout with this difference.
    pub(super) fn with(self, change: Change) -> DeviceLayout {
        match change {
            Change::Nothing => self,
            Change::Victim(victim) => DeviceLayout { victim, ..self },
            Change::BestVictim(tried) => DeviceLayout { tried, ..self },
            Change::Zones(times) => {
                DeviceLayout { zones: (f64::from(self.zones) / times).round() as u32, ..self }
            }
            Change::Space(space) => DeviceLayout { space, ..self },
            Change::Open(zones) => DeviceLayout { max_open: Some(zones), ..self },
            Change::Semantics(semantics) => DeviceLayout { semantics, ..self },
            Change::Loading => DeviceLayout { counts_loading: true, ..self },
        }
    }
}

/// The table of an experiment.
#[derive(Clone, Copy, Debug)]
pub(super) enum View {
    /// A row for each scheme, with this figure for each trace and setting.
    Grid(Figure),
    /// A row for each run, with these figures.
    List(&'static [Figure]),
    /// A row for each scheme and each change, with the mean of this figure over the traces and its
    /// scatter.
    Scatter(Figure),
    /// A row for each decision of a scheme.
    Decisions,
    /// Tables that are made without runs.
    Made(fn(&Session<'_>) -> Result<Vec<ReportTable>>),
}

/// A figure of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    /// The heading of its column.
    pub(super) heading: &'static str,
    /// The function that gives the figure of a run.
    pub(super) of: fn(&Run) -> Cell,
}

/// Pages written over pages written by the user.
pub(super) const WAF: Figure = Figure { heading: "WAF", of: |run| Cell::waf(run.report.waf) };
/// The victim policy.
pub(super) const VICTIM: Figure =
    Figure { heading: "victims", of: |run| Cell::text(&run.report.victim) };
/// Pages written beyond the user's, over the user's.
pub(super) const EXTRA: Figure =
    Figure { heading: "(F-U)/U", of: |run| Cell::waf(run.report.extra) };
/// The share of relocations that copied a frozen page.
pub(super) const FAR: Figure = Figure { heading: "FAR", of: |run| Cell::share(run.report.far) };
