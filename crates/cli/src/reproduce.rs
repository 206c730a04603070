//! `frostline reproduce`: repeats a paper's evaluation, at a scale that fits a laptop.

use std::path::PathBuf;

use frostline_papers::{Error, Paper, PaperReport, Session};

use crate::args::ReproduceArgs;
use crate::cause::paper_failure;
use crate::claims;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::screen::Screen;

const COMMAND: &str = "reproduce";

/// Repeats papers' evaluations. The JSON of one paper is an object, that of all papers an array of
/// objects.
pub(crate) fn run(args: &ReproduceArgs) -> Result<String, Failure> {
    if args.checks_claims() {
        return claims::run(args);
    }
    let papers = args.papers();
    if !args.traces.is_empty() && !papers.iter().any(|paper| paper.takes_traces()) {
        let why = format!("{} runs on traces of its own only", args.paper);
        return Err(Failure::usage(COMMAND, &why));
    }
    if let Some(directory) = &args.out {
        let made = std::fs::create_dir_all(directory);
        made.map_err(|e| Failure::job(&directory.display().to_string(), &e.to_string()))?;
    }
    let in_directory = papers.iter().flat_map(|paper| files(args, paper)).flatten();
    let all: Vec<_> = in_directory.chain(args.json.clone()).collect();
    let interrupt = Interrupt::watch().map_err(|e| Failure::job(COMMAND, &e.to_string()))?;
    output::check(COMMAND, all.iter().map(AsRef::as_ref), &args.traces)?;
    let screen = Screen::new(COMMAND, args.quiet, &interrupt);
    let how = args.reproduction();
    let session = Session::new(&how, &screen);
    let mut reports = Vec::new();
    for paper in papers {
        let report = paper.run(&session);
        if let Err(Error::Stopped { .. }) = report {
            interrupt.check();
        }
        let report = report.map_err(|error| paper_failure(COMMAND, error))?;
        let texts = [report.markdown(), output::json(COMMAND, &report)?];
        for (file, text) in files(args, paper).iter().zip(&texts) {
            file.as_ref().map_or(Ok(()), |file| output::write(file, text))?;
        }
        reports.push(report);
    }
    let text = || reports.iter().map(PaperReport::markdown).collect::<Vec<_>>().join("\n");
    match &reports[..] {
        [report] => output::emit(COMMAND, args.json.as_deref(), report, text),
        _ => output::emit(COMMAND, args.json.as_deref(), &reports, text),
    }
}

/// The files of `--out`.
fn files(args: &ReproduceArgs, paper: &Paper) -> [Option<PathBuf>; 2] {
    let in_directory =
        |kind| args.out.as_ref().map(|directory| directory.join(format!("{}.{kind}", paper.name)));
    [in_directory("md"), in_directory("json")]
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use frostline_papers::{Input, InputWorkload, Reproduction};

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
            Command::Bench(BenchCommand::Linkbench(args)) => Input {
                workload: InputWorkload::LinkBench(args.options()),
                bench: args.database.bench(),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_commands_in_the_tables_run_what_was_run() {
        let how = Reproduction {
            scale: 0.1,
            seed: 7,
            timing: true,
            traces: Vec::new(),
            only: Vec::new(),
        };
        for input in how.inputs() {
            assert_eq!(parsed(&input.command()), input);
        }
    }
}
