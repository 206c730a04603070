//! `frostline store check`: checks map, zones and headers against each other.

use super::lines;
use crate::args::LookArgs;
use crate::cause::store_failure;
use crate::device::open_store;
use crate::failure::{Failure, verdict};
use crate::output::json;

/// Checks the structure of a store.
pub(super) fn run(args: &LookArgs) -> Result<String, Failure> {
    let checked = open_store(&args.uri)?.check();
    let report = checked.map_err(|error| store_failure(&args.uri, error))?;
    let text = match (args.json, report.findings.is_empty()) {
        (true, _) => json("store check", &report)?,
        (false, true) => format!(
            "{}: sound: {} valid pages in {} zones, {} headers, {} leaves of the map\n",
            args.uri, report.pages, report.zones, report.chunks, report.leaves
        ),
        (false, false) => lines(&report.findings),
    };
    verdict(&args.uri, text, report.findings.len())
}
