//! `frostline db`: look into the databases of a store, and check them.

mod check;
mod copy;
mod dump;
mod stats;

use frostline_db::{Databases, Options};
use frostline_store::Cleaning;
use frostline_zone::Overlay;

use crate::args::DbCommand;
use crate::backup;
use crate::cause::{db_failure, device_failure};
use crate::device::open_to_look;
use crate::failure::Failure;

/// Runs a `frostline db` subcommand.
pub(crate) fn run(command: &DbCommand) -> Result<String, Failure> {
    match command {
        DbCommand::Check(args) => check::run(args),
        DbCommand::Stats(args) => stats::run(args),
        DbCommand::Dump(args) => dump::run(args),
        DbCommand::Copy(args) => copy::run(args),
        DbCommand::Backup(args) => backup::back_up(args),
        DbCommand::Restore(args) => backup::run_restore(args),
    }
}

/// The most bytes that a repair of databases may change in memory. A repair changes only pages that
/// the log has changed since they were last written, and their headers.
const MOST_CHANGES: u64 = 8 << 30;

/// Opens the databases of a device for inspection: damage from a crash is repaired in memory, and
/// nothing on the device changes. What is lost is left out.
fn open(uri: &str) -> Result<Databases, Failure> {
    open_or_not(uri, true)
}

/// The same, or not at all if something is lost and that is not accepted.
fn open_or_not(uri: &str, accept_loss: bool) -> Result<Databases, Failure> {
    let view = Overlay::over(open_to_look(uri)?, MOST_CHANGES);
    let device = view.map_err(|error| device_failure(uri, &error))?;
    let options = Options {
        accept_loss,
        background: false,
        hotness: false,
        cleaning: Cleaning::Inline,
        ..Options::default()
    };
    Databases::open(&device, &options).map_err(|error| db_failure(uri, error))
}

/// The prefix of a line about one database, if there are several.
fn of_tenant(number: usize, of: usize) -> String {
    match of {
        1 => String::new(),
        _ => format!("tenant {number}: "),
    }
}
