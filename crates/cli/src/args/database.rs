//! Arguments of the benches of databases.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use frostline_benches::{DatabaseBench, DeviceSpec, YcsbBench};
use frostline_db::Replacement;
use frostline_workload::ycsb::{Distribution, LoadOrder, NamedMix};
use frostline_workload::{linkbench, tpcc, ycsb};

use super::running::{CleaningArg, CompressionArg, RunningArgs, SpeedArgs};
use super::share::{fill, gp_of_store, space};
use super::store::unit;
use crate::size::Size;

/// The default device, which each bench makes anew unless its databases are to be kept.
const OWN_DEVICE: &str = "file:frostline-bench";

/// Arguments of all benches of databases.
#[derive(Debug, Args)]
pub(crate) struct DatabaseArgs {
    /// The device: mem:, file:PATH, block:PATH, fdp:/dev/..., dir:DIR, zonefs:MOUNT or
    /// zbd:/dev/...; the default is made anew by each bench without --keep, others are formatted if
    /// they are empty, or with --force
    #[arg(long, value_name = "URI", default_value = OWN_DEVICE)]
    pub device: String,
    /// Bytes of all zones of a new device [default: room for the data, and for their growth at
    /// 50,000 (tpcc) or 1,000,000 transactions per second and thread]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<Size>,
    /// Bytes in a zone of a new device [default: about 1/128 of the loaded data, a power of two
    /// from 1MiB to 1GiB; more if the device would have over 2,048 zones]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub zone: Option<Size>,
    /// Keep a zone of parity for each K zones on the medium of a new device: a zone that is lost
    /// costs no page, and 1 of K+1 bytes of the size holds parity
    #[arg(long, value_name = "K", value_parser = value_parser!(u32).range(1..=32),
        allow_negative_numbers = true)]
    pub parity: Option<u32>,
    /// Schemes, optionally with parameters (dac:classes=4); with several, each has a run on a fresh
    /// database
    #[arg(long, value_name = "A,B", default_value = "frostline", value_delimiter = ',')]
    pub scheme: Vec<String>,
    /// Victim policy, optionally with parameters (d-choices:d=4) [default: the scheme's own]
    #[arg(long, value_name = "V")]
    pub victim: Option<String>,
    /// Clean while the garbage proportion exceeds this
    #[arg(long, value_name = "SHARE", default_value_t = 0.15, value_parser = gp_of_store,
        allow_negative_numbers = true)]
    pub gp: f64,
    /// Clean while pages take more than X times the space of the data, in place of --gp
    #[arg(long, value_name = "X", value_parser = space, allow_negative_numbers = true)]
    pub space: Option<f64>,
    /// Zones reserved for cleaned zones that wait to be reset
    #[arg(long, value_name = "N", default_value_t = 2,
        value_parser = value_parser!(u32).range(1..), allow_negative_numbers = true)]
    pub spare: u32,
    /// Write only what changed of a page, in units of SIZE bytes, or the page without its zeroes;
    /// 4096 means whole pages
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = unit,
        allow_negative_numbers = true)]
    pub unit: u32,
    /// Seed of all random choices
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Memory for the pages of each tenant
    #[arg(long, value_name = "SIZE", default_value = "64MiB", allow_negative_numbers = true)]
    pub buffer: Size,
    /// Bytes of each tenant's log [default: a sixteenth of the device, at most 1GiB, for all logs
    /// together]
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub log: Option<Size>,
    /// The pages that leave memory first
    #[arg(long, value_name = "R", default_value = "watt")]
    pub replacement: ReplacementArg,
    /// Do not count accesses to pages, so that the store gets no hotness records
    #[arg(long)]
    pub no_hotness: bool,
    /// Let cleaning copy pages that changed in memory as they are on the device, as it always does
    /// with --record: a trace must not depend on cleaning
    #[arg(long)]
    pub no_rewriting: bool,
    /// How images of pages are compressed where that saves units; the log with zstd, or none
    #[arg(long, value_name = "C", default_value = "lz4")]
    pub compression: CompressionArg,
    /// Bytes of the log that an opening after a crash redoes at most: as many as the buffer has
    /// unless given
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub recovery: Option<Size>,
    /// Share of a leaf that insertions in ascending order fill, 0.7 to 1: the rest is for those
    /// that come between them later
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, value_parser = fill,
        allow_negative_numbers = true)]
    pub fill: f64,
    /// Databases that share the store, each with its data, buffer, log and threads
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u32).range(1..=256), allow_negative_numbers = true)]
    pub tenants: u32,
    /// Stop after S seconds, without loading [default: 30 without --transactions]
    #[arg(long, value_name = "S", value_parser = value_parser!(u64).range(1..=1 << 32),
        allow_negative_numbers = true)]
    pub seconds: Option<u64>,
    /// Stop after N transactions of each tenant
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
        allow_negative_numbers = true)]
    pub transactions: Option<u64>,
    /// Threads of each tenant
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub threads: u16,
    /// Commits that a thread may have in flight before it waits for the oldest to be durable
    #[arg(long, value_name = "N", default_value_t = 64,
        value_parser = value_parser!(u16), allow_negative_numbers = true)]
    pub in_flight: u16,
    #[command(flatten)]
    pub speed: SpeedArgs,
    /// The thread that cleans
    #[arg(long, value_name = "C", default_value = "background")]
    pub cleaning: CleaningArg,
    /// Use no threads of the databases: the transaction that needs it writes pages, log and
    /// checkpoints. With one thread, --transactions and --cleaning inline, equal runs write equal
    /// pages
    #[arg(long)]
    pub in_order: bool,
    /// Do not check the data after the run
    #[arg(long)]
    pub no_check: bool,
    #[command(flatten)]
    pub running: RunningArgs,
    /// Draw the zones live on the terminal
    #[arg(long, conflicts_with_all = ["quiet", "verbose"])]
    pub live: bool,
    /// Record every page write that reaches the store, with its hotness record, and every trim in a
    /// trace (.parquet), including those of loading
    #[arg(long, value_name = "TRACE", conflicts_with = "keep")]
    pub record: Option<PathBuf>,
    /// Print JSON instead of the table (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    /// Use the existing databases, which must have been loaded with the same workload and scale:
    /// nothing is formatted or loaded
    #[arg(long, conflicts_with_all = ["size", "zone", "parity", "scheme", "victim", "gp", "unit", "spare",
        "log", "tenants", "force"])]
    pub keep: bool,
    /// Open the databases although synced pages are missing; they are then lost for good
    #[arg(long, requires = "keep")]
    pub accept_loss: bool,
    /// Format the device even if it is not empty: its content is lost
    #[arg(long)]
    pub force: bool,
    /// No live line, no messages
    #[arg(long, short)]
    pub quiet: bool,
}

impl DatabaseArgs {
    /// The bench.
    pub(crate) fn bench(&self) -> DatabaseBench {
        let bytes = |size: Option<Size>| size.map(|size| size.0);
        DatabaseBench {
            device: DeviceSpec {
                uri: self.device.clone(),
                bytes: bytes(self.size),
                zone_bytes: bytes(self.zone),
                zone_capacity: None,
                parity: self.parity,
                overwrite: self.force,
                accept_loss: self.accept_loss,
            },
            anew: self.device == OWN_DEVICE,
            speed: self.speed.speed(),
            schemes: self.scheme.clone(),
            victim: self.victim.clone(),
            gp: self.gp,
            space: self.space,
            unit: self.unit,
            spare: self.spare,
            seed: self.seed,
            buffer_bytes: self.buffer.0,
            log_bytes: bytes(self.log),
            replacement: self.replacement.into(),
            hotness: !self.no_hotness,
            rewriting: !self.no_rewriting,
            compression: self.compression.into(),
            recovery_bytes: bytes(self.recovery),
            fill: self.fill,
            tenants: self.tenants,
            seconds: self.seconds,
            transactions: self.transactions,
            threads: self.threads,
            in_flight: self.in_flight,
            cleaning: self.cleaning.into(),
            in_order: self.in_order,
            check: !self.no_check,
            metrics: self.running.metrics,
            backup: self.running.backup.clone(),
            record: self.record.clone(),
            keep: self.keep,
            force: self.force,
        }
    }
}

/// A rule by which pages leave memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReplacementArg {
    /// Pages that were read and changed least often of late
    Watt,
    /// Pages that were not used for a round
    Clock,
}

impl From<ReplacementArg> for Replacement {
    fn from(arg: ReplacementArg) -> Replacement {
        match arg {
            ReplacementArg::Watt => Replacement::Watt,
            ReplacementArg::Clock => Replacement::Clock,
        }
    }
}

/// `frostline bench tpcc`
#[derive(Debug, Args)]
pub(crate) struct BenchTpccArgs {
    /// Warehouses, of about 80 MiB each
    #[arg(long, value_name = "W", default_value_t = 4,
        value_parser = value_parser!(u32).range(1..=1 << 16), allow_negative_numbers = true)]
    pub warehouses: u32,
    /// Delete old orders at the rate at which new ones come, so that the data keep their size
    #[arg(long)]
    pub steady: bool,
    /// Items, and stocks in a warehouse: with fewer it is not TPC-C, but quickly loaded
    #[arg(long, value_name = "N", default_value_t = 100_000,
        value_parser = value_parser!(u32).range(20..=100_000), allow_negative_numbers = true)]
    pub items: u32,
    /// Customers in a district, and its orders after loading: with fewer it is not TPC-C
    #[arg(long, value_name = "N", default_value_t = 3_000,
        value_parser = value_parser!(u16).range(10..=3_000), allow_negative_numbers = true)]
    pub customers: u16,
    #[command(flatten)]
    pub database: DatabaseArgs,
}

impl BenchTpccArgs {
    /// The workload.
    pub(crate) fn options(&self) -> tpcc::TpccOptions {
        let BenchTpccArgs { warehouses, items, customers, steady, .. } = *self;
        tpcc::TpccOptions { scale: tpcc::Scale { warehouses, items, customers }, steady }
    }
}

/// `frostline bench ycsb`
#[derive(Debug, Args)]
pub(crate) struct BenchYcsbArgs {
    /// The mix of operations: a, b, c, d, e, f, 50w, 100w, or 100i for inserts alone
    #[arg(long, value_name = "W", default_value = "a")]
    pub workload: NamedMix,
    /// Records to load
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
        value_parser = value_parser!(u64).range(1..=1 << 40), allow_negative_numbers = true)]
    pub records: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 120,
        value_parser = value_parser!(u32).range(0..=1 << 20), allow_negative_numbers = true)]
    pub value_bytes: u32,
    /// The order in which records are loaded
    #[arg(long, value_name = "O", default_value = "hashed")]
    pub load_order: LoadOrderArg,
    /// The choice of records: zipf:THETA, uniform or latest:THETA [default: latest:0.99 for d,
    /// zipf:0.99 for the others]
    #[arg(long, value_name = "D")]
    pub distribution: Option<Distribution>,
    /// Operations in a transaction
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u32).range(1..=10_000), allow_negative_numbers = true)]
    pub operations: u32,
    /// Reads in flight: a thread draws N transactions, reads together what they need, and then runs
    /// one after another; the first one's latency has these reads
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = value_parser!(u32).range(1..=1_000), allow_negative_numbers = true)]
    pub reads_in_flight: u32,
    #[command(flatten)]
    pub database: DatabaseArgs,
}

impl BenchYcsbArgs {
    /// The workload.
    pub(crate) fn bench(&self) -> YcsbBench {
        let bench = YcsbBench::new(self.workload);
        let options = ycsb::YcsbOptions {
            distribution: self.distribution.unwrap_or(bench.options.distribution),
            records: self.records,
            value_bytes: self.value_bytes as usize,
            operations_per_transaction: self.operations,
            drawn_together: self.reads_in_flight,
            load_order: self.load_order.into(),
            ..bench.options
        };
        YcsbBench { options, ..bench }
    }
}

/// The order in which records are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadOrderArg {
    /// By their numbers: each goes to another place of the table
    Hashed,
    /// By their keys, in ascending order
    Keys,
}

impl From<LoadOrderArg> for LoadOrder {
    fn from(order: LoadOrderArg) -> LoadOrder {
        match order {
            LoadOrderArg::Hashed => LoadOrder::Hashed,
            LoadOrderArg::Keys => LoadOrder::Keys,
        }
    }
}

/// `frostline bench linkbench`
#[derive(Debug, Args)]
pub(crate) struct BenchLinkbenchArgs {
    /// Nodes to load; there are about four times as many links
    #[arg(long, value_name = "N", default_value_t = 500_000,
        value_parser = value_parser!(u64).range(1..=1 << 40), allow_negative_numbers = true)]
    pub nodes: u64,
    #[command(flatten)]
    pub database: DatabaseArgs,
}

impl BenchLinkbenchArgs {
    /// The workload.
    pub(crate) fn options(&self) -> linkbench::LinkBenchOptions {
        linkbench::LinkBenchOptions { nodes: self.nodes }
    }
}
