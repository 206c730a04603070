//! `frostline db`: look into the databases of a store, and check them.

mod dump;
mod stats;

use frostline_db::{Instances, Options};
use frostline_store::Cleaning;
use frostline_zone::OpenOptions;

use serde::Serialize;

use crate::args::DbCommand;
use crate::device::{db_failure, device_failure};
use crate::failure::Failure;

/// Does what was asked of databases.
pub fn run(command: &DbCommand) -> Result<String, Failure> {
    match command {
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

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|e| Failure::job("db", &e.to_string()))
}
