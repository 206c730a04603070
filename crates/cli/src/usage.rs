//! Parsing the command line, with errors in this program's form.

use std::error::Error;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::process::ExitCode;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use frostline_sim::ShareError;

use crate::args::{Arguments, command};
use crate::failure::{Failure, printed};
use crate::near::hint;

/// Parses the arguments. The error is the exit status after help, a version or an error was
/// printed.
pub(crate) fn parse() -> Result<Arguments, ExitCode> {
    let matches = command().try_get_matches();
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    parsed.map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            printed(error.print()).map_or_else(Failure::report, |()| ExitCode::SUCCESS)
        }
        _ => failure(&error).report(),
    })
}

fn failure(error: &clap::Error) -> Failure {
    let meant = Suggestion::from_arguments();
    let wrong = |why: String| Failure::usage(&meant.name, &why).hint(meant.help());
    let argument = text(error, ContextKind::InvalidArg);
    // Users know "--zone <SIZE>" as --zone.
    let option = argument.split([' ', '=']).next().unwrap_or_default();
    let value = text(error, ContextKind::InvalidValue);
    match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            wrong(format!("no command given (known: {})", meant.commands()))
        }
        ErrorKind::InvalidSubcommand => {
            let name = text(error, ContextKind::InvalidSubcommand);
            let known = meant.commands();
            Failure::usage(&meant.name, &format!("unknown command {name:?} (known: {known})"))
                .hint(hint(&name, known.split(' '), &meant.help()))
        }
        ErrorKind::UnknownArgument if argument.starts_with('-') => {
            let known = meant.options();
            Failure::usage(&meant.name, &format!("unknown option {argument} (known: {known})"))
                .hint(hint(&argument, known.split(' '), &meant.help()))
        }
        ErrorKind::UnknownArgument => wrong(format!("{argument:?} is one argument too many")),
        ErrorKind::MissingRequiredArgument => wrong(format!("missing: {}", missing(&argument))),
        ErrorKind::InvalidValue if value.is_empty() => wrong(format!("{option} needs a value")),
        ErrorKind::InvalidValue => {
            let known = text(error, ContextKind::ValidValue);
            Failure::usage(&meant.name, &format!("{option}: unknown {value:?} (known: {known})"))
                .hint(hint(&value, known.split(' '), &meant.help()))
        }
        ErrorKind::ValueValidation => {
            let share = error.source().and_then(|cause| cause.downcast_ref::<ShareError>());
            let hint =
                share.and_then(ShareError::meant).map(|share| format!("did you mean {share}?"));
            let why = format!("{option} {value}: {}", cause(error));
            Failure::usage(&meant.name, &why).hint(hint.unwrap_or_else(|| meant.help()))
        }
        ErrorKind::ArgumentConflict => {
            let prior = text(error, ContextKind::PriorArg);
            let prior = prior.split(' ').next().unwrap_or_default();
            match prior == option {
                true => wrong(format!("{option} is given twice")),
                false => wrong(format!("{option} and {prior} exclude each other")),
            }
        }
        _ => wrong(first_paragraph(&error.to_string())),
    }
}

/// A part of an error of clap, as text.
fn text(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(" "),
        _ => String::new(),
    }
}

/// The reason why a value is refused.
fn cause(error: &clap::Error) -> String {
    let Some(cause) = error.source() else { return "is not a value it takes".to_string() };
    if cause.is::<ParseFloatError>() {
        return "must be a number".to_string();
    }
    match cause.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "is too large".to_string(),
        Some(_) => "must be a whole number, 0 or more".to_string(),
        None => in_range(&cause.to_string()),
    }
}

/// "0 is not in 1..=1024" in plain words.
fn in_range(said: &str) -> String {
    match said.split_once(" is not in ") {
        Some((_, range)) => {
            let range = range.replace("..=", "..").replace("..", " to ");
            format!("must be from {range}")
        }
        None => said.to_string(),
    }
}

/// `<--op <SHARE>|--zones <N>>` in plain words.
fn missing(argument: &str) -> String {
    let either = argument.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    match either.filter(|either| either.starts_with("--")) {
        Some(either) => either.replace("|--", " or --"),
        None => argument.to_string(),
    }
}

fn first_paragraph(text: &str) -> String {
    let said = text.strip_prefix("error: ").unwrap_or(text);
    said.lines().take_while(|l| !l.trim().is_empty()).collect::<Vec<_>>().join(" ")
}

/// The command that the user meant, as far as the arguments show it.
struct Suggestion {
    command: clap::Command,
    name: String,
}

impl Suggestion {
    fn from_arguments() -> Self {
        let mut command = command();
        let mut names = Vec::new();
        // An option before the command belongs to all commands, and takes no value.
        let is_command = |word: &OsString| !word.as_encoded_bytes().starts_with(b"-");
        for word in std::env::args_os().skip(1).filter(is_command) {
            let Some(inner) = word.to_str().and_then(|word| command.find_subcommand(word)) else {
                break;
            };
            names.push(inner.get_name().to_string());
            command = inner.clone();
        }
        let name = if names.is_empty() { "usage".to_string() } else { names.join(" ") };
        Suggestion { command, name }
    }

    fn help(&self) -> String {
        let name = if self.name == "usage" { "" } else { &self.name };
        format!("frostline {name} --help tells more").replace("  ", " ")
    }

    fn commands(&self) -> String {
        let names: Vec<_> = self.command.get_subcommands().map(clap::Command::get_name).collect();
        names.join(" ")
    }

    fn options(&self) -> String {
        let own = self.command.get_arguments().filter_map(clap::Arg::get_long);
        // Options of all commands come last.
        let all = own.filter(|name| *name != "verbose").chain(["verbose", "help"]);
        all.map(|name| format!("--{name}")).collect::<Vec<_>>().join(" ")
    }
}
