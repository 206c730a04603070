//! The `frostline` command.

mod args;
mod backup;
mod bench;
mod cause;
mod claims;
mod db;
mod device;
mod failure;
mod gen_trace;
mod identities;
mod inputs;
mod interrupt;
mod learn;
mod locked;
mod near;
mod output;
mod panics;
mod progress;
mod report;
mod reproduce;
mod results;
mod schemes;
mod screen;
mod serve;
mod shell;
mod sim;
mod sim_table;
mod size;
mod store;
mod table;
mod top;
mod trace;
mod usage;
mod varied;
mod verbose;

use std::process::ExitCode;

use args::Command;
use failure::print;

fn main() -> ExitCode {
    let args = match usage::parse() {
        Ok(args) => args,
        Err(code) => return code,
    };
    if let Err(failure) = verbose::begin(args.verbose) {
        return failure.report();
    }
    let done = panics::caught(|| match args.command {
        Command::Sim(options) => sim::run(&options, args.verbose > 0),
        Command::Schemes(options) => schemes::run(&options),
        Command::Gen(options) => gen_trace::run(&options),
        Command::Trace(command) => trace::run(&command),
        Command::Store(command) => store::run(&command),
        Command::Serve(command) => serve::run(&command),
        Command::Top(options) => top::run(&options),
        Command::Bench(command) => bench::run(&command, args.verbose > 0),
        Command::Db(command) => db::run(&command),
        Command::Train(options) => learn::train_model(&options),
        Command::Model(command) => learn::model(&command),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Report(options) => report::run(&options),
        Command::Completions(options) => shell::completions(&options),
        Command::Man(options) => shell::man(&options),
    });
    match done.and_then(|text| print(&text)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
