//! `frostline serve`: serves a page store as a disk to other programs.

use std::fmt::Display;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use frostline_backup::Follower;
use frostline_benches::{Error, follow};
use frostline_nbd::Server;
use frostline_store::{Open, Store};
use frostline_zone::{Device, DeviceError, OpenOptions, Size, Span, open};

use crate::args::{DiskArgs, ServeCommand, ServeNbdArgs};
use crate::backup::{backup_failure, in_words};
use crate::cause::{bench_failure, device_failure, store_failure};
use crate::failure::{Failure, say};
use crate::interrupt::Interrupt;
use crate::locked::lock_memory;
use crate::screen::watched_at;

/// Bytes of a page.
const PAGE: u64 = 4096;

/// Runs a `frostline serve` subcommand.
pub(crate) fn run(command: &ServeCommand) -> Result<String, Failure> {
    match command {
        ServeCommand::Nbd(args) => nbd(args),
        #[cfg(target_os = "linux")]
        ServeCommand::Ublk(args) => ublk(args),
    }
}

fn nbd(args: &ServeNbdArgs) -> Result<String, Failure> {
    let served = Served { command: "serve nbd", args: &args.disk };
    let server = Server::bind(&args.listen).map_err(|e| served.failed(&e))?;
    served.until_interrupted(&|store, begun, is_stopped| {
        begun(server.address());
        server.run(store, args.disk.read_only, is_stopped).map_err(|e| served.failed(&e))
    })
}

#[cfg(target_os = "linux")]
fn ublk(args: &DiskArgs) -> Result<String, Failure> {
    use frostline_disk::{Disk, ublk};
    let served = Served { command: "serve ublk", args };
    served.until_interrupted(&|store, begun, is_stopped| {
        let begun = |path: &std::path::Path| begun(&path.display());
        let done = ublk::serve(&Disk::new(store), args.read_only, &begun, is_stopped);
        done.map_err(|error| {
            let hint = match error {
                ublk::UblkServeError::NoDriver => "modprobe ublk_drv loads it",
                _ => "root may make block devices; dmesg may say more",
            };
            served.failed(&error).hint(hint)
        })
    })
}

/// Serves a store. It is given what says where the disk can be reached, and whether to end.
type Serve<'a> =
    dyn Fn(&Store, &dyn Fn(&dyn Display), &dyn Fn() -> bool) -> Result<(), Failure> + 'a;

/// A store that is served as a disk.
struct Served<'a> {
    command: &'static str,
    args: &'a DiskArgs,
}

impl Served<'_> {
    fn failed(&self, error: &dyn Display) -> Failure {
        Failure::job(self.command, &error.to_string())
    }

    /// Opens the store and serves it until a signal comes; then closes it and shows its counts.
    fn until_interrupted(&self, serve: &Serve<'_>) -> Result<String, Failure> {
        let args = self.args;
        if args.running.lock_memory {
            lock_memory(self.command)?;
        }
        let failed = |error| store_failure(&args.uri, error);
        let interrupt =
            Interrupt::watch().map_err(|e| Failure::job(self.command, &format!("signals: {e}")))?;
        let watching = args.running.metrics.map(|address| self.watch_at(address)).transpose()?;
        let (device, follower) = self.followed(self.device()?)?;
        let options = Open { accept_loss: args.accept_loss, space: args.space, ..Open::default() };
        let store = Store::open(device, options).map_err(failed)?;
        let begun = |place: &dyn Display| {
            if args.quiet {
                return;
            }
            say(&format!("{}: {} at {place}", args.uri, Size(store.pages() * PAGE)), None);
            if let Some(watching) = &watching {
                say(&format!("{}: {}", self.command, watched_at(watching.address())), None);
            }
        };
        let serve = || serve(&store, &begun, &|| interrupt.has_come());
        let served = match &watching {
            Some(watching) => watching
                .during(&store, serve)
                .unwrap_or_else(|error| Err(self.failed(&format!("metrics: {error}")))),
            None => serve(),
        };
        let stats = store.stats().map_err(failed)?;
        let written = stats.written.since(&stats.opened);
        store.close().map_err(failed)?;
        served?;
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
        &self,
        device: Arc<dyn Device>,
    ) -> Result<(Arc<dyn Device>, Option<Follower>), Failure> {
        let Some(target) = &self.args.running.backup else { return Ok((device, None)) };
        let followed = follow(device, target);
        let (device, follower) =
            followed.map_err(|error| backup_failure(&self.args.uri, &error))?;
        Ok((device, Some(follower)))
    }

    /// A server of metrics at an address.
    fn watch_at(&self, address: SocketAddr) -> Result<frostline_watch::Server, Failure> {
        let server = frostline_watch::Server::bind(address);
        server.map_err(|source| bench_failure(self.command, Error::Metrics { address, source }))
    }

    /// The device of the store; with `--create` it is made if it does not exist.
    fn device(&self) -> Result<Arc<dyn Device>, Failure> {
        let args = self.args;
        let uri = &args.uri;
        let failed = |error| store_failure(uri, error);
        if args.create && frostline_zone::can_create(uri) {
            let format = args.made.options.format();
            let made = args.made.shape.device(uri, false).formatted(|device| {
                let made = Store::format(device.clone(), &format);
                made.map_err(|error| Error::Store { uri: uri.clone(), error })
            });
            return made.map_err(|error| bench_failure(self.command, error));
        }
        let options = OpenOptions { accept_loss: args.accept_loss, ..OpenOptions::default() };
        let device = open(uri, &options).map_err(|error| match &error {
            DeviceError::Open { source, .. } if source.kind() == ErrorKind::NotFound => {
                device_failure(uri, &error).hint("--create --size 1GiB makes one")
            }
            error => device_failure(uri, error),
        })?;
        let zones = Store::zones_on(&*device).map_err(failed)?;
        if zones < device.geometry().zones {
            let why = "it holds databases, and a disk would overwrite their pages";
            return Err(Failure::usage(uri, why).hint("a disk needs a store of its own: --create"));
        }
        Span::first(device, zones).map_err(|error| device_failure(uri, &error))
    }
}
