//! `frostline completions` and `frostline man`: help for a shell, generated from the arguments.

use clap::Command;
use clap_mangen::Man;

use crate::args::{CompletionsArgs, ManArgs, command};
use crate::failure::Failure;
use crate::output;

/// The completions for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<String, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "frostline", &mut text);
    utf8("completions", text)
}

/// Prints the manual page, or writes those of all commands to files.
pub(crate) fn man(args: &ManArgs) -> Result<String, Failure> {
    // Building the command makes the full names of subcommands.
    let mut command = command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = &args.out else { return page(&command) };
    let failed =
        |error: std::io::Error| Failure::job(&directory.display().to_string(), &error.to_string());
    std::fs::create_dir_all(directory).map_err(failed)?;
    for command in with_subcommands(&command) {
        let name = full_name(command);
        output::write(&directory.join(format!("{name}.1")), &page(command)?)?;
    }
    Ok(String::new())
}

fn with_subcommands(command: &Command) -> Vec<&Command> {
    let mut all = vec![command];
    all.extend(command.get_subcommands().flat_map(with_subcommands));
    all
}

/// `frostline-trace-info`
fn full_name(command: &Command) -> String {
    command.get_display_name().unwrap_or(command.get_name()).to_string()
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut text = Vec::new();
    Man::new(command.clone()).render(&mut text).map_err(|e| Failure::job("man", &e.to_string()))?;
    utf8("man", text)
}

fn utf8(what: &str, text: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(text).map_err(|e| Failure::job(what, &e.to_string()))
}
