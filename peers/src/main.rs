//! Starts a process for each engine, one after the other, and shows what they measured.

use std::path::Path;
use std::process::{Command as Process, ExitCode, Stdio};

use clap::Parser;
use frostline_peers::arguments::{Arguments, Command, Common};
use frostline_peers::engines::Failure;
use frostline_peers::job::Job;
use frostline_peers::measure::{self, Measured};
use frostline_peers::report::Report;

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Ycsb(ycsb) => {
            side_by_side(&ycsb.common, |engine, at| ycsb.job(engine, at.to_owned()))
        }
        Command::Tpcc(tpcc) => {
            side_by_side(&tpcc.common, |engine, at| tpcc.job(engine, at.to_owned()))
        }
        Command::One { job } => one(&job),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("frostline-peers: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one engine in this process.
fn one(job: &str) -> Result<(), Failure> {
    let measured = measure::run(&serde_json::from_str(job)?)?;
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

/// Measures all engines, each in a process and a directory of its own.
fn side_by_side(common: &Common, job: impl Fn(&str, &Path) -> Job) -> Result<(), Failure> {
    let mut report: Option<Report> = None;
    for engine in &common.engines {
        let named = tempfile::Builder::new().prefix("frostline-peers-").to_owned();
        let directory = named.tempdir_in(&common.directory)?;
        let job = job(engine, directory.path());
        eprintln!("{engine}...");
        let measured = in_a_process(&job)?;
        directory.close()?;
        let engines = report.map_or_else(Vec::new, |report| report.engines);
        report = Some(Report { job, engines: [engines, vec![measured]].concat() });
    }
    match report {
        Some(report) => show(&report, common.json.as_deref()),
        None => Err("no engine was named".into()),
    }
}

fn in_a_process(job: &Job) -> Result<Measured, Failure> {
    let mut process = Process::new(std::env::current_exe()?);
    process.arg("one").arg(serde_json::to_string(job)?).stderr(Stdio::inherit());
    let output = process.output()?;
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout)?),
        false => Err(format!("{}: {}", job.engine, output.status).into()),
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
