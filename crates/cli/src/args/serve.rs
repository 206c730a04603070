//! Arguments of `frostline serve`.

use clap::{Args, Subcommand};
use frostline_nbd::Address;

use super::store::{OptionsArgs, ShapeArgs};

/// `frostline serve`
#[derive(Debug, Subcommand)]
pub enum ServeCommand {
    /// Serve a page store as a network block device, until Ctrl-C
    Nbd(ServeNbdArgs),
}

/// `frostline serve nbd`
#[derive(Debug, Args)]
pub struct ServeNbdArgs {
    /// The device: file:DIR, zonefs:MOUNT or zbd:/dev/...
    pub uri: String,
    /// Listen at this address with a port, as 127.0.0.1:10809, or at a socket at this path, with a / in it
    #[arg(long, value_name = "ADDR|SOCKET", default_value = "127.0.0.1:10809")]
    pub listen: Address,
    /// Clients can't write
    #[arg(long)]
    pub read_only: bool,
    /// Go on although synced pages are missing, which are then lost for good
    #[arg(long)]
    pub accept_loss: bool,
    /// Make the device and the store if they are not there
    #[arg(long, requires = "size")]
    pub create: bool,
    /// No messages
    #[arg(long, short)]
    pub quiet: bool,
    #[command(flatten)]
    pub made: MadeArgs,
}

/// The store that is to be made.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --create")]
pub struct MadeArgs {
    #[command(flatten)]
    pub shape: ShapeArgs,
    #[command(flatten)]
    pub options: OptionsArgs,
}
