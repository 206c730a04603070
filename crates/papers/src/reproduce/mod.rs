//! Evaluations of papers, repeated at a scale that fits a laptop.

mod derived;
mod engine;
mod experiment;
mod finished;
mod inputs;
mod midas;
mod paper;
mod papers;
mod phftl;
mod report;
mod reproduction;
mod run;
mod scale;
mod scatter;
mod sepbit;
mod sepfrozen;
mod session;
mod survival;
mod tables;
mod two_r;

use frostline_benches::Monitor;

use crate::{Error, Result};

pub use inputs::{Input, InputWorkload};
pub use paper::Paper;
pub use papers::PAPERS;
pub use report::PaperReport;
pub use reproduction::Reproduction;
pub use session::Session;
pub use tables::{Cell, ReportTable};

/// Fails if the monitor has stopped the evaluation.
fn going_on(monitor: &dyn Monitor) -> Result<()> {
    match monitor.is_stopped() {
        true => Err(Error::Stopped { what: None }),
        false => Ok(()),
    }
}
