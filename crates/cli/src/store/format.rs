//! `frostline store format`: makes an empty store.

use frostline_benches::Error;
use frostline_store::{Format, Store, StoreInfo};

use crate::args::FormatArgs;
use crate::cause::{bench_failure, store_failure};
use crate::device::open_store;
use crate::failure::{Failure, say};

const COMMAND: &str = "store format";

/// Makes an empty store on a device, and the device if a size for it is given.
pub(super) fn run(args: &FormatArgs) -> Result<String, Failure> {
    if args.uri == "mem:" {
        return Err(Failure::usage(COMMAND, "mem: ends with the command, and the store with it")
            .hint("frostline bench store --device mem: formats one and uses it"));
    }
    let format = Format { force: args.force, ..args.options.format() };
    let uri = &args.uri;
    let device = args.shape.device(uri, args.force).formatted(|device| {
        let made = Store::format(device.clone(), &format);
        made.map_err(|error| Error::Store { uri: uri.clone(), error })
    });
    let device = device.map_err(|error| bench_failure(COMMAND, error))?;
    let shape = device.geometry().to_string();
    drop(device);
    if !args.quiet {
        let store = open_store(uri)?;
        let cause = |error| store_failure(uri, error);
        let (pages, StoreInfo { scheme, victim, .. }) =
            (store.pages(), store.info().map_err(cause)?);
        say(
            &format!("{uri}: {shape} for {pages} pages, scheme {scheme}, victims by {victim}"),
            None,
        );
    }
    Ok(String::new())
}
