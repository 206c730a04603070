//! A paper's evaluation, at a scale that fits a laptop.

mod inputs;
mod matrix;
mod models;
mod pages;
mod paper;
mod report;
mod scale;
mod schemes;
mod tables;
mod throughput;

use std::path::Path;

use frostline_sim::Volume;
use frostline_trace::prepare;

use self::inputs::{Recorded, Workload, record};
use self::matrix::{Matrix, SCHEMES};
use self::models::Models;
use self::scale::{Scale, zone_pages};
use self::schemes::{OfWorkload, Sweep, claims, overall, quarters, steps, sweeps};
use self::throughput::throughput;
use crate::monitor::{Event, Monitor};
use crate::{Error, Result};

pub use inputs::{Input, InputWorkload};
pub use report::PaperReport;
pub use tables::{Cell, Table};

/// The evaluation of Tan et al., SepFrozen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SepFrozen {
    /// Size of the databases and length of the runs, more than 0. At 1 there are four warehouses of
    /// TPC-C and 400 MiB of YCSB.
    pub scale: f64,
    /// Seed of all chance.
    pub seed: u64,
    /// Measure times, too. Without them, equal runs give equal tables.
    pub timing: bool,
}

impl SepFrozen {
    /// The benches whose page writes are recorded and replayed.
    pub fn inputs(&self) -> Vec<Input> {
        let input = |workload| Input::recorded(workload, Scale(self.scale), self.seed);
        Workload::ALL.into_iter().map(input).collect()
    }

    /// Does the evaluation.
    ///
    /// # Errors
    /// [`Error::Stopped`]; what a bench, a replay or a model failed with.
    pub fn run(&self, monitor: &dyn Monitor) -> Result<PaperReport> {
        let temporary = |source| Error::Io { what: "a temporary directory".to_string(), source };
        let scratch = tempfile::tempdir().map_err(temporary)?;
        let (scale, scratch) = (Scale(self.scale), scratch.path());
        let tables = Evaluation { setup: self, scale, scratch, monitor }.tables()?;
        Ok(PaperReport {
            frostline: env!("CARGO_PKG_VERSION"),
            paper: "Tan et al., SepFrozen",
            scale: self.scale,
            seed: self.seed,
            tables,
        })
    }
}

/// The parts that all of the evaluation shares.
struct Evaluation<'a> {
    setup: &'a SepFrozen,
    scale: Scale,
    scratch: &'a Path,
    monitor: &'a dyn Monitor,
}

impl Evaluation<'_> {
    fn tables(&self) -> Result<Vec<Table>> {
        let (mut made, mut runs, mut on_tpcc) = (Vec::new(), Vec::new(), Vec::new());
        let mut claimed = None;
        for workload in Workload::ALL {
            let recorded = self.record(workload)?;
            let volume = prepare(None, recorded.writes.clone(), true)?;
            made.push(recorded.cells(volume.unique));
            let is_tpcc = workload == Workload::Tpcc;
            if is_tpcc {
                on_tpcc.push(pages::mixing(&volume, recorded.loading));
                on_tpcc.push(pages::frozen_share(&volume, recorded.loading));
            }
            let pages = volume.unique;
            let matrix = self.matrix(Volume::new(volume), recorded.loading);
            self.begin(&format!("{}: schemes", workload.name()));
            let of = OfWorkload { workload: workload.name(), runs: matrix.schemes(&SCHEMES)? };
            if is_tpcc {
                let models = Models::new(&recorded, pages, self.scale, self.setup.seed);
                claimed = Some(self.on_tpcc(&of, &matrix, &models, &mut on_tpcc)?);
            }
            runs.push(of);
        }
        let mut tables = vec![inputs::table(made), overall(&runs)];
        tables.extend(claimed);
        if self.setup.timing {
            self.begin("throughput");
            tables.push(throughput(self.scale, self.setup.seed, self.monitor)?);
        }
        tables.extend(on_tpcc);
        Ok(tables)
    }

    fn record(&self, workload: Workload) -> Result<Recorded> {
        self.begin(&format!("{}: the engine at work", workload.name()));
        record(workload, self.scale, self.setup.seed, self.scratch, self.monitor)
    }

    fn matrix(&self, volume: Volume, loading: u64) -> Matrix<'_> {
        let zone = zone_pages(volume.unique_pages());
        Matrix::new(volume, loading, zone, self.setup.seed, self.monitor)
    }

    /// Adds the tables of TPC-C alone; returns the table of the paper's claims.
    fn on_tpcc(
        &self,
        of: &OfWorkload,
        matrix: &Matrix<'_>,
        models: &Models<'_>,
        tables: &mut Vec<Table>,
    ) -> Result<Table> {
        tables.push(quarters(of));
        self.begin("TPC-C: step by step");
        tables.push(steps(matrix, models)?);
        self.begin("TPC-C: victim policies, zones, thresholds");
        let sweeps = sweeps(matrix, &of.runs)?;
        tables.extend([&sweeps.victims, &sweeps.zones, &sweeps.thresholds].map(Sweep::table));
        self.begin("TPC-C: models");
        tables.push(models.comparison(&matrix.two_r()?, self.setup.timing)?);
        going_on(self.monitor)?;
        tables.push(models.history()?);
        tables.push(models.features()?);
        Ok(claims(&of.runs, &sweeps))
    }

    fn begin(&self, part: &str) {
        self.monitor.on(Event::Step(part));
    }
}

/// Fails if the monitor has stopped the evaluation.
fn going_on(monitor: &dyn Monitor) -> Result<()> {
    match monitor.is_stopped() {
        true => Err(Error::Stopped { what: None }),
        false => Ok(()),
    }
}
