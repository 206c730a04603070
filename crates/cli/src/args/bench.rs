//! Arguments of `frostline bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, value_parser};
use frostline_benches::{DeviceSpec, PageWorkload, StoreBench};
use frostline_store::Format;

use super::database::{BenchLinkbenchArgs, BenchTpccArgs, BenchYcsbArgs};
use super::running::{CleaningArg, RunningArgs, SpeedArgs};
use super::share::space;
use super::store::{PlacementArgs, ShapeArgs};

/// `frostline bench`
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Write pages to a fresh store, by a workload
    Store(BenchStoreArgs),
    /// TPC-C on a fresh database: order entry of a wholesale supplier
    Tpcc(BenchTpccArgs),
    /// YCSB on a fresh database: reads and writes of single records
    Ycsb(BenchYcsbArgs),
    /// A workload like LinkBench on a fresh database: a social graph
    Linkbench(BenchLinkbenchArgs),
}

/// `frostline bench store`
#[derive(Debug, Args)]
pub(crate) struct BenchStoreArgs {
    /// The device: mem:, file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or zbd:/dev/...
    #[arg(long, value_name = "URI")]
    pub device: String,
    #[command(flatten)]
    pub shape: ShapeArgs,
    /// zipf:ALPHA, uniform, sequential or trace:FILE
    #[arg(long, value_name = "W", default_value = "zipf:1.0")]
    pub workload: PageWorkload,
    #[command(flatten)]
    pub placement: PlacementArgs,
    /// Stop after S seconds, without the fill [default: 30 without --writes]
    #[arg(long, value_name = "S", value_parser = value_parser!(u64).range(1..=1 << 32),
        allow_negative_numbers = true)]
    pub seconds: Option<u64>,
    /// Stop after N page writes, without the fill
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
        allow_negative_numbers = true)]
    pub writes: Option<u64>,
    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub threads: u16,
    /// Writes between two syncs of a thread [default: one sync, at the end]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
        allow_negative_numbers = true)]
    pub sync_every: Option<u64>,
    #[command(flatten)]
    pub speed: SpeedArgs,
    /// Clean while pages take more than X times the space of the data, in place of --gp
    #[arg(long, value_name = "X", value_parser = space, allow_negative_numbers = true)]
    pub space: Option<f64>,
    /// The thread that cleans
    #[arg(long, value_name = "C", default_value = "background")]
    pub cleaning: CleaningArg,
    /// Print JSON instead of the table (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub running: RunningArgs,
    /// Draw the zones live on the terminal
    #[arg(long, conflicts_with_all = ["quiet", "verbose"])]
    pub live: bool,
    /// Also record the LBAs in a trace, including those of the fill
    #[arg(long, value_name = "TRACE")]
    pub record: Option<PathBuf>,
    /// Use the existing store: nothing is formatted or filled
    #[arg(long, conflicts_with_all = ["size", "zone", "capacity", "parity", "scheme", "victim", "gp",
        "unit", "force"])]
    pub keep: bool,
    /// Open the store although synced pages are missing; they are then lost for good
    #[arg(long, requires = "keep")]
    pub accept_loss: bool,
    /// Format the device even if it is not empty: its content is lost
    #[arg(long)]
    pub force: bool,
    /// No live line, no messages
    #[arg(long, short)]
    pub quiet: bool,
}

impl BenchStoreArgs {
    /// The bench.
    pub(crate) fn bench(&self) -> StoreBench {
        StoreBench {
            device: DeviceSpec {
                accept_loss: self.accept_loss,
                ..self.shape.device(&self.device, self.force)
            },
            speed: self.speed.speed(),
            format: Format { force: self.force, ..self.placement.format() },
            workload: self.workload.clone(),
            memory: None,
            seconds: self.seconds,
            writes: self.writes,
            threads: self.threads,
            sync_every: self.sync_every,
            cleaning: self.cleaning.into(),
            metrics: self.running.metrics,
            backup: self.running.backup.clone(),
            record: self.record.clone(),
            keep: self.keep,
            space: self.space,
        }
    }
}
