//! `frostline sim`: replays traces against schemes.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use frostline_papers::ledgered_sweep;
use frostline_placement::Semantics;
use frostline_results::{RunReport, SimReport};
use frostline_sim::{Outcomes, Plan, Settings, Space, TraceVolume, ZoneSize};

use crate::args::{SemanticsArg, SimArgs};
use crate::cause::paper_failure;
use crate::failure::{Failure, say};
use crate::identities::Identities;
use crate::inputs::{Inputs, read};
use crate::interrupt::Interrupt;
use crate::screen::Screen;
use crate::varied::Varied;
use crate::{output, results, sim_table};

/// Replays the traces; returns the table or the JSON. With `details` the table shows every run
/// separately.
pub(crate) fn run(args: &SimArgs, details: bool) -> Result<String, Failure> {
    each_once(&args.traces)?;
    let forms = results::forms(&args.output)?;
    let inputs = args.traces.iter().chain(&args.preload).chain(&args.model);
    output::check("sim", args.json.iter().chain(&args.output).map(PathBuf::as_path), inputs)?;
    if args.model.is_some() && !args.scheme.iter().any(|scheme| asks_for_model(scheme)) {
        return Err(Failure::usage("sim", "--model: no scheme that is named here has a model")
            .hint(
                "recogniser=model is the parameter, as in --scheme frozen:dac:recogniser=model",
            ));
    }
    let settings = settings(args)?;
    // They differ in zones and capacity only.
    let of_all = &settings[0];
    let plan = Plan::named(&args.scheme, &args.victim, !args.no_gain, of_all)?;
    settings.iter().try_for_each(|one| plan.check(one))?;
    // Also as many as there are cores, as otherwise nothing says that the system refuses them.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.map_or(0, usize::from));
    pool.build_global().map_err(|e| Failure::job("sim", &format!("threads: {e}")))?;
    let identities = Identities::look(args);
    let Inputs { mut traces, volumes, sources } = read(args, of_all, &plan)?;
    warmed_up(args, &volumes)?;
    let identities = identities.wait(&mut traces)?;
    let cells = results::cells(args, &settings, &volumes, &sources, &identities)?;
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("sim", &e.to_string()))?;
    let screen = Screen::new("sim", args.quiet, &interrupt);
    let outcomes = ledgered_sweep(&volumes, &plan, &settings, &cells, &screen)?;
    if let Some(manifest) = &args.manifest {
        cells.check(manifest).map_err(|error| paper_failure("sim", error))?;
    }
    let mut report = frostline_sim::report(traces, &volumes, &plan, &settings, &outcomes);
    identities.sign(&mut report);
    if let Some(shard) = args.shard {
        // Runs of other shards are missing, too, without an interruption.
        report.interrupted &= interrupt.has_come();
        report.shard = Some(shard.to_string());
    }
    if args.no_timing {
        report = report.without_timing();
    }
    if !args.quiet && !report.interrupted {
        warn(args, &report, &outcomes);
    }
    let written = forms.write(&report);
    let varied = Varied::of(&settings);
    let explained = match args.explain {
        true => explanations(&varied, &settings, &plan, &outcomes),
        false => String::new(),
    };
    let text = || sim_table::text(args, of_all, &varied, &report, details) + &explained;
    let text = output::emit("sim", args.json.as_deref(), &report, text)?;
    if let Err(failure) = written {
        // The table is what is left of runs that took long.
        return Err(failure.with_data(text));
    }
    let finished = outcomes.iter().flat_map(|outcomes| outcomes.wanted.iter().flatten()).count();
    let wanted = settings.len() * volumes.len() * plan.wanted.len();
    let why = format!("{finished} of {wanted} runs are finished");
    match interrupt.failure("sim", &why).filter(|_| report.interrupted) {
        Some(failure) => Err(failure.with_data(text)),
        None => Ok(text),
    }
}

/// The decisions of the schemes with their reasons, run by run.
fn explanations(
    varied: &Varied,
    settings: &[Settings],
    plan: &Plan,
    outcomes: &[Outcomes],
) -> String {
    let mut text = String::new();
    let volumes = outcomes.len() / settings.len().max(1);
    for (settings, outcomes) in settings.iter().zip(outcomes.chunks(volumes.max(1))) {
        let begin: String =
            varied.of_settings(settings).iter().map(|value| format!("{value} ")).collect();
        for (run, outcome) in outcomes.iter().flat_map(|o| plan.wanted.iter().zip(&o.wanted)) {
            for line in outcome.iter().flat_map(|outcome| &outcome.explanation) {
                text += &format!("\n{begin}{} {} {line}", run.scheme.text, run.victim);
            }
        }
    }
    text
}

/// Refuses a trace that is named twice: its rows would look alike, and the sum would count it
/// twice.
fn each_once(traces: &[PathBuf]) -> Result<(), Failure> {
    let mut named = HashSet::new();
    match traces.iter().find(|trace| !named.insert(*trace)) {
        Some(trace) => Err(Failure::usage("sim", &format!("{} is given twice", trace.display()))),
        None => Ok(()),
    }
}

/// True if a scheme recognises frozen pages by the model of the command line.
fn asks_for_model(scheme: &str) -> bool {
    scheme.split(':').any(|part| part == "recogniser=model")
}

/// Checks that writes are left to count after the warm-up.
fn warmed_up(args: &SimArgs, volumes: &[TraceVolume]) -> Result<(), Failure> {
    let longest = volumes.iter().map(TraceVolume::user_writes).max().unwrap_or(0);
    if args.warmup < longest {
        return Ok(());
    }
    let what = if volumes.len() > 1 { "the longest volume has" } else { "the trace has" };
    let why = format!("--warmup {}: {what} only {longest} user writes", args.warmup);
    Err(Failure::usage("sim", &why))
}

/// Warns of figures that mean less than they seem to mean.
fn warn(args: &SimArgs, report: &SimReport, outcomes: &[Outcomes]) {
    if !report.runs.is_empty() && report.runs.iter().all(|run| run.zones_reclaimed == 0) {
        let why = "sim: warning: no zone was cleaned, so nothing can be told of the schemes";
        say(why, Some("a longer trace, smaller zones (--zone) or a --preload"));
    }
    let is_whole = |run: &RunReport| {
        let whole = run.user_writes * u64::from(args.loading.reading.page.0);
        run.unit.is_some() && run.user_bytes == Some(whole) && run.delta_writes.unwrap_or(0) == 0
    };
    if !report.runs.is_empty() && report.runs.iter().all(is_whole) {
        let why = "sim: warning: --in-units changes nothing, as the trace does not say how many \
                   bytes of a page must be written";
        say(why, Some("a Parquet trace with a column bytes, as benches record with --record"));
    }
    let missing = outcomes.iter().flat_map(|o| &o.references).find_map(|r| r.as_ref().err());
    if let Some(error) = missing.filter(|_| args.shard.is_none()) {
        let why =
            format!("sim: warning: no gain is shown, as one of its ends can't be run: {error}");
        say(&why, Some("--no-gain leaves it out"));
    }
}

/// The settings of the sweep: each size of zones with each capacity.
fn settings(args: &SimArgs) -> Result<Vec<Settings>, Failure> {
    let gps = if args.gp.is_empty() { &[0.15][..] } else { &args.gp[..] };
    let (spaces, option): (Vec<_>, _) = match args.zones {
        _ if !args.op.is_empty() => (args.op.iter().map(|&op| Space::Op(op)).collect(), "--op"),
        Some(zones) => (gps.iter().map(|&gp| Space::Bounded { gp, zones }).collect(), "--zones"),
        None => (gps.iter().map(|&gp| Space::Gp(gp)).collect(), "--gp"),
    };
    let zone_sizes = match &args.zone[..] {
        [] => vec![ZoneSize::Auto],
        zones => zones.iter().map(|zone| ZoneSize::Bytes(zone.0)).collect(),
    };
    if option != "--op" && args.semantics == SemanticsArg::MidasFast24 {
        return Err(Failure::usage("sim", "the semantics midas-fast24 have only --op"));
    }
    if option != "--gp" && args.semantics == SemanticsArg::SepbitFast22 {
        let why =
            format!("{option} is not part of the semantics sepbit-fast22, which has only --gp");
        return Err(Failure::usage("sim", &why));
    }
    let unit = args.in_units.map(|unit| u32::try_from(unit.0).unwrap_or(u32::MAX));
    let store = args.as_store.map(|store| store.shape(unit.unwrap_or(4096))).transpose();
    let of_all = Settings {
        page_size: args.loading.reading.page.0,
        unit,
        store: store.map_err(|why| Failure::usage("sim", &format!("--as-store: {why}")))?,
        reopened: args.reopened,
        max_open: args.max_open.map(|zones| zones as usize),
        reserve: args.free_zones,
        semantics: match args.semantics {
            SemanticsArg::Published => Semantics::Published,
            SemanticsArg::SepbitFast22 => Semantics::SepbitFast22,
            SemanticsArg::MidasFast24 => Semantics::MidasFast24,
        },
        seed: args.seed,
        model: args.model.as_deref().map(crate::learn::read).transpose()?.map(Arc::new),
        warmup: args.warmup,
        window: args.window,
        guess: !args.no_guess,
        lifespans: args.lifespans,
        ..Settings::default()
    };
    Ok(of_all.crossed(&zone_sizes, &spaces))
}
