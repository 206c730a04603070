//! `frostline serve`: serves a page store as a disk to other programs.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use frostline_backup::Follower;
use frostline_lab::{Error, binary, first_zones, follow};
use frostline_nbd::Server;
use frostline_store::{Open, Store};
use frostline_zone::{Device, DeviceError, OpenOptions, open};

use crate::args::{ServeCommand, ServeNbdArgs};
use crate::backup::{backup_failure, in_words};
use crate::cause::{device_failure, lab_failure, store_failure};
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::screen::watched_at;

const COMMAND: &str = "serve nbd";

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Runs a `frostline serve` subcommand.
pub fn run(command: &ServeCommand) -> Result<String, Failure> {
    match command {
        ServeCommand::Nbd(args) => nbd(args),
    }
}

/// Serves until a signal comes; then closes the store and shows its counts.
fn nbd(args: &ServeNbdArgs) -> Result<String, Failure> {
    let failed = |error| store_failure(&args.uri, error);
    let interrupt =
        Interrupt::watch().map_err(|e| Failure::job(COMMAND, &format!("signals: {e}")))?;
    let server = Server::bind(&args.listen).map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    let watching = args.metrics.metrics.map(watch_at).transpose()?;
    let (device, follower) = followed(device(args)?, args)?;
    let options = Open { accept_loss: args.accept_loss, ..Open::default() };
    let store = Store::open(device, options).map_err(failed)?;
    if !args.quiet {
        let size = binary(store.pages() * PAGE);
        say(&format!("{}: {size} at {}", args.uri, server.address()), None);
    }
    if let Some(watching) = watching.as_ref().filter(|_| !args.quiet) {
        say(&format!("{COMMAND}: {}", watched_at(watching.address())), None);
    }
    let serve = || server.run(&store, args.read_only, &|| interrupt.has_come());
    let served = match &watching {
        Some(watching) => watching.during(&store, serve),
        None => serve(),
    };
    let stats = store.stats().map_err(failed)?;
    let written = stats.written.since(&stats.opened);
    store.close().map_err(failed)?;
    served.map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    let followed = follower.map(Follower::finish).transpose();
    let followed = followed.map_err(|error| backup_failure(&args.uri, &error))?;
    if let Some(followed) = followed.filter(|_| !args.quiet) {
        say(&format!("{}: {}", args.uri, in_words(&(&followed).into())), None);
    }
    if !args.quiet {
        let line = format!(
            "{}: {} pages written, {} relocated, WAF {:.4}",
            args.uri,
            written.user,
            written.relocations,
            written.waf()
        );
        say(&line, None);
    }
    Ok(String::new())
}

/// The device, and what backs it up meanwhile.
fn followed(
    device: Arc<dyn Device>,
    args: &ServeNbdArgs,
) -> Result<(Arc<dyn Device>, Option<Follower>), Failure> {
    let Some(target) = &args.follow.backup else { return Ok((device, None)) };
    let followed = follow(device, target).map_err(|error| backup_failure(&args.uri, &error))?;
    Ok((followed.0, Some(followed.1)))
}

/// A server of metrics at an address.
fn watch_at(address: SocketAddr) -> Result<frostline_watch::Server, Failure> {
    let server = frostline_watch::Server::bind(address);
    server.map_err(|source| lab_failure(COMMAND, Error::Metrics { address, source }))
}

/// The device of the store; with `--create` it is made if it does not exist.
fn device(args: &ServeNbdArgs) -> Result<Arc<dyn Device>, Failure> {
    let uri = &args.uri;
    let failed = |error| store_failure(uri, error);
    if args.create && frostline_zone::can_create(uri) {
        let format = args.made.options.format();
        let made = args.made.shape.device(uri, false).formatted(|device| {
            let made = Store::format(device.clone(), &format);
            made.map_err(|error| Error::Store { uri: uri.clone(), error })
        });
        return made.map_err(|error| lab_failure(COMMAND, error));
    }
    let device = open(uri, &OpenOptions::default()).map_err(|error| match &error {
        DeviceError::Open { source, .. } if source.kind() == ErrorKind::NotFound => {
            device_failure(uri, &error).hint("--create --size 1GiB makes one")
        }
        error => device_failure(uri, error),
    })?;
    let zones = Store::zones_on(&*device).map_err(failed)?;
    if zones < device.geometry().zones {
        let why = "zones behind the store hold the logs of databases, whose pages it has";
        return Err(Failure::job(uri, why).hint("a disk needs a store of its own: --create"));
    }
    first_zones(device, zones).map_err(|error| device_failure(uri, &error))
}
