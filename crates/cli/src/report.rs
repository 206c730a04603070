//! `frostline report`: results as an HTML page.

use frostline_report::{page, read_results};

use crate::args::ReportArgs;
use crate::cause::report_failure;
use crate::failure::Failure;
use crate::output;

/// Reads results, and writes the page.
pub(crate) fn run(args: &ReportArgs) -> Result<String, Failure> {
    let failed = |error| report_failure("report", error);
    output::check("report", [args.output.as_path()], &args.results)?;
    let mut records = Vec::new();
    for path in &args.results {
        records.extend(read_results(path).map_err(failed)?);
    }
    output::write(&args.output, &page(&args.title, &records).map_err(failed)?)?;
    Ok(String::new())
}
