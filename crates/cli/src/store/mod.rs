//! `frostline store`: make a page store, look into it, check it.

mod check;
mod format;
mod info;
mod scrub;
mod zones;

use frostline_store::Finding;
use serde::Serialize;

use crate::args::StoreCommand;
use crate::failure::Failure;

/// Does what was asked of a store.
pub fn run(command: &StoreCommand) -> Result<String, Failure> {
    match command {
        StoreCommand::Format(args) => format::run(args),
        StoreCommand::Info(args) => info::run(args),
        StoreCommand::Zones(args) => zones::run(args),
        StoreCommand::Check(args) => check::run(args),
        StoreCommand::Scrub(args) => scrub::run(args),
    }
}

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|t| t + "\n").map_err(|e| Failure::job("store", &e.to_string()))
}

/// Fails with what was found, or succeeds with what was looked at.
fn verdict(uri: &str, text: String, findings: &[Finding]) -> Result<String, Failure> {
    match findings.len() {
        0 => Ok(text),
        1 => Err(Failure::job(uri, "1 thing is damaged").with_data(text)),
        many => Err(Failure::job(uri, &format!("{many} things are damaged")).with_data(text)),
    }
}

/// Findings, a line each.
fn lines(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}
