//! `frostline db check`: checks trees, the store's pages and the log against each other.

use frostline_db::Check;
use frostline_store::Loss;
use serde::Serialize;

use super::{of_tenant, open};
use crate::args::LookDbArgs;
use crate::cause::db_failure;
use crate::failure::{Failure, verdict};
use crate::output::json;

#[derive(Serialize)]
struct CheckReport<'a> {
    device: &'a str,
    /// Synced pages of the store that are missing.
    missing: &'a [Loss],
    databases: Vec<Check>,
}

/// Checks the structure of every database of a store. Opening the databases reads the log.
pub(super) fn run(args: &LookDbArgs) -> Result<String, Failure> {
    let instances = open(&args.uri)?;
    let checks = instances.all.iter().map(frostline_db::Db::check);
    let databases: Vec<_> =
        checks.collect::<Result<_, _>>().map_err(|error| db_failure(&args.uri, error))?;
    let missing = instances.store.missing();
    let damaged: usize = databases.iter().map(|check| check.findings.len()).sum();
    let damaged = damaged + missing.len();
    let text = match args.json {
        true => json("db check", &CheckReport { device: &args.uri, missing, databases })?,
        false => text(&args.uri, missing, &databases),
    };
    verdict(&args.uri, text, damaged)
}

/// The findings, one per line; if there are none, the counts of a sound database.
fn text(uri: &str, missing: &[Loss], databases: &[Check]) -> String {
    let mut text: String = missing.iter().map(|loss| format!("{loss}\n")).collect();
    for (number, check) in (1..).zip(databases) {
        let tenant = of_tenant(number, databases.len());
        for finding in &check.findings {
            text += &format!("{tenant}{finding}\n");
        }
        if check.findings.is_empty() {
            let records: u64 = check.trees.iter().map(|tree| tree.records).sum();
            text += &format!(
                "{uri}: {tenant}sound: {records} records in {} trees of {} pages\n",
                check.trees.len(),
                check.pages
            );
        }
    }
    text
}
