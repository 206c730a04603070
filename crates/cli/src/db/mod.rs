//! `frostline db`: look into the databases of a store, and check them.

mod check;
mod dump;
mod stats;

use frostline_db::{Instances, Options};
use frostline_store::Cleaning;
use frostline_zone::OpenOptions;

use crate::args::DbCommand;
use crate::device::{db_failure, device_failure};
use crate::failure::Failure;

/// Does what was asked of databases.
pub fn run(command: &DbCommand) -> Result<String, Failure> {
    match command {
        DbCommand::Check(args) => check::run(args),
        DbCommand::Stats(args) => stats::run(args),
        DbCommand::Dump(args) => dump::run(args),
    }
}

/// Opens the databases of a device to look into them: what a crash left is repaired, and nothing
/// else is written.
fn open(uri: &str) -> Result<Instances, Failure> {
    let device = frostline_zone::open(uri, &OpenOptions::default());
    let device = device.map_err(|error| device_failure(uri, &error))?;
    let options = Options {
        background: false,
        hotness: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Instances::open(&device, &options).map_err(|error| db_failure(uri, error))
}

/// What is said before what is said of one of several databases.
fn of_tenant(number: usize, of: usize) -> String {
    match of {
        1 => String::new(),
        _ => format!("tenant {number}: "),
    }
}
