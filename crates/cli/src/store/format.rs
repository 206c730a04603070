//! `frostline store format`: an empty store.

use frostline_store::{Format, Store};

use crate::args::FormatArgs;
use crate::device::{describe, formatted, open_store, placement, store_failure};
use crate::failure::{Failure, say};

const COMMAND: &str = "store format";

/// Makes an empty store of a device, and the device if it is to be made.
pub fn run(args: &FormatArgs) -> Result<String, Failure> {
    if args.uri == "mem:" {
        return Err(Failure::usage(COMMAND, "mem: ends with the command, and the store with it")
            .hint("frostline bench store --device mem: formats one and uses it"));
    }
    let format = Format {
        logical_pages: args.pages,
        reserve: args.reserve,
        hotness: args.hotness,
        force: args.force,
        ..placement(COMMAND, &args.placement)?
    };
    let device = formatted(COMMAND, &args.uri, &args.shape, |device| {
        let made = Store::format(device.clone(), &format);
        made.map_err(|error| store_failure(&args.uri, error))
    })?;
    let shape = describe(&*device);
    drop(device);
    if !args.quiet {
        let pages = open_store(&args.uri)?.pages();
        let Format { scheme, victim, .. } = &format;
        say(&format!("{}: {shape} for {pages} pages, {scheme}, {victim}", args.uri), None);
    }
    Ok(String::new())
}
