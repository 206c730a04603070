//! `frostline db`: look into the databases of a store, and check them.

mod check;
mod dump;
mod stats;

use frostline_db::{Instances, Options};
use frostline_store::Cleaning;
use frostline_zone::Overlay;

use crate::args::DbCommand;
use crate::cause::{db_failure, device_failure};
use crate::device::open_to_look;
use crate::failure::Failure;

/// Runs a `frostline db` subcommand.
pub fn run(command: &DbCommand) -> Result<String, Failure> {
    match command {
        DbCommand::Check(args) => check::run(args),
        DbCommand::Stats(args) => stats::run(args),
        DbCommand::Dump(args) => dump::run(args),
    }
}

/// Bytes that the repair of databases may change in memory. It is no more than the pages that the
/// log changed since they were last written, and their headers.
const MOST_CHANGES: u64 = 8 << 30;

/// Opens the databases of a device to look into them: what a crash left is repaired in memory, and
/// nothing on the device changes.
fn open(uri: &str) -> Result<Instances, Failure> {
    let view = Overlay::over(open_to_look(uri)?, MOST_CHANGES);
    let device = view.map_err(|error| device_failure(uri, &error))?;
    let options = Options {
        accept_loss: true,
        background: false,
        hotness: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Instances::open(&device, &options).map_err(|error| db_failure(uri, error))
}

/// The prefix of lines about one of several databases.
fn of_tenant(number: usize, of: usize) -> String {
    match of {
        1 => String::new(),
        _ => format!("tenant {number}: "),
    }
}
