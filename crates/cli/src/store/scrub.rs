//! `frostline store scrub`: compares every content with its checksum.

use super::lines;
use crate::args::ScrubArgs;
use crate::cause::store_failure;
use crate::device::open_store;
use crate::failure::{Failure, verdict};
use crate::interrupt::Interrupt;
use crate::output::json;
use crate::progress::bar;

/// Reads every page of a store.
pub fn run(args: &ScrubArgs) -> Result<String, Failure> {
    let rate = args.rate.map(|size| size.0);
    if rate == Some(0) {
        return Err(Failure::usage("store scrub", "--rate 0: nothing would be read"));
    }
    let interrupt = Interrupt::watch().map_err(|e| Failure::job("store scrub", &e.to_string()))?;
    let failed = |error| store_failure(&args.uri, error);
    let store = open_store(&args.uri)?;
    let info = store.info().map_err(failed)?;
    let page = u64::from(info.page_bytes);
    let bar = bar("scrubbing", "bytes", info.valid_pages * page, args.quiet);
    let scrubbed = store.scrub(rate, &mut |pages| {
        interrupt.check();
        if pages.is_multiple_of(64) {
            bar.set_position(pages * page);
        }
    });
    bar.finish_and_clear();
    let report = scrubbed.map_err(failed)?;
    let text = match (args.json, report.findings.is_empty()) {
        (true, _) => json("store scrub", &report)?,
        (false, true) => {
            format!("{}: {} pages are what was written\n", args.uri, report.pages)
        }
        (false, false) => lines(&report.findings),
    };
    verdict(&args.uri, text, report.findings.len())
}
