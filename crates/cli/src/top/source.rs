//! The place where views of a store come from.

use std::net::{SocketAddr, ToSocketAddrs};

use frostline_store::StoreView;
use frostline_watch::{FetchError, fetch};

use super::COMMAND;
use crate::cause::store_failure;
use crate::device::open_store;
use crate::failure::Failure;

/// How the URIs of devices begin.
const DEVICES: [&str; 7] = ["mem:", "file:", "block:", "fdp:", "dir:", "zonefs:", "zbd:"];

/// The place where views of a store come from.
#[derive(Debug)]
pub(super) enum ViewSource {
    /// A process that has the store open, and serves views of it.
    Process(SocketAddr),
    /// A device whose store no process has open, so that nothing changes.
    Device(String),
}

impl ViewSource {
    /// A device by its URI; anything else is an address.
    pub(super) fn of(target: &str) -> Result<ViewSource, Failure> {
        if DEVICES.iter().any(|begin| target.starts_with(begin)) {
            return Ok(ViewSource::Device(target.to_string()));
        }
        let address = target.strip_prefix("http://").unwrap_or(target);
        let address = address.split('/').next().unwrap_or_default();
        let found = address.to_socket_addrs().ok().and_then(|mut found| found.next());
        found.map(ViewSource::Process).ok_or_else(|| {
            let why = format!("{target} is neither a device nor an address with a port");
            Failure::usage(COMMAND, &why).hint(
                "the address that a process serves metrics at, as 127.0.0.1:9464, or file:PATH, \
                 block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...",
            )
        })
    }

    /// The first view.
    pub(super) fn view(&self) -> Result<StoreView, Failure> {
        match self {
            ViewSource::Process(address) => fetch(*address).map_err(|error| {
                Failure::job(COMMAND, &format!("{address}: {error}"))
                    .hint("a bench, a server or a program of yours serves it with --metrics ADDR")
            }),
            ViewSource::Device(uri) => {
                open_store(uri)?.view().map_err(|error| store_failure(uri, error))
            }
        }
    }

    /// The next view; none if nothing changes.
    pub(super) fn next(&self) -> Option<Result<StoreView, FetchError>> {
        match self {
            ViewSource::Process(address) => Some(fetch(*address)),
            ViewSource::Device(_) => None,
        }
    }

    /// A word on what is seen.
    pub(super) fn note(&self) -> &'static str {
        match self {
            ViewSource::Process(_) => "",
            ViewSource::Device(_) => "no process has it open: nothing changes  ",
        }
    }
}
