//! `frostline reproduce`: a paper's evaluation, at a scale that fits a laptop.

mod inputs;
mod matrix;
mod models;
mod pages;
mod paper;
mod scale;
mod schemes;
mod tables;
mod throughput;

use std::path::Path;

use frostline_sim::Volume;
use frostline_trace::prepare;
use serde::Serialize;

use self::inputs::{Recorded, Workload, record};
use self::matrix::{Matrix, SCHEMES};
use self::models::Models;
use self::scale::{Scale, zone_pages};
use self::schemes::{OfWorkload, Sweep, claims, overall, quarters, steps, sweeps};
use self::tables::Table;
use self::throughput::throughput;
use crate::args::{ReproduceCommand, SepFrozenArgs};
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::output;

const WHAT: &str = "reproduce";

/// The result: a table for each of the paper's figures.
#[derive(Serialize)]
struct Report {
    frostline: &'static str,
    paper: &'static str,
    scale: f64,
    seed: u64,
    tables: Vec<Table>,
}

/// Does a paper's evaluation again.
pub fn run(command: &ReproduceCommand) -> Result<String, Failure> {
    let ReproduceCommand::Sepfrozen(args) = command;
    let files = files(args);
    if let Some(directory) = &args.out {
        let made = std::fs::create_dir_all(directory);
        made.map_err(|e| Failure::job(&directory.display().to_string(), &e.to_string()))?;
    }
    output::check::<Path>(WHAT, files.iter().flatten().map(AsRef::as_ref), [])?;
    let tables = sepfrozen(args)?;
    let report = Report {
        frostline: env!("CARGO_PKG_VERSION"),
        paper: "Tan et al., SepFrozen",
        scale: args.scale(),
        seed: args.seed,
        tables,
    };
    let (markdown, json) = (report.markdown(), output::json(WHAT, &report)?);
    let [markdown_file, json_file, asked] = &files;
    for (file, text) in [(markdown_file, &markdown), (json_file, &json), (asked, &json)] {
        if let Some(file) = file {
            output::write(file, text)?;
        }
    }
    let is_json_asked = args.json.is_some() && asked.is_none();
    Ok(if is_json_asked { json } else { markdown })
}

/// The files of `--out`, and of `--json` if that is one.
fn files(args: &SepFrozenArgs) -> [Option<std::path::PathBuf>; 3] {
    let in_directory = |name| args.out.as_ref().map(|directory| directory.join(name));
    let json = args.json.clone().filter(|path| path.as_os_str() != "-");
    [in_directory("sepfrozen.md"), in_directory("sepfrozen.json"), json]
}

impl Report {
    fn markdown(&self) -> String {
        let tables = self.tables.iter().map(|table| "\n".to_string() + &table.markdown());
        let title = format!("# {}, scale {}, seed {}\n", self.paper, self.scale, self.seed);
        title + &tables.collect::<String>()
    }
}

/// Everything that SepFrozen's evaluation has.
fn sepfrozen(args: &SepFrozenArgs) -> Result<Vec<Table>, Failure> {
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(WHAT, &e.to_string()))?;
    let scratch = tempfile::tempdir().map_err(|e| Failure::job(WHAT, &e.to_string()))?;
    let evaluation = Evaluation {
        args,
        scale: Scale(args.scale()),
        scratch: scratch.path(),
        interrupt: &interrupt,
    };
    let (mut made, mut runs, mut on_tpcc) = (Vec::new(), Vec::new(), Vec::new());
    let mut claimed = None;
    for workload in Workload::ALL {
        let recorded = evaluation.record(workload)?;
        let volume = prepare(None, recorded.writes.clone(), true)?;
        made.push(recorded.cells(volume.unique));
        let is_tpcc = matches!(workload, Workload::Tpcc { .. });
        if is_tpcc {
            on_tpcc.push(pages::mixing(&volume, recorded.loading));
            on_tpcc.push(pages::frozen_share(&volume, recorded.loading));
        }
        let pages = volume.unique;
        let matrix = evaluation.matrix(Volume::new(volume), recorded.loading);
        evaluation.say(&format!("{}: schemes", workload.name()));
        let of = OfWorkload { workload: workload.name(), runs: matrix.schemes(&SCHEMES)? };
        if is_tpcc {
            let models = Models::new(&recorded, pages, evaluation.scale, args.seed);
            claimed = Some(evaluation.on_tpcc(&of, &matrix, &models, &mut on_tpcc)?);
        }
        runs.push(of);
    }
    let mut tables = vec![inputs::table(made), overall(&runs)];
    tables.extend(claimed);
    if !args.no_timing {
        evaluation.say("throughput");
        tables.push(throughput(evaluation.scale, args.seed, args.quiet)?);
        interrupt.check();
    }
    tables.extend(on_tpcc);
    Ok(tables)
}

/// What all parts of it share.
struct Evaluation<'a> {
    args: &'a SepFrozenArgs,
    scale: Scale,
    scratch: &'a Path,
    interrupt: &'a Interrupt,
}

impl Evaluation<'_> {
    fn record(&self, workload: Workload) -> Result<Recorded, Failure> {
        self.say(&format!("{}: the engine at work", workload.name()));
        let Evaluation { args, scale, scratch, interrupt } = self;
        let recorded = record(workload, *scale, args.seed, scratch, args.quiet);
        interrupt.check();
        recorded
    }

    fn matrix(&self, volume: Volume, loading: u64) -> Matrix<'_> {
        let zone = zone_pages(volume.unique_pages());
        Matrix::new(volume, loading, zone, self.args.seed, self.args.quiet, self.interrupt)
    }

    /// What is looked at on TPC-C alone; returns the table of the paper's claims.
    fn on_tpcc(
        &self,
        of: &OfWorkload,
        matrix: &Matrix<'_>,
        models: &Models<'_>,
        tables: &mut Vec<Table>,
    ) -> Result<Table, Failure> {
        tables.push(quarters(of));
        self.say("TPC-C: step by step");
        tables.push(steps(matrix, models)?);
        self.say("TPC-C: victim policies, zones, thresholds");
        let sweeps = sweeps(matrix, &of.runs)?;
        tables.extend([&sweeps.victims, &sweeps.zones, &sweeps.thresholds].map(Sweep::table));
        self.say("TPC-C: models");
        tables.push(models.comparison(&matrix.two_r()?, !self.args.no_timing)?);
        self.interrupt.check();
        tables.push(models.history()?);
        tables.push(models.features()?);
        Ok(claims(&of.runs, &sweeps))
    }

    fn say(&self, what: &str) {
        if !self.args.quiet {
            say(&format!("{WHAT}: {what}"), None);
        }
    }
}
