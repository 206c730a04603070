//! Starts a process for each engine, one after the other, and shows what they measured.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};

use clap::Parser;
use frostline_peers::arguments::{Arguments, Command, Common};
use frostline_peers::engines::{Failure, TRANSACTIONAL};
use frostline_peers::job::Job;
use frostline_peers::measure::{self, Measured};
use frostline_peers::report::Report;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::de::DeserializeOwned;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Ycsb(ycsb) => {
            side_by_side(&ycsb.common, |engine, at| ycsb.job(engine, at.to_owned()))
        }
        Command::Tpcc(tpcc) => {
            side_by_side(&tpcc.common, |engine, at| tpcc.job(engine, at.to_owned()))
        }
        Command::Measure { job } => measure(&job),
        Command::Open { job } => open(&job),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("frostline-peers: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one engine in this process, prints the results and goes on until the process is killed;
/// or ends, if the engine can't be opened again.
fn measure(job: &str) -> Result<(), Failure> {
    // Only the parent kills this process, so it must not outlive the parent.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let job: Job = serde_json::from_str(job)?;
    let print = |measured: &Measured| {
        println!("{}", serde_json::to_string(measured).expect("they are plain data"));
    };
    match is_durable(&job) {
        true => measure::run_until_killed(&job, print),
        false => measure::run(&job).map(|measured| print(&measured)),
    }
}

/// Opens an engine's database in this process, and prints what that took.
fn open(job: &str) -> Result<(), Failure> {
    println!("{}", serde_json::to_string(&measure::open(&serde_json::from_str(job)?)?)?);
    Ok(())
}

/// True if the engine's database can be opened again.
fn is_durable(job: &Job) -> bool {
    TRANSACTIONAL.contains(&&*job.engine)
}

/// Measures all engines, each in a process and a directory of its own.
fn side_by_side(common: &Common, job: impl Fn(&str, &Path) -> Job) -> Result<(), Failure> {
    let mut report: Option<Report> = None;
    for engine in &common.engines {
        let named = tempfile::Builder::new().prefix("frostline-peers-").to_owned();
        let directory = named.tempdir_in(&common.directory)?;
        let job = job(engine, directory.path());
        eprintln!("{engine}...");
        let measured = measured_and_opened(&job)?;
        directory.close()?;
        let engines = report.map_or_else(Vec::new, |report| report.engines);
        report = Some(Report { job, engines: [engines, vec![measured]].concat() });
    }
    match report {
        Some(report) => show(&report, common.json.as_deref()),
        None => Err("no engine was named".into()),
    }
}

/// Measures an engine in a process, which is killed then, and opens the database in another.
fn measured_and_opened(job: &Job) -> Result<Measured, Failure> {
    let mut measured: Measured = in_a_process("measure", job)?;
    if is_durable(job) {
        measured.opened = Some(in_a_process("open", job)?);
    }
    Ok(measured)
}

/// The line that a command of this program prints for a job in a process of its own, which is
/// killed then.
fn in_a_process<T: DeserializeOwned>(command: &str, job: &Job) -> Result<T, Failure> {
    let mut process = Process::new(std::env::current_exe()?)
        .arg(command)
        .arg(serde_json::to_string(job)?)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = process.stdout.take().ok_or("the process has no output")?;
    BufReader::new(output).read_line(&mut line)?;
    process.kill()?;
    let status = process.wait()?;
    match line.is_empty() {
        false => Ok(serde_json::from_str(&line)?),
        true => Err(format!("{}: {status}", job.engine).into()),
    }
}

fn show(report: &Report, json: Option<&Path>) -> Result<(), Failure> {
    let as_json = || serde_json::to_string_pretty(report);
    match json {
        Some(path) if path == Path::new("-") => println!("{}", as_json()?),
        Some(path) => {
            std::fs::write(path, as_json()?)?;
            print!("{}", report.markdown());
        }
        None => print!("{}", report.markdown()),
    }
    Ok(())
}
