//! Arguments of the command, and their translation for the libraries.

mod as_store;
mod backup;
mod bench;
mod database;
mod db;
mod guide;
mod learn;
mod reading;
mod report;
mod reproduce;
mod running;
mod serve;
mod share;
mod shell;
mod store;
mod top;

use std::path::PathBuf;

use clap::{ArgAction, ArgGroup, Args, Parser, Subcommand, ValueEnum, value_parser};
use frostline_papers::Shard;

pub(crate) use self::as_store::StoreArg;
pub(crate) use self::backup::{BackupArgs, RestoreArgs};
pub(crate) use self::bench::{BenchCommand, BenchStoreArgs};
pub(crate) use self::database::DatabaseArgs;
pub(crate) use self::db::{CopyArgs, DbCommand, DumpArgs, LookDbArgs};
pub(crate) use self::guide::command;
pub(crate) use self::learn::{
    AddedArgs, CompareArgs, EvalArgs, HistoriesArgs, ModelCommand, StudyArgs, TrainArgs,
};
pub(crate) use self::reading::{Loading, Reading};
pub(crate) use self::report::ReportArgs;
pub(crate) use self::reproduce::ReproduceArgs;
pub(crate) use self::serve::{DiskArgs, ServeCommand, ServeNbdArgs};
pub(crate) use self::shell::{CompletionsArgs, ManArgs};
pub(crate) use self::store::{FormatArgs, LookArgs, RebuildArgs, ScrubArgs, StoreCommand};
pub(crate) use self::top::TopArgs;
use crate::size::Size;

/// Page placement for log-structured storage: simulator and tools.
#[derive(Debug, Parser)]
#[command(name = "frostline", bin_name = "frostline", version = env!("FROSTLINE_VERSION"), max_term_width = 100)]
pub(crate) struct Arguments {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    /// Print events of the libraries on standard error; -vv for more
    #[arg(long, short, global = true, action = ArgAction::Count, display_order = 900)]
    pub verbose: u8,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay write traces against placement schemes
    Sim(SimArgs),
    /// List the schemes and victim policies with their parameters
    Schemes(SchemesArgs),
    /// Generate a synthetic trace
    Gen(GenArgs),
    /// Look into a trace, or convert it
    #[command(subcommand, arg_required_else_help = false)]
    Trace(TraceCommand),
    /// Make a page store, look into it, check it
    #[command(subcommand, arg_required_else_help = false)]
    Store(StoreCommand),
    /// Serve a page store as a disk to other programs
    #[command(subcommand, arg_required_else_help = false)]
    Serve(ServeCommand),
    /// Draw the zones of a store as they change, and what is written
    Top(TopArgs),
    /// Measure a store, or databases on it, under load
    #[command(subcommand, arg_required_else_help = false)]
    Bench(BenchCommand),
    /// Look into databases, and check them
    #[command(subcommand, arg_required_else_help = false)]
    Db(DbCommand),
    /// Train a model that recognises frozen pages on a trace
    Train(TrainArgs),
    /// Evaluate and compare models that recognise frozen pages
    #[command(subcommand, arg_required_else_help = false)]
    Model(ModelCommand),
    /// Repeat a paper's evaluation, at a scale that fits a laptop
    Reproduce(ReproduceArgs),
    /// Make a page of results, in one HTML file
    Report(ReportArgs),
    /// Print the completions of a shell
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands to a directory
    Man(ManArgs),
}

/// `frostline sim`
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("capacity").args(["op", "zones"])))]
#[command(group(ArgGroup::new("files").args(["json", "output"]).multiple(true)))]
pub(crate) struct SimArgs {
    /// Traces; with several, or several volumes, the sum is shown as well
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,
    #[command(flatten)]
    pub loading: Loading,
    /// Schemes, optionally with parameters (dac:classes=4), or all
    #[arg(long, value_name = "A,B", default_value = "all", value_delimiter = ',')]
    pub scheme: Vec<String>,
    /// Victim policies, optionally with parameters (d-choices:d=4), or all [default: that of each
    /// scheme, as `frostline schemes` lists it]
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub victim: Vec<String>,
    /// Bytes in a zone [default: about 1/128 of the volume, a power of two from 1MiB to 1GiB]; with
    /// several, each has its runs, as for --gp and --op
    #[arg(long, value_name = "SIZE,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub zone: Vec<Size>,
    /// Write each page not whole, but as many units of SIZE bytes as its bytes in the trace need
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub in_units: Option<Size>,
    /// Lay pages out as a store does, with headers and syncs:
    /// pages=N,whole=N,zone=SIZE,spare=N,hotness=BOOL, as a recorded run prints it
    #[arg(long, value_name = "STORE", requires = "zones")]
    pub as_store: Option<StoreArg>,
    /// Let the scheme begin anew after N user writes, as it does when a store is opened again
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub reopened: Option<u64>,
    /// Clean while the garbage proportion exceeds this, a share of 1 [default: 0.15]
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', value_parser = share::gp,
        conflicts_with = "op", allow_negative_numbers = true)]
    pub gp: Vec<f64>,
    /// A fixed capacity instead: over-provisioning, (physical - logical) / logical, as 0.07
    #[arg(long, value_name = "SHARE,...", value_delimiter = ',', value_parser = share::op,
        allow_negative_numbers = true)]
    pub op: Vec<f64>,
    /// With --gp: at most N zones, like a store on a device
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
        allow_negative_numbers = true)]
    pub zones: Option<u32>,
    /// With --op or --zones: clean while fewer zones than this are free
    #[arg(long, value_name = "N", default_value_t = 2, requires = "capacity",
        value_parser = value_parser!(u32).range(2..), allow_negative_numbers = true)]
    pub free_zones: u32,
    /// Zones that may be open at once; a scheme that wants more classes is refused
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..),
        allow_negative_numbers = true)]
    pub max_open: Option<u32>,
    /// Replay this trace first, without counting it
    #[arg(long, value_name = "TRACE")]
    pub preload: Option<PathBuf>,
    /// Start counting after N user writes
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub warmup: u64,
    /// Report every N user writes as well, in the files
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "files",
        allow_negative_numbers = true
    )]
    pub window: u64,
    /// Count a sample of the user writes by class and lifespan as well, in the files
    #[arg(long, requires = "files")]
    pub lifespans: bool,
    /// Of a trace without requests, such as u32: do not guess that successive pages are one request
    #[arg(long)]
    pub no_guess: bool,
    /// The reading of the papers to follow
    #[arg(long, value_name = "S", default_value = "published")]
    pub semantics: SemanticsArg,
    /// The model that recognises frozen pages for schemes with recogniser=model, made by `frostline
    /// train`
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Seed of the random choices of schemes and victim policies
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// Print JSON instead of the table (-), or write it to a file as well
    #[arg(long, value_name = "-|FILE")]
    pub json: Option<PathBuf>,
    /// Also write one record per run, with everything that led to it, to a file: .json, .ndjson,
    /// .csv or .parquet
    #[arg(long, short, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Keep finished runs in this file, and do not repeat runs that it has
    #[arg(long, value_name = "FILE")]
    pub manifest: Option<PathBuf>,
    /// Do only this part of the runs, like 3/16
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Print the decisions of the schemes and their reasons below the table
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Leave out the gain, which needs the runs of nosep and oracle-rate-frozen
    #[arg(long)]
    pub no_gain: bool,
    /// Leave out all durations, so that equal runs give equal bytes
    #[arg(long)]
    pub no_timing: bool,
    /// Runs at the same time [default: one per core]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024),
        allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// No progress bar, no warnings
    #[arg(long, short)]
    pub quiet: bool,
}

/// The reading of the papers to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SemanticsArg {
    /// The papers' text
    Published,
    /// The simulator published with SepBIT, with the same counts to the last page
    #[value(name = "sepbit-fast22")]
    SepbitFast22,
    /// The simulator published with MiDAS, with the same WAF within 4 %; needs --op
    #[value(name = "midas-fast24")]
    MidasFast24,
}

/// `frostline schemes`
#[derive(Debug, Args)]
pub(crate) struct SchemesArgs {
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub json: bool,
    /// Print Markdown, in the form of docs/schemes.md
    #[arg(long)]
    pub markdown: bool,
}

/// `frostline gen`
#[derive(Debug, Args)]
pub(crate) struct GenArgs {
    /// The kind of trace
    pub kind: KindArg,
    /// Pages of the volume
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1 << 31),
        allow_negative_numbers = true)]
    pub pages: u32,
    /// Page writes, without those of --fill
    #[arg(long, value_name = "M", allow_negative_numbers = true)]
    pub writes: u64,
    /// Exponent of Zipf's law [default: 1 for zipf, 0.9 for oltp's table]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub alpha: Option<f64>,
    /// First write every page that exists at the start once, in order
    #[arg(long)]
    pub fill: bool,
    /// Seed: equal arguments give equal traces, for ever
    #[arg(long, value_name = "S", default_value_t = 1, allow_negative_numbers = true)]
    pub seed: u64,
    /// The file: page numbers, compressed if the name ends in .zst; Parquet if it ends in .parquet
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// No progress bar, no message when it is done
    #[arg(long, short)]
    pub quiet: bool,
}

/// A kind of synthetic trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindArg {
    /// Page popularity by Zipf's law, scattered over the volume
    Zipf,
    /// All pages equally popular
    Uniform,
    /// A Zipf table, and an area that is appended to and freezes
    Oltp,
}

/// `frostline trace`
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Describe a trace: writes, pages, lifespans
    Info(InfoArgs),
    /// Convert to page numbers (u32, .zst) or Parquet (.parquet), by the ending of the output
    Convert(ConvertArgs),
    /// Split a trace of many volumes into one for each, in one pass
    Split(SplitArgs),
    /// Show the first requests
    Head(HeadArgs),
}

/// `frostline trace info`
#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// The trace
    pub file: PathBuf,
    #[command(flatten)]
    pub loading: Loading,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// No progress bar
    #[arg(long, short)]
    pub quiet: bool,
}

/// `frostline trace convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The trace
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Stop after this many page writes
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..),
        allow_negative_numbers = true)]
    pub limit: Option<u64>,
    /// No progress bar, no message when it is done
    #[arg(long, short)]
    pub quiet: bool,
}

/// `frostline trace split`
#[derive(Debug, Args)]
pub(crate) struct SplitArgs {
    /// The trace
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
    /// The directory to write, which must not exist: it gets VOLUME.u32.zst for each volume
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
    /// Do not compress: VOLUME.u32
    #[arg(long)]
    pub plain: bool,
    /// No progress bar, no message when it is done
    #[arg(long, short)]
    pub quiet: bool,
}

/// `frostline trace head`
#[derive(Debug, Args)]
pub(crate) struct HeadArgs {
    /// The trace
    pub file: PathBuf,
    #[command(flatten)]
    pub reading: Reading,
    /// Requests to show
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 10,
        allow_negative_numbers = true
    )]
    pub lines: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
