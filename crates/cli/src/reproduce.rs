//! `frostline reproduce`: a paper's evaluation, at a scale that fits a laptop.

use std::path::{Path, PathBuf};

use frostline_lab::{Error, PaperReport, SepFrozen};

use crate::args::{ReproduceCommand, SepFrozenArgs};
use crate::cause::lab_failure;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::screen::Screen;

const COMMAND: &str = "reproduce";

/// Does a paper's evaluation again.
pub fn run(command: &ReproduceCommand) -> Result<String, Failure> {
    let ReproduceCommand::Sepfrozen(args) = command;
    let files = files(args);
    if let Some(directory) = &args.out {
        let made = std::fs::create_dir_all(directory);
        made.map_err(|e| Failure::job(&directory.display().to_string(), &e.to_string()))?;
    }
    output::check::<Path>(COMMAND, files.iter().flatten().map(AsRef::as_ref), [])?;
    let report = evaluate(&args.evaluation(), args.quiet)?;
    let (markdown, json) = (report.markdown(), output::json(COMMAND, &report)?);
    let [markdown_file, json_file, asked] = &files;
    for (file, text) in [(markdown_file, &markdown), (json_file, &json), (asked, &json)] {
        if let Some(file) = file {
            output::write(file, text)?;
        }
    }
    let is_json_asked = args.json.is_some() && asked.is_none();
    Ok(if is_json_asked { json } else { markdown })
}

/// The files of `--out`, and of `--json` if that is one.
fn files(args: &SepFrozenArgs) -> [Option<PathBuf>; 3] {
    let in_directory = |name| args.out.as_ref().map(|directory| directory.join(name));
    let json = args.json.clone().filter(|path| path.as_os_str() != "-");
    [in_directory("sepfrozen.md"), in_directory("sepfrozen.json"), json]
}

fn evaluate(evaluation: &SepFrozen, quiet: bool) -> Result<PaperReport, Failure> {
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    let report = evaluation.run(&Screen::new(COMMAND, quiet, &interrupt));
    if let Err(Error::Stopped { .. }) = report {
        interrupt.check();
    }
    report.map_err(|error| lab_failure(COMMAND, error))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use frostline_lab::{Input, InputWorkload};

    use super::*;
    use crate::args::{Arguments, BenchCommand, Command};

    /// The bench that a command line runs.
    fn parsed(line: &str) -> Input {
        let words = ["frostline"].into_iter().chain(line.split(' '));
        match Arguments::try_parse_from(words).unwrap().command {
            Command::Bench(BenchCommand::Tpcc(args)) => Input {
                workload: InputWorkload::Tpcc(args.options()),
                bench: args.database.bench(),
            },
            Command::Bench(BenchCommand::Ycsb(args)) => {
                Input { workload: InputWorkload::Ycsb(args.bench()), bench: args.database.bench() }
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_commands_in_the_tables_run_what_was_run() {
        let evaluation = SepFrozen { scale: 0.1, seed: 7, timing: true };
        for input in evaluation.inputs() {
            assert_eq!(parsed(&input.command()), input);
        }
    }
}
