//! The workloads, run on the engine: each is a command line of `frostline bench`, so that whoever
//! wants one of them alone can type it.

use std::path::Path;

use clap::{Args, Parser};
use frostline_trace::{LoadOptions, Writes, load};

use super::paper;
use super::scale::{BUFFERED, Scale, TpccSize, VALUE_BYTES, YcsbSize, zone_pages};
use super::tables::{Cell, Table};
use crate::args::{BenchTpccArgs, BenchYcsbArgs};
use crate::bench::{Benchmark, DatabaseReport, measure};
use crate::failure::Failure;

/// Operations a record that make 100W write its pages about fifty times, and 50W, where half of them
/// are updates, 36 times (section 5.1).
const OPERATIONS_100W: f64 = 1.45;
const OPERATIONS_50W: f64 = 1.95;

/// What is run on the engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Workload {
    /// TPC-C with memory for a share of its data.
    Tpcc { buffered: f64 },
    /// YCSB with updates only.
    Ycsb100w,
    /// YCSB with as many reads as updates.
    Ycsb50w,
}

impl Workload {
    /// The paper's three.
    pub const ALL: [Workload; 3] =
        [Workload::Tpcc { buffered: BUFFERED }, Workload::Ycsb100w, Workload::Ycsb50w];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Tpcc { .. } => "TPC-C",
            Workload::Ycsb100w => "YCSB-100W",
            Workload::Ycsb50w => "YCSB-50W",
        }
    }

    /// What `frostline` is told to run it.
    fn command(self, scale: Scale, seed: u64) -> String {
        let (what, transactions, buffer) = match self {
            Workload::Tpcc { buffered } => {
                let TpccSize { warehouses, items, customers, transactions, buffer } =
                    scale.tpcc(buffered);
                let what = format!(
                    "bench tpcc --warehouses {warehouses} --items {items} --customers {customers}"
                );
                (what, transactions, buffer)
            }
            Workload::Ycsb100w => ycsb("100w", scale.ycsb(OPERATIONS_100W)),
            Workload::Ycsb50w => ycsb("50w", scale.ycsb(OPERATIONS_50W)),
        };
        format!(
            "{what} --transactions {transactions} --buffer {buffer} --seed {seed} --device mem: \
             --no-check"
        )
    }
}

fn ycsb(mix: &str, size: YcsbSize) -> (String, u64, u64) {
    let YcsbSize { records, operations, buffer } = size;
    let what =
        format!("bench ycsb --workload {mix} --records {records} --value-bytes {VALUE_BYTES}");
    (what, operations, buffer)
}

/// What a workload wrote.
pub struct Recorded {
    /// Which it was.
    pub workload: Workload,
    /// The command that records the same.
    pub command: String,
    /// The page writes, with hotness records.
    pub writes: Writes,
    /// Page writes of loading: the rest counts.
    pub loading: u64,
    /// Pages after loading, and in the end.
    pub pages: (u64, u64),
}

/// Runs a workload in such a way that it writes the same pages each time, and returns them.
pub fn record(
    workload: Workload,
    scale: Scale,
    seed: u64,
    directory: &Path,
    quiet: bool,
) -> Result<Recorded, Failure> {
    // Who places the pages makes no difference to which are written.
    let command = workload.command(scale, seed) + " --cleaning inline --in-order --scheme nosep";
    let trace = directory.join("trace.parquet");
    let report =
        bench(workload, &command, &["--record".into(), trace.display().to_string()], quiet)?;
    let [run] = &report.runs[..] else {
        return Err(Failure::job("reproduce", "the run that is recorded was interrupted"));
    };
    let options = LoadOptions { hotness: true, ..LoadOptions::default() };
    let mut loaded = load(&trace, &options, &mut |_| {})?;
    // A recorded trace has one volume.
    let writes = loaded.volumes.swap_remove(0);
    Ok(Recorded {
        workload,
        command,
        writes,
        loading: run.replay.warmup(),
        pages: (run.pages_before, run.pages_after),
    })
}

/// Runs a workload on a device of a bandwidth, with each of these schemes.
pub fn timed(
    workload: Workload,
    scale: Scale,
    seed: u64,
    bandwidth: &str,
    schemes: &[&str],
    quiet: bool,
) -> Result<(String, DatabaseReport), Failure> {
    let schemes = schemes.join(",");
    // Several threads, as one would wait for its reads most of the time, and cleaning that keeps up.
    let busy = format!(" --bandwidth {bandwidth} --threads 4 --cleaning inline --scheme {schemes}");
    let command = workload.command(scale, seed) + &busy;
    let report = bench(workload, &command, &[], quiet)?;
    Ok((command, report))
}

/// A bench's arguments alone.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Line<A: Args> {
    #[command(flatten)]
    args: A,
}

fn bench(
    workload: Workload,
    command: &str,
    more: &[String],
    quiet: bool,
) -> Result<DatabaseReport, Failure> {
    let words = command.split(' ').skip(2).map(ToString::to_string).chain(more.iter().cloned());
    let words = words.chain(quiet.then(|| "--quiet".to_string()));
    match workload {
        Workload::Tpcc { .. } => run::<BenchTpccArgs>(words, |args| &args.database),
        _ => run::<BenchYcsbArgs>(words, |args| &args.database),
    }
}

fn run<B: Benchmark + Args>(
    words: impl Iterator<Item = String>,
    database: impl Fn(&B) -> &crate::args::DatabaseArgs,
) -> Result<DatabaseReport, Failure>
where
    B::Opened: Sync,
{
    let line = Line::<B>::try_parse_from(words);
    let args = line.map_err(|e| Failure::job(B::COMMAND, &e.to_string()))?.args;
    measure(database(&args), &args)
}

impl Recorded {
    /// Its row among the workloads; `unique` are the pages that it wrote.
    pub fn cells(&self, unique: u32) -> Vec<Cell> {
        let Recorded { workload, command, writes, loading, pages } = self;
        let counted = writes.lbas.len() as u64 - loading;
        let told = match workload {
            Workload::Tpcc { .. } => paper::TPCC_SETUP.text,
            Workload::Ycsb100w => paper::YCSB_100W_SETUP.text,
            Workload::Ycsb50w => paper::YCSB_50W_SETUP.text,
        };
        vec![
            Cell::text(workload.name()),
            Cell::Count(pages.0),
            Cell::Count(pages.1),
            Cell::Count(counted),
            Cell::Number(counted as f64 / f64::from(unique), 1),
            Cell::text(told),
            Cell::Count(zone_pages(unique).into()),
            Cell::text(format!("`frostline {command}`")),
        ]
    }
}

/// What was recorded, with [`Recorded::cells`] for rows.
pub fn table(rows: Vec<Vec<Cell>>) -> Table {
    Table {
        name: "workloads",
        title: "Workloads".to_string(),
        note: "Each is run on the engine, and its page writes are recorded and replayed; those of \
               loading do not count. With --record FILE the command writes the same trace. Memory is \
               for a tenth of the data, as in the paper; cleaning begins at a GP of 15 %. The \
               paper's zones are of 65,536 pages; writes over pages: sections 4.3 and 5.1, derived \
               from the data written and the size of the mapping tables, or of the data."
            .to_string(),
        columns: vec![
            "workload",
            "pages loaded",
            "pages in the end",
            "page writes",
            "over pages",
            "paper",
            "zone pages",
            "command",
        ],
        rows,
    }
}
