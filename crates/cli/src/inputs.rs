//! Inputs of commands: traces, read with a progress bar and joined with their preload.

use std::path::Path;

use frostline_placement::Semantics;
use frostline_results::TraceReport;
use frostline_sim::{Plan, Settings, TraceVolume};
use frostline_trace::{Format, LoadOptions, Loaded, TraceError, Writes, load, prepare, some_of};

use crate::args::{Loading, Reading, SimArgs};
use crate::failure::{Failure, say};
use crate::progress::bar;

/// Options for reading a trace in bounded memory.
pub(crate) fn read_options(reading: &Reading) -> LoadOptions {
    LoadOptions {
        format: reading.format,
        page_size: reading.page.0,
        unit: reading.unit.map(|unit| unit.0),
        volume: reading.volume.clone(),
        ..LoadOptions::default()
    }
}

/// Options for loading a trace.
pub(crate) fn load_options(loading: &Loading) -> LoadOptions {
    let memory = loading.max_memory.map(|size| size.0).or_else(most_memory);
    LoadOptions { memory, ..read_options(&loading.reading) }
}

/// The memory that a trace may take: three quarters of what the system could provide without
/// swapping, if the system tells that. The rest is for data derived from the trace.
pub(crate) fn most_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024 / 4 * 3)
}

/// Warns of a trace whose format does not distinguish reads from writes.
pub(crate) fn warn_of_reads(path: &Path, format: Format, quiet: bool) {
    if !format.tells_reads() && !quiet {
        let path = path.display();
        say(
            &format!(
                "{path}: warning: {format} does not tell reads: all requests are taken for writes"
            ),
            Some("if objects are sectors and not pages, --unit 512"),
        );
    }
}

/// Loads a trace, with a progress bar.
pub(crate) fn load_with_bar(
    path: &Path,
    options: &LoadOptions,
    quiet: bool,
) -> Result<Loaded, TraceError> {
    let bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    let bar = bar("reading", "bytes", bytes, quiet);
    let loaded = load(path, options, &mut |done| bar.set_position(done));
    bar.finish_and_clear();
    if let Ok(loaded) = &loaded {
        warn_of_reads(path, loaded.format, quiet);
    }
    loaded
}

/// The traces of a sweep.
pub(crate) struct Inputs {
    /// The traces.
    pub traces: Vec<TraceReport>,
    /// Their volumes, in this order.
    pub volumes: Vec<TraceVolume>,
    /// For each volume: the index of its trace, and its name there; the name is empty for an only
    /// volume.
    pub sources: Vec<(usize, String)>,
}

/// Reads all traces, each joined with its volume of the preload if there is one.
pub(crate) fn read(args: &SimArgs, settings: &Settings, plan: &Plan) -> Result<Inputs, Failure> {
    // That simulator needs times, and ignores trims.
    let fast22 = settings.semantics == Semantics::SepbitFast22;
    let mut options = LoadOptions {
        times: fast22,
        trims: !fast22,
        reads: plan.wants_reads(),
        hotness: plan.wants_hotness(),
        ..load_options(&args.loading)
    };
    let mut preload = match &args.preload {
        Some(path) => Preload::load(path, &mut options, args.quiet)?,
        None => Preload::default(),
    };
    let with_lifespans = plan.needs_lifespans() || settings.lifespans;
    let (mut traces, mut volumes, mut sources) = (Vec::new(), Vec::new(), Vec::new());
    for (number, path) in args.traces.iter().enumerate() {
        let loaded = load_within(path, &mut options, args.quiet)?;
        let alone = loaded.volumes.len() == 1;
        let first = volumes.len();
        let trims = loaded.volumes.iter().map(|writes| writes.trims.len() as u64).sum();
        for mut writes in loaded.volumes {
            let before = preload.take(&writes.name, alone);
            sources.push((number, if alone { String::new() } else { writes.name.clone() }));
            if args.traces.len() > 1 {
                writes.name = match alone {
                    true => path.display().to_string(),
                    false => format!("{}:{}", path.display(), writes.name),
                };
            }
            volumes.push(TraceVolume::new(prepare(before, writes, with_lifespans)?));
        }
        let own = &volumes[first..];
        traces.push(TraceReport {
            path: path.display().to_string(),
            format: loaded.format.to_string(),
            bytes: 0,
            sha256: None,
            user_writes: own.iter().map(TraceVolume::user_writes).sum(),
            unique_pages: own.iter().map(|v| u64::from(v.unique_pages())).sum(),
            requests_guessed: settings.guess && own.iter().any(TraceVolume::is_guess),
            trims,
        });
    }
    match &args.preload {
        Some(path) if !preload.used => Err(preload.unused(path)),
        _ => Ok(Inputs { traces, volumes, sources }),
    }
}

/// Loads one of several traces, which share the allowed memory.
fn load_within(path: &Path, options: &mut LoadOptions, quiet: bool) -> Result<Loaded, TraceError> {
    let loaded = load_with_bar(path, options, quiet)?;
    options.memory = options.memory.map(|memory| memory.saturating_sub(loaded.bytes()));
    Ok(loaded)
}

/// The volumes that are replayed first.
#[derive(Default)]
struct Preload {
    volumes: Vec<Writes>,
    used: bool,
}

impl Preload {
    fn load(path: &Path, options: &mut LoadOptions, quiet: bool) -> Result<Self, Failure> {
        let volumes = match load_within(path, options, quiet) {
            Ok(loaded) => loaded.volumes,
            // If a file has one volume, its name need not match.
            Err(error @ TraceError::UnknownVolume { .. }) => {
                let volume = options.volume.take();
                let loaded = load_within(path, options, quiet)?;
                options.volume = volume;
                if loaded.volumes.len() > 1 {
                    return Err(error.into());
                }
                loaded.volumes
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Preload { volumes, used: false })
    }

    /// The preload of a volume: the preload's volume with the same name; if both have only one
    /// volume, that one.
    fn take(&mut self, name: &str, alone: bool) -> Option<Writes> {
        let alone = alone && self.volumes.len() == 1;
        let found = self.volumes.iter().find(|p| alone || p.name == name).cloned();
        self.used |= found.is_some();
        found
    }

    fn unused(&self, path: &Path) -> Failure {
        let names = some_of(self.volumes.iter().map(|volume| volume.name.as_str()));
        let why = format!("none of its volumes ({names}) is in the trace");
        Failure::usage(&path.display().to_string(), &why)
            .hint("a preload goes before the volume of the same name; --volume picks one")
    }
}
