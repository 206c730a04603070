//! Arguments of the commands for shells.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `frostline completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// `frostline man`
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands to this directory, which is made if it does not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
