//! `frostline store scrub`: compares every content with its checksum.

use frostline_store::ScrubReport;

use super::lines;
use crate::args::ScrubArgs;
use crate::cause::store_failure;
use crate::device::{open_store, open_store_to_repair, open_to_look};
use crate::failure::{Failure, say, verdict};
use crate::interrupt::Interrupt;
use crate::output::json;
use crate::progress::bar;

/// Reads every page of a store.
pub(super) fn run(args: &ScrubArgs) -> Result<String, Failure> {
    let rate = args.rate.map(|size| size.0);
    if rate == Some(0) {
        return Err(Failure::usage("store scrub", "--rate 0: nothing would be read"));
    }
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("store scrub", &e.to_string()))?;
    let failed = |error| store_failure(&args.uri, error);
    let repair = args.repair && can_repair(&args.uri)?;
    let store = if repair { open_store_to_repair(&args.uri) } else { open_store(&args.uri) }?;
    let info = store.info().map_err(failed)?;
    let page = u64::from(info.page_bytes);
    let bar = bar("scrubbing", "bytes", info.valid_pages * page, args.quiet);
    let mut progress = |pages: u64| {
        interrupt.check();
        if pages.is_multiple_of(64) {
            bar.set_position(pages * page);
        }
    };
    let scrubbed = match repair {
        true => store.repair(rate, &mut progress),
        false => store.scrub(rate, &mut progress),
    };
    bar.finish_and_clear();
    let report = scrubbed.map_err(failed)?;
    if repair {
        store.close().map_err(failed)?;
    }
    let text = if args.json { json("store scrub", &report)? } else { text(&args.uri, &report) };
    verdict(&args.uri, text, report.findings.len())
}

/// True if there is parity to repair pages from; a line says so if there is none.
fn can_repair(uri: &str) -> Result<bool, Failure> {
    let has_parity = open_to_look(uri)?.geometry().parity.is_some();
    if !has_parity {
        let hint = "store rebuild makes lost metadata anew; lost pages are in a backup";
        say(&format!("{uri}: keeps no parity, so that no page can be repaired"), Some(hint));
    }
    Ok(has_parity)
}

/// What was repaired, and what is left.
fn text(uri: &str, report: &ScrubReport) -> String {
    let repaired = report.repaired.iter().map(|finding| format!("repaired: {finding}\n"));
    let repaired: String = repaired.collect();
    match report.findings.is_empty() {
        true => format!("{repaired}{uri}: {} pages are what was written\n", report.pages),
        false => repaired + &lines(&report.findings),
    }
}
