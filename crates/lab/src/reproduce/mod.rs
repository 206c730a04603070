//! Papers' evaluations, at a scale that fits a laptop.

mod inputs;
mod papers;
mod report;
mod scale;
mod sepfrozen;
mod tables;

use crate::monitor::Monitor;
use crate::{Error, Result};

pub use inputs::{Input, InputWorkload};
pub use papers::{PAPERS, Paper, Reproduction};
pub use report::PaperReport;
pub use tables::{Cell, Table};

/// Fails if the monitor has stopped the evaluation.
fn going_on(monitor: &dyn Monitor) -> Result<()> {
    match monitor.is_stopped() {
        true => Err(Error::Stopped { what: None }),
        false => Ok(()),
    }
}
