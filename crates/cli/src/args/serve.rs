//! Arguments of `frostline serve`.

use clap::{Arg, Args, Subcommand};
use frostline_nbd::Address;

use super::running::RunningArgs;
use super::share::space;
use super::store::{OptionsArgs, ShapeArgs};

/// `frostline serve`
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Serve a page store as a network block device, until Ctrl-C
    Nbd(ServeNbdArgs),
    /// Serve a page store as a block device of this machine (Linux), until Ctrl-C
    #[cfg(target_os = "linux")]
    Ublk(DiskArgs),
}

/// The options that a new store is made with.
const WITH_CREATE: &str = "With --create";

/// `frostline serve nbd`
#[derive(Debug, Args)]
pub(crate) struct ServeNbdArgs {
    /// Listen on this address with a port, like 127.0.0.1:10809, on a socket at this path, which
    /// has a / in it, or with - on the socket that is standard input
    #[arg(long, value_name = "ADDR|SOCKET", default_value = "127.0.0.1:10809")]
    pub listen: Address,
    #[command(flatten)]
    pub disk: DiskArgs,
}

/// The store that is served, and how.
#[derive(Debug, Args)]
#[command(mut_args(only_with_create))]
pub(crate) struct DiskArgs {
    /// The device: file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Do not let clients write
    #[arg(long)]
    pub read_only: bool,
    /// Open the store although synced pages are missing; they are then lost for good
    #[arg(long)]
    pub accept_loss: bool,
    /// Clean while pages take more than X times the space of the data, in place of --gp
    #[arg(long, value_name = "X", value_parser = space, allow_negative_numbers = true)]
    pub space: Option<f64>,
    /// Make the device and the store if they do not exist
    #[arg(long, requires = "size")]
    pub create: bool,
    #[command(flatten)]
    pub running: RunningArgs,
    /// No messages
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub made: MadeArgs,
}

/// The shape and the options of a new store.
#[derive(Debug, Args)]
#[command(next_help_heading = WITH_CREATE)]
pub(crate) struct MadeArgs {
    #[command(flatten)]
    pub shape: ShapeArgs,
    #[command(flatten)]
    pub options: OptionsArgs,
}

/// A store that exists keeps its own options: they are refused, not ignored.
fn only_with_create(arg: Arg) -> Arg {
    match arg.get_help_heading() {
        Some(WITH_CREATE) => arg.requires("create"),
        _ => arg,
    }
}
