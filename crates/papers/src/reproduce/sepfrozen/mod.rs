//! The evaluation of SepFrozen.

mod matrix;
mod models;
mod pages;
mod paper;
mod schemes;
mod throughput;
mod workloads;

use frostline_benches::{Event, Monitor};
use frostline_sim::TraceVolume;
use frostline_trace::prepare;

use self::matrix::{Matrix, SCHEMES};
use self::models::Models;
use self::schemes::{OfWorkload, Sweep, claims, overall, quarters, steps, sweeps};
use self::throughput::throughput;
use self::workloads::WORKLOADS;
use crate::Result;
use crate::reproduce::inputs::Workload;
use crate::reproduce::scale::{Scale, zone_pages};
use crate::reproduce::session::Session;
use crate::reproduce::{Paper, ReportTable, Reproduction, going_on};

/// The entry of SepFrozen among the papers.
pub(super) const PAPER: Paper = Paper {
    name: "sepfrozen",
    title: "Tan et al., SepFrozen",
    about: "recognise frozen pages while cleaning, and keep them apart",
    tables: |session| {
        let Session { how: setup, monitor, .. } = *session;
        SepFrozenEvaluation { setup, scale: Scale(setup.scale), session, monitor }.tables()
    },
    experiments: &[],
};

/// The data that all parts of the evaluation share.
struct SepFrozenEvaluation<'a> {
    setup: &'a Reproduction,
    scale: Scale,
    session: &'a Session<'a>,
    monitor: &'a dyn Monitor,
}

impl SepFrozenEvaluation<'_> {
    fn tables(&self) -> Result<Vec<ReportTable>> {
        let (mut made, mut runs, mut on_tpcc) = (Vec::new(), Vec::new(), Vec::new());
        let mut claimed = None;
        for workload in WORKLOADS {
            let recorded = self.session.recorded(workload)?;
            let volume = prepare(None, recorded.writes.clone(), true)?;
            made.push(workloads::cells(&recorded, volume.unique));
            let is_tpcc = workload == Workload::Tpcc;
            if is_tpcc {
                on_tpcc.push(pages::mixing(&volume, recorded.loading));
                on_tpcc.push(pages::frozen_share(&volume, recorded.loading));
            }
            let pages = volume.unique;
            let matrix = self.matrix(TraceVolume::new(volume), recorded.loading);
            self.begin(&format!("{}: schemes", workload.name()));
            let of = OfWorkload { workload: workload.name(), runs: matrix.schemes(&SCHEMES)? };
            if is_tpcc {
                let models = Models::new(&recorded, pages, self.scale, self.setup.seed);
                claimed = Some(self.on_tpcc(&of, &matrix, &models, &mut on_tpcc)?);
            }
            runs.push(of);
        }
        let mut tables = vec![workloads::table(made), overall(&runs)];
        tables.extend(claimed);
        if self.setup.timing {
            self.begin("throughput");
            tables.push(throughput(self.scale, self.setup.seed, self.monitor)?);
        }
        tables.extend(on_tpcc);
        Ok(tables)
    }

    fn matrix(&self, volume: TraceVolume, loading: u64) -> Matrix<'_> {
        let zone = zone_pages(volume.unique_pages());
        Matrix::new(volume, loading, zone, self.setup.seed, self.monitor)
    }

    /// Adds the tables that are only for TPC-C; returns the table of the paper's claims.
    fn on_tpcc(
        &self,
        of: &OfWorkload,
        matrix: &Matrix<'_>,
        models: &Models<'_>,
        tables: &mut Vec<ReportTable>,
    ) -> Result<ReportTable> {
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
