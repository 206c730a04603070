//! `frostline bench`: measures a store, or databases on it, under load.

mod database;
mod database_text;
mod store;
mod store_text;

use frostline_benches::Monitor;

use crate::args::BenchCommand;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::screen::Screen;
use crate::top::Live;

/// Runs the bench that the arguments name. The text has all figures if asked for.
pub(crate) fn run(command: &BenchCommand, all_figures: bool) -> Result<String, Failure> {
    match command {
        BenchCommand::Store(args) => store::run(args),
        BenchCommand::Tpcc(args) => {
            database::run("bench tpcc", &args.database, &args.options(), all_figures)
        }
        BenchCommand::Ycsb(args) => {
            database::run("bench ycsb", &args.database, &args.bench(), all_figures)
        }
        BenchCommand::Linkbench(args) => {
            database::run("bench linkbench", &args.database, &args.options(), all_figures)
        }
    }
}

/// The device's speed in words, to follow its shape.
fn speed(drive: Option<&str>, bandwidth: Option<u64>) -> String {
    let drive = drive.map(|name| format!(", as slow as a {name}"));
    let bandwidth = bandwidth.map(|bytes| format!(", {} MB/s at most", bytes as f64 / 1e6));
    drive.unwrap_or_default() + &bandwidth.unwrap_or_default()
}

/// What a bench shows while it works: a line, or with `--live` a picture of its store.
fn monitor<'a>(
    command: &'static str,
    live: bool,
    quiet: bool,
    interrupt: &'a Interrupt,
) -> Result<Box<dyn Monitor + 'a>, Failure> {
    Ok(match live {
        true => Box::new(Live::new(command, interrupt)?),
        false => Box::new(Screen::new(command, quiet, interrupt)),
    })
}
