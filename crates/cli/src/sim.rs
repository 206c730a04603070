//! `frostline sim`: replay traces against schemes.

use std::path::Path;

use frostline_placement::registry::{PAIRINGS, SCHEMES, SchemeSpec};
use frostline_placement::victims::{self, POLICIES};
use frostline_placement::Semantics;
use frostline_sim::{
    Plan, Progress, Report, RunReport, Settings, Space, TraceReport, Volume, ZoneSize, sweep,
};
use frostline_trace::{LoadOptions, Loaded, Writes, load, prepare};

use crate::args::{Reading, SemanticsArg, SimArgs};
use crate::failure::Failure;
use crate::progress::{bar, follow};
use crate::{size, table};

/// Replays, and returns the table or the JSON.
pub fn run(args: &SimArgs) -> Result<String, Failure> {
    let settings = settings(args)?;
    let plan = plan(args, &settings)?;
    if let Some(threads) = args.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().map_err(|e| Failure::job("sim", &e.to_string()))?;
    }
    let (traces, volumes) = read(args, &settings, &plan)?;
    let writes: u64 = volumes.iter().map(Volume::all_writes).sum();
    let total = writes * plan.runs().count() as u64;
    let progress = Progress::default();
    let bar = bar("replaying", "writes", total, args.quiet);
    let outcomes =
        follow(&bar, || progress.writes(), || sweep(&volumes, &plan, &settings, &progress));
    bar.finish_and_clear();
    let mut report = Report::new(traces, &volumes, &plan, &settings, &outcomes?);
    if args.no_timing {
        report = report.without_timing();
    }
    if !args.quiet && report.runs.iter().all(|run| run.zones_reclaimed == 0) {
        eprintln!(
            "frostline: sim: no zone was cleaned: the trace is too short for zones of this size"
        );
    }
    output(args, &settings, &report)
}

fn settings(args: &SimArgs) -> Result<Settings, Failure> {
    let space = match (args.gp, args.op) {
        (_, Some(op)) if op > 0.0 && op <= 100.0 => Space::Op(op),
        (_, Some(op)) => {
            return Err(Failure::usage("sim", &format!("--op {op}: must be above 0, at most 100")));
        }
        (gp, None) => {
            let gp = gp.unwrap_or(0.15);
            if !(gp > 0.0 && gp < 1.0) {
                let why = format!("--gp {gp}: must be above 0 and below 1");
                return Err(Failure::usage("sim", &why));
            }
            Space::Gp(gp)
        }
    };
    if args.op.is_some() && args.semantics == SemanticsArg::SepbitFast22 {
        let why = "--op is not part of the semantics sepbit-fast22, which has only --gp";
        return Err(Failure::usage("sim", why));
    }
    Ok(Settings {
        page_size: page_size(&args.reading)?,
        zone_size: args.zone.map_or(ZoneSize::Auto, |zone| ZoneSize::Bytes(zone.0)),
        space,
        max_open: args.max_open,
        reserve: args.free_zones,
        semantics: match args.semantics {
            SemanticsArg::Published => Semantics::Published,
            SemanticsArg::SepbitFast22 => Semantics::SepbitFast22,
        },
        seed: args.seed,
        warmup: args.warmup,
        window: args.window,
    })
}

/// Bytes in a page; whether it is a power of two is the trace's to say.
pub fn page_size(reading: &Reading) -> Result<u32, Failure> {
    let bytes = reading.page.0;
    u32::try_from(bytes)
        .map_err(|_| Failure::usage("--page", &format!("{bytes} bytes are too many for a page")))
}

/// How a trace is loaded.
pub fn load_options(reading: &Reading) -> Result<LoadOptions, Failure> {
    Ok(LoadOptions {
        format: reading.format,
        page_size: page_size(reading)?,
        volume: reading.volume.clone(),
        times: false,
        limit: None,
    })
}

/// Loads a trace behind a bar.
pub fn load_with_bar(path: &Path, options: &LoadOptions, quiet: bool) -> Result<Loaded, Failure> {
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let bar = bar("reading", "bytes", bytes, quiet);
    let loaded = load(path, options, &mut |done| bar.set_position(done));
    bar.finish_and_clear();
    Ok(loaded?)
}

fn plan(args: &SimArgs, settings: &Settings) -> Result<Plan, Failure> {
    let fast22 = settings.semantics == Semantics::SepbitFast22;
    let mut schemes = Vec::new();
    for text in &args.scheme {
        if text == "all" {
            let known = SCHEMES.iter().filter(|e| !fast22 || e.own_victim.is_none());
            let pairings = PAIRINGS.iter().filter(|_| !fast22).map(|p| p.name);
            for name in known.map(|e| e.info.name).chain(pairings) {
                schemes.push(SchemeSpec::parse(name)?);
            }
        } else {
            schemes.push(SchemeSpec::parse(text)?);
        }
    }
    let mut policies = Vec::new();
    for text in &args.victim {
        match text.as_str() {
            "all" => policies.extend(POLICIES.iter().map(|p| p.name.to_string())),
            _ => policies.push(text.clone()),
        }
    }
    for policy in &policies {
        victims::build(policy, settings.semantics, settings.seed)?;
    }
    Ok(Plan::new(&schemes, &policies, !args.no_gain)?)
}

/// Reads all traces, each with the preload before it if there is one.
fn read(
    args: &SimArgs,
    settings: &Settings,
    plan: &Plan,
) -> Result<(Vec<TraceReport>, Vec<Volume>), Failure> {
    let times = settings.semantics == Semantics::SepbitFast22;
    let options = LoadOptions { times, ..load_options(&args.reading)? };
    let preload = match &args.preload {
        Some(path) => load_with_bar(path, &options, args.quiet)?.volumes,
        None => Vec::new(),
    };
    let (mut traces, mut volumes) = (Vec::new(), Vec::new());
    for path in &args.traces {
        let loaded = load_with_bar(path, &options, args.quiet)?;
        let alone = loaded.volumes.len() == 1 && preload.len() == 1;
        let first = volumes.len();
        for mut writes in loaded.volumes {
            let before = preload.iter().find(|p| alone || p.name == writes.name);
            if args.traces.len() > 1 {
                writes.name = format!("{}:{}", path.display(), writes.name);
            }
            let before: Option<Writes> = before.cloned();
            volumes.push(Volume::new(prepare(before, writes, plan.needs_lifespans())?));
        }
        let own = &volumes[first..];
        traces.push(TraceReport {
            path: path.display().to_string(),
            format: loaded.format.to_string(),
            user_writes: own.iter().map(Volume::user_writes).sum(),
            unique_pages: own.iter().map(|v| u64::from(v.unique_pages())).sum(),
        });
    }
    Ok((traces, volumes))
}

fn output(args: &SimArgs, settings: &Settings, report: &Report) -> Result<String, Failure> {
    let json = || {
        let text = serde_json::to_string_pretty(report);
        text.map(|t| t + "\n").map_err(|e| Failure::job("sim", &e.to_string()))
    };
    match &args.json {
        Some(path) if path.as_os_str() == "-" => json(),
        Some(path) => {
            let written = std::fs::write(path, json()?);
            written.map_err(|e| Failure::job(&path.display().to_string(), &e.to_string()))?;
            Ok(text(settings, report, args.no_timing))
        }
        None => Ok(text(settings, report, args.no_timing)),
    }
}

/// The report as people read it.
fn text(settings: &Settings, report: &Report, no_timing: bool) -> String {
    let trace = &report.trace;
    let mut text = format!(
        "{}: {} user writes to {} pages ({})\n",
        trace.path, trace.user_writes, trace.unique_pages, trace.format
    );
    if let Some(run) = report.runs.first() {
        let zone = u64::from(run.zone_pages) * u64::from(settings.page_size);
        let trigger = match settings.space {
            Space::Gp(gp) => format!("cleaned above a garbage proportion of {} %", percent(gp)),
            Space::Op(op) => format!(
                "over-provisioned by {} % of the logical pages ({} % with whole zones, \
                 {} % of the physical)",
                percent(op),
                percent(run.trigger["op_of_logical"]),
                percent(run.trigger["op_of_physical"]),
            ),
        };
        let zone = size::binary(zone);
        text += &format!("zones of {zone} ({} pages), {trigger}\n\n", run.zone_pages);
    }
    let several = report.runs.iter().any(|run| run.volume.is_some());
    let mut headings = vec!["scheme", "victim", "WAF", "frozen", "gain", "reclaimed", "victim GP"];
    if several {
        headings.insert(0, "volume");
    }
    if !no_timing {
        headings.push("M writes/s");
    }
    let rows = report.runs.iter().map(|run| row(run, several, no_timing)).collect();
    text += &table::columns(&headings, if several { 3 } else { 2 }, rows);
    text + &gauges(report)
}

fn row(run: &RunReport, several: bool, no_timing: bool) -> Vec<String> {
    let mut row = vec![
        run.scheme.clone(),
        run.victim.clone(),
        format!("{:.4}", run.waf),
        format!("{:.1} %", run.far * 100.0),
        run.gain.map_or("-".to_string(), |gain| format!("{:.1} %", gain * 100.0)),
        run.zones_reclaimed.to_string(),
        format!("{:.3}", run.victim_gp.p50),
    ];
    if several {
        row.insert(0, run.volume.clone().unwrap_or_default());
    }
    if !no_timing {
        row.push(format!("{:.1}", run.writes_per_second / 1e6));
    }
    row
}

/// Figures of single schemes, a line each.
fn gauges(report: &Report) -> String {
    let with = report.runs.iter().filter(|run| !run.gauges.is_empty());
    let lines = with.map(|run| {
        let all: Vec<_> = run.gauges.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!("\n{} {}: {}", run.scheme, run.victim, all.join(", "))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
