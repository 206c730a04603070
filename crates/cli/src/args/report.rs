//! Arguments of `frostline report`.

use std::path::PathBuf;

use clap::Args;

/// `frostline report`
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Results that --json or --output wrote (.json, .ndjson)
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,
    /// The page to write, one HTML file that needs no network
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// The title of the page
    #[arg(long, value_name = "T", default_value = "Write amplification")]
    pub title: String,
}
