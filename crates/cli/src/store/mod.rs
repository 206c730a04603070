//! `frostline store`: make a page store, look into it, check it.

mod check;
mod format;
mod info;
mod rebuild;
mod scrub;
mod zones;

use frostline_store::Finding;

pub(crate) use info::{more_pages, space};

use crate::args::StoreCommand;
use crate::backup;
use crate::failure::Failure;

/// Runs a `frostline store` subcommand.
pub(crate) fn run(command: &StoreCommand) -> Result<String, Failure> {
    match command {
        StoreCommand::Format(args) => format::run(args),
        StoreCommand::Info(args) => info::run(args),
        StoreCommand::Zones(args) => zones::run(args),
        StoreCommand::Check(args) => check::run(args),
        StoreCommand::Scrub(args) => scrub::run(args),
        StoreCommand::Rebuild(args) => rebuild::run(args),
        StoreCommand::Backup(args) => backup::back_up(args),
        StoreCommand::Restore(args) => backup::run_restore(args),
    }
}

/// The findings, one per line.
fn lines(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}
