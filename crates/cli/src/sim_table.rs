//! The result of `frostline sim` as a table.

use std::collections::HashSet;

use frostline_report::{Matrix, MatrixCell, MatrixRow};
use frostline_results::{ALL_VOLUMES, RunReport, SimReport};
use frostline_sim::{Settings, Space};

use crate::args::SimArgs;
use crate::size::Size;
use crate::table;
use crate::varied::Varied;

/// The report as text. With `details` it shows every run separately. `settings` are any of those
/// that `varied` tells the differences of.
pub(crate) fn text(
    args: &SimArgs,
    settings: &Settings,
    varied: &Varied,
    report: &SimReport,
    details: bool,
) -> String {
    let matrix = Matrix::of(report.runs.iter().filter(|run| is_shown(run)));
    let text = header(settings, varied, report) + &schemes(args, varied, &matrix);
    let text = text + &volumes(varied, report, &matrix);
    if details { text + &runs(args, varied, report) + &gauges(varied, report) } else { text }
}

/// The lines about the trace, the zones and the trigger.
fn header(settings: &Settings, varied: &Varied, report: &SimReport) -> String {
    let trace = &report.trace;
    let trims = match trace.trims {
        0 => String::new(),
        trims => format!(", {trims} trims"),
    };
    let guessed = if trace.requests_guessed { ", requests guessed" } else { "" };
    let mut text = format!(
        "{}: {} user writes to {} pages{trims} ({}{guessed})\n",
        trace.path, trace.user_writes, trace.unique_pages, trace.format
    );
    if let Some(run) = report.runs.first() {
        let zones = match varied.zones() {
            1 => {
                let zone = Size(u64::from(run.zone_pages) * u64::from(settings.page_size));
                format!("zones of {zone} ({} pages)", run.zone_pages)
            }
            several => format!("zones of {several} sizes"),
        };
        text += &format!("{zones}, {}\n\n", trigger(settings, varied, run));
    }
    text
}

/// The trigger of cleaning in words.
fn trigger(settings: &Settings, varied: &Varied, run: &RunReport) -> String {
    let gp = |gp| match varied.shares() {
        1 => format!("a garbage proportion of {} %", percent(gp)),
        several => format!("{several} garbage proportions"),
    };
    match settings.space {
        Space::Gp(share) => format!("cleaned above {}", gp(share)),
        Space::Bounded { gp: share, zones } => format!(
            "{zones} of them, cleaned above {} or below {} free ones",
            gp(share),
            settings.reserve,
        ),
        Space::Op(_) if varied.shares() > 1 => {
            format!("over-provisioned by {} shares of the logical pages", varied.shares())
        }
        Space::Op(op) => format!(
            "over-provisioned by {} % of the logical pages ({} % with whole zones, \
             {} % of the physical)",
            percent(op),
            percent(run.trigger["op_of_logical"]),
            percent(run.trigger["op_of_physical"]),
        ),
    }
}

/// True for runs over everything that was replayed, not over one of several volumes.
fn is_shown(run: &RunReport) -> bool {
    run.volume.as_deref().is_none_or(|volume| volume == ALL_VOLUMES)
}

/// The matrix: WAF by scheme and victim policy, with further figures of the scheme's best run. If
/// no policy was asked for, each scheme has but one, and a column names it.
fn schemes(args: &SimArgs, varied: &Varied, matrix: &Matrix<'_>) -> String {
    let by_default = args.victim.is_empty();
    let crossed = matrix.victims.len() + usize::from(matrix.own) > 1;
    let possible = matrix.rows.iter().flat_map(|row| row.best_run());
    let possible = possible.filter(|run| run.possible_gain.is_some()).count() > 0;
    let mut headings = varied.headings();
    headings.push("scheme");
    headings.extend(by_default.then_some("victim"));
    let left = headings.len();
    match by_default {
        true => headings.push("WAF"),
        false => {
            headings.extend(matrix.victims.iter().copied().chain(matrix.own.then_some("its own")))
        }
    }
    let figures = Figures { args, possible };
    headings.extend(figures.headings());
    let least = |setting| {
        let could_run = matrix.rows.iter().filter(|row| row.setting == setting && !row.is_oracle());
        could_run.filter_map(MatrixRow::best_run).map(|run| run.waf).min_by(f64::total_cmp)
    };
    let waf = |run: &RunReport, best| format!("{}{:.4}", if best { "*" } else { "" }, run.waf);
    let row = |row: &MatrixRow<'_>| {
        let Some(best) = row.best_run() else { return Vec::new() };
        let mut cells = varied.of_run(best);
        cells.push(row.scheme.to_string());
        if by_default {
            let is_best = !best.oracle && least(row.setting) == Some(best.waf);
            cells.extend([best.victim.clone(), waf(best, is_best)]);
        } else {
            let cell = |cell: &MatrixCell<'_>| waf(cell.run, cell.best);
            cells.extend(row.cells.iter().map(|of| of.as_ref().map(cell).unwrap_or_default()));
        }
        cells.extend(figures.of(best));
        cells
    };
    let table = table::columns(&headings, left, matrix.rows.iter().map(row).collect());
    let width = table.lines().map(str::len).max().unwrap_or(0);
    let title = "-- knowing the future ";
    let oracles = format!("{title}{}\n", "-".repeat(width.saturating_sub(title.len())));
    let mut lines = table.lines();
    let mut text = lines.next().unwrap_or_default().to_string() + "\n";
    let mut before: Option<&MatrixRow<'_>> = None;
    for (row, line) in matrix.rows.iter().zip(lines) {
        match before {
            Some(before) if before.setting != row.setting => text += "\n",
            Some(before) if row.is_oracle() && !before.is_oracle() => text += &oracles,
            _ => {}
        }
        text += &format!("{line}\n");
        before = Some(row);
    }
    let title = match (by_default, crossed) {
        (true, _) => "WAF by scheme, each with its victims, * the best",
        (false, true) => {
            "WAF by victim policy, * the best of each; what follows is of a scheme's best"
        }
        (false, false) => "WAF by victim policy, * the best of each",
    };
    format!("{title}\n{text}")
}

/// WAF over single volumes, if there are several: each scheme with its best victim policy.
fn volumes(varied: &Varied, report: &SimReport, matrix: &Matrix<'_>) -> String {
    let row = |row: &MatrixRow<'_>| {
        let best = row.best_run()?;
        let of = |run: &&RunReport| {
            let same = (&run.scheme, &run.victim, run.setting())
                == (&best.scheme, &best.victim, best.setting());
            same && !is_shown(run)
        };
        let mut wafs: Vec<_> = report.runs.iter().filter(of).map(|run| run.waf).collect();
        wafs.sort_by(f64::total_cmp);
        let last = wafs.len().checked_sub(1)?;
        let mut cells = varied.of_run(best);
        cells.extend([row.scheme.to_string(), best.victim.clone()]);
        let at = |share: f64| wafs[(share * last as f64).round() as usize];
        cells.extend([0.05, 0.25, 0.5, 0.75, 0.95].map(|share| format!("{:.4}", at(share))));
        Some(cells)
    };
    let rows: Vec<_> = matrix.rows.iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let single = report.runs.iter().filter(|run| !is_shown(run));
    let names: HashSet<_> = single.map(|run| &run.volume).collect();
    let mut headings = varied.headings();
    let left = headings.len() + 2;
    headings.extend(["scheme", "victim", "p5", "p25", "p50", "p75", "p95"]);
    format!("\nWAF over {} volumes\n{}", names.len(), table::columns(&headings, left, rows))
}

/// Figures of a run in addition to its WAF.
struct Figures<'a> {
    args: &'a SimArgs,
    possible: bool,
}

impl Figures<'_> {
    fn headings(&self) -> Vec<&'static str> {
        let mut headings = vec!["frozen"];
        if !self.args.no_gain {
            headings.push("gain");
        }
        if self.possible {
            headings.push("possible");
        }
        headings.extend(["reclaimed", "victim GP"]);
        if !self.args.no_timing {
            headings.push("M writes/s");
        }
        headings
    }

    fn of(&self, run: &RunReport) -> Vec<String> {
        let share = |share: Option<f64>| {
            share.map_or("-".to_string(), |share| format!("{:.1} %", share * 100.0))
        };
        let mut cells = vec![share(run.far)];
        if !self.args.no_gain {
            cells.push(share(run.gain));
        }
        if self.possible {
            cells.push(share(run.possible_gain));
        }
        cells.extend([run.zones_reclaimed.to_string(), format!("{:.3}", run.victim_gp.p50)]);
        if !self.args.no_timing {
            cells.push(format!("{:.1}", run.writes_per_second / 1e6));
        }
        cells
    }
}

/// Every run, in the order of the arguments.
fn runs(args: &SimArgs, varied: &Varied, report: &SimReport) -> String {
    let several = report.runs.iter().any(|run| run.volume.is_some());
    let possible = report.runs.iter().any(|run| run.possible_gain.is_some());
    let figures = Figures { args, possible };
    let mut headings = varied.headings();
    headings.extend(several.then_some("volume"));
    headings.extend(["scheme", "victim"]);
    let left = headings.len();
    headings.push("WAF");
    headings.extend(figures.headings());
    let rows = report.runs.iter().map(|run| {
        let mut row = varied.of_run(run);
        row.extend(several.then(|| run.volume.clone().unwrap_or_default()));
        row.extend([run.scheme.clone(), run.victim.clone(), format!("{:.4}", run.waf)]);
        row.extend(figures.of(run));
        row
    });
    format!("\n{}", table::columns(&headings, left, rows.collect()))
}

/// The schemes' own figures, one line per scheme.
fn gauges(varied: &Varied, report: &SimReport) -> String {
    let with = report.runs.iter().filter(|run| !run.gauges.is_empty());
    let lines = with.map(|run| {
        let all = run.gauges.iter().map(|(name, value)| format!("{name} {}", short(*value)));
        let all: Vec<_> = all.collect();
        let begin = varied.of_run(run).into_iter().chain(run.volume.clone());
        let begin: String = begin.map(|value| value + " ").collect();
        format!("\n{begin}{} {}: {}", run.scheme, run.victim, all.join(", "))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// A number with at most four digits after the point.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn percent(share: f64) -> String {
    short((share * 1e4).round() / 100.0)
}
