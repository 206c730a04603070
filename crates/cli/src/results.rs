//! Results of a sweep in files; and runs that were done before or are done elsewhere.

use std::path::{Path, PathBuf};

use frostline_papers::{CellSource, Cells};
use frostline_report::{check_parquet, csv, write_parquet};
use frostline_results::{InputFile, ReplaySetup, RunRecord, SimReport};
use frostline_sim::{Settings, Space, TraceVolume};

use crate::args::SimArgs;
use crate::cause::{paper_failure, report_failure};
use crate::failure::{Failure, say};
use crate::identities::{COMMIT, Identities};
use crate::output;

/// A file format of results.
#[derive(Clone, Copy)]
enum FileFormat {
    Json,
    Lines,
    Csv,
    Parquet,
}

/// Files of results, with their formats.
pub(crate) struct FileFormats<'a>(Vec<(&'a Path, FileFormat)>);

/// The formats of these files, from their endings.
pub(crate) fn forms(files: &[PathBuf]) -> Result<FileFormats<'_>, Failure> {
    let form = |file: &PathBuf| {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_lowercase().as_str() {
            "json" => Ok(FileFormat::Json),
            "ndjson" | "jsonl" => Ok(FileFormat::Lines),
            "csv" => Ok(FileFormat::Csv),
            "parquet" => {
                check_parquet(file).map_err(|e| report_failure("sim", e))?;
                Ok(FileFormat::Parquet)
            }
            _ => {
                let why =
                    format!("--output {}: the form is not known by the ending", file.display());
                Err(Failure::usage("sim", &why).hint("name it .json, .ndjson, .csv or .parquet"))
            }
        }
    };
    let with_form = |file| form(file).map(|form| (file.as_path(), form));
    Ok(FileFormats(files.iter().map(with_form).collect::<Result<_, _>>()?))
}

impl FileFormats<'_> {
    /// Writes the files.
    pub(crate) fn write(&self, report: &SimReport) -> Result<(), Failure> {
        let records = report.records();
        self.0.iter().try_for_each(|(file, form)| match form {
            FileFormat::Json => output::write(file, &output::json("sim", report)?),
            FileFormat::Lines => output::write(file, &lines(&records)?),
            FileFormat::Csv => {
                output::write(file, &csv(&records).map_err(|e| report_failure("sim", e))?)
            }
            FileFormat::Parquet => {
                write_parquet(file, &records).map_err(|e| report_failure("sim", e))
            }
        })
    }
}

fn lines(records: &[RunRecord]) -> Result<String, Failure> {
    let line = |record: &RunRecord| serde_json::to_string(record).map(|line| line + "\n");
    let lines = records.iter().map(line).collect::<Result<String, _>>();
    lines.map_err(|error| Failure::job("sim", &error.to_string()))
}

/// The runs to do, and those that were done before.
pub(crate) fn cells(
    args: &SimArgs,
    settings: &[Settings],
    volumes: &[TraceVolume],
    sources: &[(usize, String)],
    identities: &Identities,
) -> Result<Cells, Failure> {
    let Some(manifest) = &args.manifest else {
        return Ok(Cells::new(args.shard, Vec::new(), Vec::new()));
    };
    let source = |(trace, volume): &(usize, String)| {
        let path = &args.traces[*trace];
        let sha256 = identities.traces[*trace].clone().ok_or_else(|| not_a_file(path))?;
        Ok(CellSource { trace: path.display().to_string(), sha256, volume: volume.clone() })
    };
    let sources = sources.iter().map(source).collect::<Result<Vec<_>, Failure>>()?;
    if let Some(preload) = args.preload.as_ref().filter(|_| identities.preload.is_none()) {
        return Err(not_a_file(preload));
    }
    let parts = settings.iter().map(|one| {
        let zone_pages = one.zone_pages(volumes)?;
        Ok(parts(one, zone_pages, args, identities))
    });
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let mut cells = Cells::new(args.shard, sources, parts);
    let others = cells.keep_in(manifest).map_err(|error| paper_failure("sim", error))?;
    if others > 0 && !args.quiet {
        let file = manifest.display();
        say(
            &format!("{file}: warning: {others} lines are no finished runs, and are not used"),
            None,
        );
    }
    Ok(cells)
}

/// Everything that outcomes depend on, except the volume, the scheme and the victim policy.
fn parts(
    settings: &Settings,
    zone_pages: u32,
    args: &SimArgs,
    identities: &Identities,
) -> serde_json::Value {
    let space = match settings.space {
        Space::Gp(gp) => serde_json::json!({ "gp": gp }),
        Space::Op(op) => serde_json::json!({ "op": op, "free_zones": settings.reserve }),
        Space::Bounded { gp, zones } => {
            serde_json::json!({ "gp": gp, "zones": zones, "free_zones": settings.reserve })
        }
    };
    let digest = |file: &Option<InputFile>| file.as_ref().map(|file| file.sha256.clone());
    serde_json::json!({
        "frostline": env!("CARGO_PKG_VERSION"),
        "commit": COMMIT,
        "trigger": space,
        "zone_pages": zone_pages,
        "page_bytes": settings.page_size,
        "unit": args.loading.reading.unit.map(|unit| unit.0.get()),
        "format": args.loading.reading.format.map(|format| format.to_string()),
        "in_units": settings.unit,
        "as_store": settings.store.map(|store| format!("{store:?}")),
        "reopened": settings.reopened,
        "max_open": settings.max_open,
        "guess": settings.guess,
        "semantics": ReplaySetup::from(settings).semantics,
        "seed": settings.seed,
        "warmup": settings.warmup,
        "window": settings.window,
        "preload": digest(&identities.preload),
        "model": digest(&identities.model),
    })
}

fn not_a_file(path: &Path) -> Failure {
    let why =
        format!("--manifest: {} can be read but once, and is not known again", path.display());
    Failure::usage("sim", &why).hint("write it to a file first")
}
