//! A paper whose evaluation can be done again.

use super::experiment::Experiment;
use super::report::PaperReport;
use super::session::Session;
use super::tables::Table;
use crate::{Error, Result};

/// A paper whose evaluation can be done again.
#[derive(Debug)]
pub struct Paper {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its authors and its name, as in the report.
    pub title: &'static str,
    /// The idea of the paper, in a line.
    pub about: &'static str,
    /// Does the evaluation: a table for each of its figures.
    pub(super) tables: fn(&Session<'_>) -> Result<Vec<Table>>,
    /// Its experiments, if they can be done alone.
    pub(super) experiments: &'static [Experiment],
}

impl Paper {
    /// The names of its experiments, if they can be done alone.
    pub fn experiments(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.experiments.iter().map(|experiment| experiment.name)
    }

    /// True if it runs on traces that are given as well as on its own.
    pub fn takes_traces(&self) -> bool {
        !self.experiments.is_empty()
    }

    /// Does the evaluation again, or those of its experiments that are asked for.
    ///
    /// # Errors
    /// [`Error::Stopped`]; what a bench, a replay or a model failed with; an experiment that the paper
    /// does not have.
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
