//! `frostline store rebuild`: rebuilds the metadata from the headers of the pages.

use std::sync::Arc;

use frostline_store::{Rebuilt, Store, StoreError};
use frostline_zone::{Device, OpenOptions, Overlay, Span, open};
use serde::Serialize;

use crate::args::RebuildArgs;
use crate::cause::{device_failure, store_failure};
use crate::failure::Failure;
use crate::output::json;

const COMMAND: &str = "store rebuild";

#[derive(Serialize)]
struct RebuildReport<'a> {
    device: &'a str,
    dry_run: bool,
    #[serde(flatten)]
    rebuilt: &'a Rebuilt,
}

/// Rebuilds the store of a device, or reports what the rebuilt store would have.
pub(super) fn run(args: &RebuildArgs) -> Result<String, Failure> {
    let format = args.fallback.options.format();
    let device = device(args)?;
    if !args.force && !args.dry_run && is_sound(&device) {
        let why = "the store is sound, and a rebuild would bring trimmed pages back";
        return Err(Failure::usage(&args.uri, why).hint("--force rebuilds it nevertheless"));
    }
    let rebuilt = Store::rebuild(device, &format, args.accept_loss);
    let rebuilt = rebuilt.map_err(|error| failure(&args.uri, error))?;
    match args.json {
        true => json(
            COMMAND,
            &RebuildReport { device: &args.uri, dry_run: args.dry_run, rebuilt: &rebuilt },
        ),
        false => Ok(text(args, &rebuilt)),
    }
}

/// The zones of the store. In a dry run, changes stay in memory.
fn device(args: &RebuildArgs) -> Result<Arc<dyn Device>, Failure> {
    let failed = |error| device_failure(&args.uri, &error);
    let &RebuildArgs { dry_run, accept_loss, .. } = args;
    let options = OpenOptions { read_only: dry_run, accept_loss, ..OpenOptions::default() };
    let found = open(&args.uri, &options).map_err(failed)?;
    let device = if dry_run { Overlay::over(found, u64::MAX).map_err(failed)? } else { found };
    let all = device.geometry().zones;
    let zones = args.zones.or_else(|| Store::zones_on(&*device).ok()).unwrap_or(all);
    if zones > all {
        let why = format!("--zones {zones}: {} has {all}", args.uri);
        return Err(Failure::usage(COMMAND, &why));
    }
    Span::first(device, zones).map_err(failed)
}

/// True if the store can be opened and no pages are missing.
fn is_sound(device: &Arc<dyn Device>) -> bool {
    let checked = Store::inspect(device.clone()).and_then(|mut store| store.check());
    checked.is_ok_and(|report| report.findings.is_empty())
}

fn failure(uri: &str, error: StoreError) -> Failure {
    let why = error.to_string();
    match error {
        StoreError::Options { .. } | StoreError::TooSmall { .. } => Failure::usage(uri, &why)
            .hint("as the store was formatted: --scheme, --gp, --reserve, --pages, --zones"),
        StoreError::Missing(_) => Failure::job(uri, &why)
            .hint("--accept-loss goes on without these pages, of which older copies may be back"),
        StoreError::NotAStore => Failure::usage(uri, &why),
        _ => store_failure(uri, error),
    }
}

fn text(args: &RebuildArgs, rebuilt: &Rebuilt) -> String {
    let Rebuilt { superblock, zones, chunks, pages, trims, missing, torn, .. } = rebuilt;
    let done = if args.dry_run { "can be rebuilt" } else { "rebuilt" };
    let options = match superblock {
        true => "a superblock told the options",
        false => "no superblock was left, the options are those given",
    };
    let mut text = format!(
        "{}: {done}: {pages} valid pages, by {chunks} headers in {zones} zones; {options}\n",
        args.uri
    );
    missing.iter().for_each(|loss| text += &format!("{loss}; older copies of them may be back\n"));
    for zone in torn {
        text += &format!(
            "zone {zone} has a header that can't be read; nothing that is known to have been synced lay there\n"
        );
    }
    text += &match trims {
        0 => "no notes of trims were left: pages that were trimmed may be back\n".to_string(),
        _ => format!(
            "{trims} notes of trims were left: pages that were trimmed before these may be back\n"
        ),
    };
    text
}
