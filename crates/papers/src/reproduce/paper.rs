//! A paper whose evaluation can be repeated.

use super::experiment::Experiment;
use super::report::PaperReport;
use super::session::Session;
use super::tables::ReportTable;
use crate::{Error, Result};

/// A paper whose evaluation can be repeated.
#[derive(Debug)]
pub struct Paper {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its authors and its name, for the report.
    pub title: &'static str,
    /// The idea of the paper, in one line.
    pub about: &'static str,
    /// Runs the evaluation, and returns a table for each figure of the paper.
    pub(super) tables: fn(&Session<'_>) -> Result<Vec<ReportTable>>,
    /// Its experiments, if they can be run separately.
    pub(super) experiments: &'static [Experiment],
}

impl Paper {
    /// The names of its experiments, if they can be run separately.
    pub fn experiments(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.experiments.iter().map(|experiment| experiment.name)
    }

    /// True if it runs not only on its own traces but also on given ones.
    pub fn takes_traces(&self) -> bool {
        !self.experiments.is_empty()
    }

    /// Repeats the evaluation, or the experiments that are asked for.
    ///
    /// # Errors
    /// [`Error::Stopped`]; the error of a bench, a replay or a model; the paper has no experiment
    /// with a given name.
    pub fn run(&self, session: &Session<'_>) -> Result<PaperReport> {
        let how = session.how;
        if let Some(name) =
            how.only.iter().find(|only| self.experiments().all(|name| name != *only))
        {
            let known = self.experiments().collect::<Vec<_>>().join(" ");
            return Err(Error::NoExperiment { paper: self.name, name: name.clone(), known });
        }
        Ok(PaperReport {
            frostline: env!("CARGO_PKG_VERSION"),
            paper: self.title,
            scale: how.scale,
            seed: how.seed,
            tables: (self.tables)(session)?,
        })
    }
}
