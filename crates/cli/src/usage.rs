//! Parsing the command line, with errors in this program's form.

use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, Parser};

use crate::args::Arguments;
use crate::failure::Failure;

/// The arguments, or the exit status after help, a version or an error was printed.
pub fn parse() -> Result<Arguments, ExitCode> {
    Arguments::try_parse().map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that has seen enough is no failure.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ => failure(&error).report(),
    })
}

fn failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let said = text.strip_prefix("error: ").unwrap_or(&text);
    let lines: Vec<&str> =
        said.lines().take_while(|l| !l.trim().is_empty()).map(str::trim).collect();
    let command = command();
    let failure = Failure::usage(&command.1, &lines.join(" "));
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, _) => {
            failure.hint(format!("the options of {} are {}", command.1, options(&command.0)))
        }
        _ => failure.hint(format!("frostline {} --help tells more", command.1).replace("  ", " ")),
    }
}

/// The command that was meant, as far as it can be told, and its name.
fn command() -> (clap::Command, String) {
    let mut command = Arguments::command();
    let mut names = Vec::new();
    for word in std::env::args().skip(1) {
        let Some(inner) = command.find_subcommand(&word) else { break };
        command = inner.clone();
        names.push(word);
    }
    let name = if names.is_empty() { "usage".to_string() } else { names.join(" ") };
    (command, name)
}

fn options(command: &clap::Command) -> String {
    let long = command.get_arguments().filter_map(clap::Arg::get_long);
    let all: Vec<_> = long.map(|name| format!("--{name}")).chain(["--help".to_string()]).collect();
    all.join(" ")
}
