//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::engines::{SINGLE_RECORDS, TRANSACTIONAL};
use crate::job::{Job, Load};

/// Frostline's workloads over embedded engines, side by side.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub struct Arguments {
    /// The workload that is run.
    #[command(subcommand)]
    pub command: Command,
}

/// The workload that is run.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// YCSB: operations on single records
    Ycsb(YcsbArguments),
    /// TPC-C: order entry of a wholesale supplier
    Tpcc(TpccArguments),
    /// Measures one engine in this process, as the other commands start it
    #[command(hide = true)]
    Measure {
        /// The job, as JSON
        job: String,
    },
    /// Opens the database of one engine in this process, after it was killed
    #[command(hide = true)]
    Open {
        /// The job, as JSON
        job: String,
    },
}

/// The options of both workloads.
#[derive(Debug, Args)]
pub struct Common {
    /// Engines, one after the other; bf-tree, which has no transactions, only if named
    #[arg(long = "engine", value_delimiter = ',', value_parser = engine, default_values = TRANSACTIONAL)]
    pub engines: Vec<String>,
    /// All the memory of an engine: caches, write buffers, maps
    #[arg(long, value_parser = size, default_value = "24MiB")]
    pub memory: u64,
    /// The write-ahead log, where an engine has one whose size can be set
    #[arg(long, value_parser = size, default_value = "32MiB")]
    pub log: u64,
    /// Use the page cache even where an engine could do without
    #[arg(long)]
    pub buffered: bool,
    /// Threads that run operations
    #[arg(long, default_value_t = 1)]
    pub threads: usize,
    /// Seed of everything that is drawn
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Frostline's placement scheme
    #[arg(long, default_value = "frostline")]
    pub scheme: String,
    /// Garbage proportion above which Frostline cleans
    #[arg(long, default_value_t = 0.15)]
    pub gp: f64,
    /// Space over data above which Frostline cleans, in place of the garbage proportion
    #[arg(long)]
    pub space: Option<f64>,
    /// Bytes of the units of Frostline's store; with 4096 it writes whole pages
    #[arg(long, default_value_t = 64)]
    pub unit: u32,
    /// Directory to put fresh directories into, which are removed afterwards
    #[arg(long, default_value = ".")]
    pub directory: PathBuf,
    /// Write the results as JSON to this file, or instead of the table (-)
    #[arg(long)]
    pub json: Option<PathBuf>,
}

/// YCSB.
#[derive(Debug, Args)]
pub struct YcsbArguments {
    /// Records
    #[arg(long, default_value_t = 1_000_000)]
    pub records: u64,
    /// Bytes of a value, which does not compress
    #[arg(long, default_value_t = 120)]
    pub value_bytes: usize,
    /// a to f as in the paper, 50w, 100w, or 100i for inserts alone
    #[arg(long, default_value = "50w")]
    pub mix: String,
    /// The choice of records: zipf:THETA, uniform or latest:THETA; the mix's own unless given
    #[arg(long)]
    pub distribution: Option<String>,
    /// Operations that are measured
    #[arg(long, default_value_t = 1_000_000)]
    pub operations: u64,
    /// Operations before those; half as many unless given
    #[arg(long)]
    pub warm_up: Option<u64>,
    /// Operations between durable points
    #[arg(long, default_value_t = 1000)]
    pub in_flight: usize,
    /// Common options
    #[command(flatten)]
    pub common: Common,
}

/// TPC-C.
#[derive(Debug, Args)]
pub struct TpccArguments {
    /// Warehouses
    #[arg(long, default_value_t = 1)]
    pub warehouses: u32,
    /// Transactions that are measured
    #[arg(long, default_value_t = 50_000)]
    pub transactions: u64,
    /// Transactions before those; half as many unless given
    #[arg(long)]
    pub warm_up: Option<u64>,
    /// Transactions between durable points
    #[arg(long, default_value_t = 100)]
    pub in_flight: usize,
    /// Common options
    #[command(flatten)]
    pub common: Common,
}

impl YcsbArguments {
    /// The job of one of the engines, in a directory.
    pub fn job(&self, engine: &str, directory: PathBuf) -> Job {
        let load = Load::Ycsb {
            records: self.records,
            value_bytes: self.value_bytes,
            mix: self.mix.clone(),
            distribution: self.distribution.clone(),
        };
        let job = self.common.job(engine, directory, load);
        let (operations, in_flight) = (self.operations, self.in_flight);
        Job { operations, warm_up: self.warm_up.unwrap_or(operations / 2), in_flight, ..job }
    }
}

impl TpccArguments {
    /// The job of one of the engines, in a directory.
    pub fn job(&self, engine: &str, directory: PathBuf) -> Job {
        let load = Load::Tpcc { warehouses: self.warehouses };
        let job = self.common.job(engine, directory, load);
        let (operations, in_flight) = (self.transactions, self.in_flight);
        Job { operations, warm_up: self.warm_up.unwrap_or(operations / 2), in_flight, ..job }
    }
}

impl Common {
    fn job(&self, engine: &str, directory: PathBuf, load: Load) -> Job {
        Job {
            engine: engine.to_owned(),
            load,
            operations: 0,
            warm_up: 0,
            in_flight: 0,
            threads: self.threads,
            seed: self.seed,
            memory: self.memory,
            log: self.log,
            direct: !self.buffered,
            scheme: self.scheme.clone(),
            gp: self.gp,
            space: self.space,
            unit: self.unit,
            directory,
        }
    }
}

fn engine(name: &str) -> Result<String, String> {
    let all = [TRANSACTIONAL, SINGLE_RECORDS].concat();
    match all.contains(&name) {
        true => Ok(name.to_owned()),
        false if name == "rocksdb" => Err("built without it: see README.md".to_owned()),
        false => Err(format!("there are {}", all.join(", "))),
    }
}

/// Bytes as `4096`, `16MiB`, `1GiB`.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("\"{text}\" is not a size such as 4096, 16MiB or 1GiB");
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("24MiB"), Ok(24 << 20));
        assert_eq!(size("4096"), Ok(4096));
        assert!(size("MiB").is_err() && size("1MB").is_err() && size("99999999999GiB").is_err());
    }
}
