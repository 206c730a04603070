//! The result of `frostline sim` as a table.

use frostline_lab::binary;
use frostline_sim::{RunReport, Settings, SimReport, Space};

use crate::args::SimArgs;
use crate::table;

/// The report as people read it.
pub fn text(args: &SimArgs, settings: &Settings, report: &SimReport) -> String {
    let trace = &report.trace;
    let trims = match trace.trims {
        0 => String::new(),
        trims => format!(", {trims} trims"),
    };
    let mut text = format!(
        "{}: {} user writes to {} pages{trims} ({})\n",
        trace.path, trace.user_writes, trace.unique_pages, trace.format
    );
    if let Some(run) = report.runs.first() {
        let zone = u64::from(run.zone_pages) * u64::from(settings.page_size);
        let trigger = match settings.space {
            Space::Gp(gp) => format!("cleaned above a garbage proportion of {} %", percent(gp)),
            Space::Bounded { gp, zones } => format!(
                "{zones} of them, cleaned above a garbage proportion of {} % or below {} free ones",
                percent(gp),
                settings.reserve,
            ),
            Space::Op(op) => format!(
                "over-provisioned by {} % of the logical pages ({} % with whole zones, \
                 {} % of the physical)",
                percent(op),
                percent(run.trigger["op_of_logical"]),
                percent(run.trigger["op_of_physical"]),
            ),
        };
        let zone = binary(zone);
        text += &format!("zones of {zone} ({} pages), {trigger}\n\n", run.zone_pages);
    }
    let several = report.runs.iter().any(|run| run.volume.is_some());
    let mut headings = vec!["scheme", "victim", "WAF", "frozen", "gain", "reclaimed", "victim GP"];
    if several {
        headings.insert(0, "volume");
    }
    if args.no_gain {
        headings.retain(|heading| *heading != "gain");
    }
    let possible = report.runs.iter().any(|run| run.possible_gain.is_some());
    if possible {
        let gain = headings.iter().position(|heading| *heading == "gain");
        headings.insert(gain.map_or(headings.len(), |gain| gain + 1), "possible");
    }
    if !args.no_timing {
        headings.push("M writes/s");
    }
    let rows = report.runs.iter().map(|run| row(args, run, (several, possible))).collect();
    text += &table::columns(&headings, if several { 3 } else { 2 }, rows);
    text + &gauges(report)
}

fn row(args: &SimArgs, run: &RunReport, (several, possible): (bool, bool)) -> Vec<String> {
    let mut row = vec![run.scheme.clone(), run.victim.clone()];
    if several {
        row.insert(0, run.volume.clone().unwrap_or_default());
    }
    let share = |share: Option<f64>| {
        share.map_or("-".to_string(), |share| format!("{:.1} %", share * 100.0))
    };
    let far = share(run.far);
    row.extend([format!("{:.4}", run.waf), far]);
    if !args.no_gain {
        row.push(share(run.gain));
    }
    if possible {
        row.push(share(run.possible_gain));
    }
    row.extend([run.zones_reclaimed.to_string(), format!("{:.3}", run.victim_gp.p50)]);
    if !args.no_timing {
        row.push(format!("{:.1}", run.writes_per_second / 1e6));
    }
    row
}

/// Figures of single schemes, a line each.
fn gauges(report: &SimReport) -> String {
    let with = report.runs.iter().filter(|run| !run.gauges.is_empty());
    let lines = with.map(|run| {
        let all = run.gauges.iter().map(|(name, value)| format!("{name} {}", short(*value)));
        let all: Vec<_> = all.collect();
        let volume = run.volume.as_ref().map(|name| format!("{name} ")).unwrap_or_default();
        format!("\n{volume}{} {}: {}", run.scheme, run.victim, all.join(", "))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// A number with no more than four digits after the point.
fn short(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn percent(share: f64) -> String {
    short((share * 1e4).round() / 100.0)
}
