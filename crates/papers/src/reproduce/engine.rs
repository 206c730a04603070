//! Runs experiments, and puts their results into tables.

use std::rc::Rc;
use std::slice::from_ref;

use frostline_placement::SchemeSpec;
use frostline_sim::{Combination, Plan, Settings, SimError, ZoneSize, report};

use super::experiment::{DeviceLayout, Experiment, Figure, PaperEvaluation, Setting, View};
use super::going_on;
use super::run::{Run, WINDOWS};
use super::scatter;
use super::session::{Session, Trace, TraceSource};
use super::tables::{Cell, ReportTable, headings};
use crate::Result;
use crate::sweep::ledgered_sweep;

impl PaperEvaluation {
    /// Runs all experiments of the evaluation, or those that were asked for.
    pub(super) fn tables(&self, session: &Session<'_>) -> Result<Vec<ReportTable>> {
        let is_wanted = |name: &str| {
            let only = &session.how.only;
            only.is_empty() || only.iter().any(|wanted| wanted == name)
        };
        let wanted = || self.experiments.iter().filter(|experiment| is_wanted(experiment.name));
        let mut sources: Vec<TraceSource> = Vec::new();
        for &source in wanted().flat_map(|experiment| experiment.sources) {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let traces = session.traces(&sources)?;
        let mut tables = Vec::from_iter((!traces.is_empty()).then(|| described(&traces)));
        for experiment in wanted() {
            going_on(session.monitor)?;
            tables.extend(experiment.tables(session, self.layout)?);
        }
        Ok(tables)
    }
}

impl Experiment {
    fn tables(&self, session: &Session<'_>, layout: DeviceLayout) -> Result<Vec<ReportTable>> {
        if let View::Made(make) = self.view {
            session.begin(self.title);
            return make(session);
        }
        let traces = session.traces(self.sources)?;
        session.begin(self.title);
        let mut runs = Vec::new();
        for trace in &traces {
            for point in self.points {
                runs.extend(self.runs(session, layout.with(point.change), trace, point)?);
            }
        }
        Ok(vec![self.table(&runs, &traces)])
    }

    fn runs(
        &self,
        session: &Session<'_>,
        layout: DeviceLayout,
        trace: &Rc<Trace>,
        point: &Setting,
    ) -> Result<Vec<Run>> {
        let volume = from_ref(&trace.volume);
        let settings = settings(layout, trace, session.how.seed);
        let specs = self.schemes.iter().map(|name| SchemeSpec::parse(name));
        let mut specs =
            specs.collect::<std::result::Result<Vec<_>, _>>().map_err(SimError::from)?;
        loop {
            let wanted = specs.iter().flat_map(|spec| with_victims(spec, layout)).collect();
            let plan = Plan { wanted, references: Vec::new(), gains: false };
            let ledger = trace.finished.ledger(&settings);
            let done = ledgered_sweep(volume, &plan, from_ref(&settings), &ledger, session.monitor);
            let outcomes = match done {
                // A scheme that needs more spare zones than the device has gets no figure.
                Err(SimError::OverProvisioning { scheme, .. }) => {
                    specs.retain(|spec| spec.text != scheme);
                    continue;
                }
                outcomes => outcomes?,
            };
            going_on(session.monitor)?;
            let reports = report(Vec::new(), volume, &plan, from_ref(&settings), &outcomes).runs;
            let outcomes = outcomes.into_iter().flat_map(|all| all.wanted).flatten();
            let run = |(report, outcome)| Run {
                trace: trace.clone(),
                point: point.name,
                report,
                outcome,
            };
            return Ok(best_of_each(reports.into_iter().zip(outcomes).map(run)));
        }
    }

    fn table(&self, runs: &[Run], traces: &[Rc<Trace>]) -> ReportTable {
        let (columns, rows) = match self.view {
            View::Grid(figure) => self.grid(figure, runs, traces),
            View::List(figures) => self.list(figures, runs),
            View::Scatter(figure) => scatter::table(self, figure, runs),
            View::Decisions => decisions(runs),
            View::Made(_) => (Vec::new(), Vec::new()),
        };
        let title = self.title.to_string();
        ReportTable { name: self.name, title, note: self.note.to_string(), columns, rows }
    }

    /// A row for each scheme and each change, and a column for each trace and setting.
    fn grid(
        &self,
        figure: Figure,
        runs: &[Run],
        traces: &[Rc<Trace>],
    ) -> (Vec<String>, Vec<Vec<Cell>>) {
        let cells: Vec<_> = traces
            .iter()
            .flat_map(|t| self.points.iter().map(move |p| (&t.name, p.name)))
            .collect();
        let heading = |&(trace, point): &(&String, &str)| match (traces.len(), point) {
            (_, "") => trace.clone(),
            (1, point) => point.to_string(),
            (_, point) => format!("{trace}, {point}"),
        };
        let at = |scheme: &str, (trace, point): &(&String, &str)| {
            runs.iter().find(|run| {
                run.report.scheme == scheme && run.trace.name == **trace && run.point == *point
            })
        };
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for &scheme in self.schemes {
            let each = cells.iter().map(|cell| at(scheme, cell).map_or(Cell::UNKNOWN, figure.of));
            rows.push(row(scheme.to_string(), each, self.told_of("", scheme)));
        }
        for &(to, from, told) in self.changes {
            let value = |scheme, cell| at(scheme, cell).and_then(|run| (figure.of)(run).value());
            let change = |cell| match (value(to, cell), value(from, cell)) {
                (Some(to), Some(from)) => Cell::change(to / from - 1.0),
                _ => Cell::UNKNOWN,
            };
            rows.push(row(format!("{to} against {from}"), cells.iter().map(change), Some(told)));
        }
        let first = format!("{} of", figure.heading);
        let mut columns: Vec<_> = [first].into_iter().chain(cells.iter().map(heading)).collect();
        columns.push("paper".to_string());
        if !self.is_told() {
            columns.pop();
            rows.iter_mut().for_each(|row| drop(row.pop()));
        }
        (columns, rows)
    }

    /// A row for each run.
    fn list(&self, figures: &[Figure], runs: &[Run]) -> (Vec<String>, Vec<Vec<Cell>>) {
        let mut columns = vec!["trace".to_string(), "scheme".to_string()];
        let has_points = self.points.len() > 1;
        columns.extend(has_points.then(|| "setting".to_string()));
        columns.extend(figures.iter().map(|figure| figure.heading.to_string()));
        columns.extend(self.is_told().then(|| "paper".to_string()));
        let row = |run: &Run| {
            let mut row = vec![Cell::text(&run.trace.name), Cell::text(&run.report.scheme)];
            row.extend(has_points.then(|| Cell::text(run.point)));
            row.extend(figures.iter().map(|figure| (figure.of)(run)));
            let told = self.told_of(&run.trace.name, &run.report.scheme).unwrap_or_default();
            row.extend(self.is_told().then(|| Cell::text(told)));
            row
        };
        (columns, runs.iter().map(row).collect())
    }

    /// The paper's figure for a scheme on a trace; an entry with an empty trace name is for any
    /// trace.
    fn told_of(&self, trace: &str, scheme: &str) -> Option<&'static str> {
        let is_of = |on: &str| on.is_empty() || trace.is_empty() || on == trace;
        let told = self.told.iter().find(|(on, of, _)| is_of(on) && *of == scheme);
        told.map(|(_, _, told)| *told)
    }
}

/// The table of the traces that the experiments use.
fn described(traces: &[Rc<Trace>]) -> ReportTable {
    let row = |trace: &Rc<Trace>| {
        let command = match &trace.command[..] {
            "" => String::new(),
            command => format!("`frostline {command}`"),
        };
        vec![
            Cell::text(&trace.name),
            Cell::Count(trace.volume.unique_pages().into()),
            Cell::Count(trace.loading),
            Cell::Count(trace.volume.user_writes().saturating_sub(trace.loading)),
            Cell::Share(trace.top_share()),
            Cell::text(command),
        ]
    };
    ReportTable {
        name: "traces",
        title: "Traces".to_string(),
        note: "Page writes of loading do not count. Top fifth: the share of the page writes that go to \
               the most written fifth of the pages."
            .to_string(),
        columns: headings(["trace", "pages", "loading", "page writes", "top fifth", "command"]),
        rows: traces.iter().map(row).collect(),
    }
}

fn row(name: String, cells: impl Iterator<Item = Cell>, told: Option<&'static str>) -> Vec<Cell> {
    let told = Cell::text(told.unwrap_or_default());
    [Cell::Text(name)].into_iter().chain(cells).chain([told]).collect()
}

/// A row for each decision of a scheme.
fn decisions(runs: &[Run]) -> (Vec<String>, Vec<Vec<Cell>>) {
    let row = |run: &Run, line: &String| {
        vec![Cell::text(&run.trace.name), Cell::text(&run.report.scheme), Cell::text(line)]
    };
    let rows = runs.iter().flat_map(|run| {
        let lines = run.outcome.explanation.iter().map(|line| row(run, line));
        lines.collect::<Vec<_>>()
    });
    (headings(["trace", "scheme", "decision"]), rows.collect())
}

/// Of the runs of each scheme, the one that copies least.
fn best_of_each(runs: impl Iterator<Item = Run>) -> Vec<Run> {
    let mut best: Vec<Run> = Vec::new();
    for run in runs {
        match best.iter_mut().find(|other| other.report.scheme == run.report.scheme) {
            None => best.push(run),
            Some(other) if run.report.waf < other.report.waf => *other = run,
            Some(_) => {}
        }
    }
    best
}

/// A scheme with its victim policy on such a device, and with those to try, each once.
fn with_victims(spec: &SchemeSpec, layout: DeviceLayout) -> Vec<Combination> {
    let usual = with_victim(spec, layout);
    let tried = layout.tried.iter().filter(|_| spec.victim.is_none());
    let others = tried.filter(|victim| **victim != usual.victim);
    let others = others.map(|victim| Combination { victim: victim.to_string(), ..usual.clone() });
    [usual.clone()].into_iter().chain(others).collect()
}

/// A scheme with its victim policy on such a device.
fn with_victim(spec: &SchemeSpec, layout: DeviceLayout) -> Combination {
    let named = layout.named.iter().find(|(scheme, _)| *scheme == spec.entry.info.name);
    let victim = spec.victim.or(named.map(|(_, victim)| *victim)).unwrap_or(layout.victim);
    Combination { scheme: spec.clone(), victim: victim.to_string() }
}

/// Settings for a replay on such a device.
fn settings(layout: DeviceLayout, trace: &Trace, seed: u64) -> Settings {
    let DeviceLayout { page_bytes, zones, least_zone, space, max_open, semantics, .. } = layout;
    let zone = (trace.volume.unique_pages() / zones.max(1)).max(least_zone);
    let zone_pages = 1u64 << zone.ilog2();
    let warmup = if layout.counts_loading { 0 } else { trace.loading };
    let counted = trace.volume.user_writes().saturating_sub(warmup);
    Settings {
        page_size: page_bytes,
        zone_size: ZoneSize::Bytes(zone_pages * u64::from(page_bytes)),
        space,
        seed,
        max_open,
        semantics,
        warmup,
        window: counted.div_ceil(WINDOWS).max(1),
        ..Settings::default()
    }
}

#[cfg(test)]
mod tests {
    use frostline_sim::Space;

    use super::*;
    use crate::reproduce::Reproduction;
    use crate::reproduce::experiment::{Change, EXTRA, VICTIM, WAF};

    const ZIPF: &[TraceSource] = &[TraceSource::Zipf(1.0), TraceSource::Zipf(0.0)];
    const POINTS: &[Setting] = &[
        Setting { name: "tight", change: Change::Space(Space::Op(0.2)) },
        Setting { name: "none", change: Change::Space(Space::Op(0.001)) },
    ];
    const LAYOUT: DeviceLayout = DeviceLayout {
        page_bytes: 4096,
        zones: 64,
        least_zone: 16,
        space: Space::Gp(0.15),
        victim: "greedy",
        named: &[("sepgc", "cost-benefit")],
        ..DeviceLayout::USUAL
    };
    const GRID: Experiment = Experiment {
        name: "grid",
        sources: ZIPF,
        schemes: &["nosep", "sepgc"],
        points: POINTS,
        told: &[("", "sepgc", "2")],
        changes: &[("sepgc", "nosep", "-10 %")],
        ..Experiment::NONE
    };

    fn made(experiments: &'static [Experiment], only: &[&str]) -> Vec<ReportTable> {
        let how = Reproduction {
            scale: 0.01,
            seed: 1,
            timing: false,
            traces: Vec::new(),
            only: only.iter().map(ToString::to_string).collect(),
        };
        let session = Session::new(&how, &());
        PaperEvaluation { layout: LAYOUT, experiments }.tables(&session).unwrap()
    }

    #[test]
    fn a_grid_has_schemes_and_changes_by_traces_and_settings_and_gaps_where_nothing_runs() {
        let tables = made(&[GRID], &[]);
        let [traces, grid] = &tables[..] else { panic!("{tables:?}") };
        assert_eq!((traces.rows.len(), &traces.rows[1][0].value()), (2, &None));
        let columns = [
            "WAF of",
            "Zipf 1.0, tight",
            "Zipf 1.0, none",
            "Zipf 0.0, tight",
            "Zipf 0.0, none",
            "paper",
        ];
        assert_eq!(grid.columns, columns);
        let waf = |row: usize| grid.rows[row][1].value().unwrap();
        assert!(1.0 < waf(1) && waf(1) < waf(0));
        assert!(grid.rows.iter().all(|row| row[2].value().is_none()), "{grid:?}");
        let json = serde_json::to_value(grid).unwrap();
        assert_eq!(
            (&json["rows"][1]["paper"], &json["rows"][2]["paper"]),
            (&"2".into(), &"-10 %".into())
        );
        let change = format!("{:+.1} %", (waf(1) / waf(0) - 1.0) * 100.0);
        assert_eq!(json["rows"][2]["Zipf 1.0, tight"], change);
    }

    #[test]
    fn the_best_victims_of_a_scheme_are_those_with_which_it_copies_least() {
        const TRIED: &[&str] = &["fifo", "greedy", "cost-benefit"];
        const BEST: Setting = Setting { name: "best", change: Change::BestVictim(TRIED) };
        const EACH: [Setting; 3] = [
            Setting { name: "fifo", change: Change::Victim("fifo") },
            Setting { name: "greedy", change: Change::Victim("greedy") },
            Setting { name: "cost-benefit", change: Change::Victim("cost-benefit") },
        ];
        const OF: Experiment = Experiment {
            name: "of",
            sources: &[TraceSource::Zipf(1.0)],
            schemes: &["nosep", "dac", "2r-fifo"],
            points: &[BEST, EACH[0], EACH[1], EACH[2]],
            ..Experiment::NONE
        };
        const NAMES: Experiment =
            Experiment { name: "names", points: &[BEST], view: View::Grid(VICTIM), ..OF };
        let tables = made(&[OF, NAMES], &[]);
        let value = |row: usize, column: usize| tables[1].rows[row][column].value().unwrap();
        for row in 0..3 {
            let least = (2..5).map(|column| value(row, column)).fold(f64::MAX, f64::min);
            assert_eq!(value(row, 1), least, "{:?}", tables[1]);
            let Cell::Text(victim) = &tables[2].rows[row][1] else { panic!("{:?}", tables[2]) };
            let column = EACH.iter().position(|one| one.name == *victim).map_or(2, |at| at + 2);
            assert_eq!(value(row, column), least, "{victim}");
        }
    }

    #[test]
    fn a_list_has_a_row_for_each_run_and_only_what_is_asked_for_runs() {
        const LIST: Experiment = Experiment {
            name: "list",
            sources: &[TraceSource::Zipf(0.0)],
            view: View::List(&[WAF, EXTRA]),
            points: &[Setting::USUAL],
            ..GRID
        };
        let tables = made(&[GRID, LIST], &["list"]);
        assert_eq!(tables.iter().map(|table| table.name).collect::<Vec<_>>(), ["traces", "list"]);
        assert_eq!(tables[1].columns, ["trace", "scheme", "WAF", "(F-U)/U", "paper"]);
        let rows = &tables[1].rows;
        assert_eq!(rows.len(), 2);
        let [waf, extra] = [2, 3].map(|column| rows[0][column].value().unwrap());
        assert!((waf - 1.0 - extra).abs() < 1e-9, "{waf} {extra}");
    }

    #[test]
    fn a_scheme_keeps_the_victim_policy_that_its_paper_names() {
        let victim = |scheme| with_victim(&SchemeSpec::parse(scheme).unwrap(), LAYOUT).victim;
        assert_eq!(victim("nosep"), "greedy");
        assert_eq!(victim("sepgc"), "cost-benefit");
        assert_eq!(victim("2r-fifo"), "2r-fifo");
    }
}
