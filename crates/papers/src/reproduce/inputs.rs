//! The workloads: they are run on the database, and their page writes are recorded.

use std::path::Path;

use frostline_benches::{DatabaseBench, DatabaseReport, Monitor, Speed, YcsbBench};
use frostline_store::Cleaning;
use frostline_trace::{LoadOptions, Writes, load};
use frostline_workload::ycsb::NamedMix;
use frostline_workload::{linkbench, tpcc, ycsb};

use super::scale::{BUFFERED, LinkBenchSize, Scale, TpccSize, VALUE_BYTES, YcsbSize};
use crate::{Error, Result};

/// Operations per record: with this number 100W writes its pages about fifty times, and 50W, where
/// half of the operations are updates, 36 times (section 5.1).
const OPERATIONS_100W: f64 = 1.45;
const OPERATIONS_50W: f64 = 1.95;

/// The workloads of papers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Workload {
    /// TPC-C with memory for a tenth of its data.
    Tpcc,
    /// YCSB with updates only.
    Ycsb100w,
    /// YCSB with as many reads as updates.
    Ycsb50w,
    /// The LinkBench-like workload: a graph of nodes and links that grows.
    LinkBench,
}

impl Workload {
    /// All workloads.
    pub(super) const ALL: [Workload; 4] =
        [Workload::Tpcc, Workload::Ycsb100w, Workload::Ycsb50w, Workload::LinkBench];

    /// Its name in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Workload::Tpcc => "TPC-C",
            Workload::Ycsb100w => "YCSB-100W",
            Workload::Ycsb50w => "YCSB-50W",
            Workload::LinkBench => "LinkBench",
        }
    }
}

/// A workload at a scale, and the bench that runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The workload.
    pub workload: InputWorkload,
    /// The bench.
    pub bench: DatabaseBench,
}

/// The workload of an [`Input`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum InputWorkload {
    /// TPC-C.
    Tpcc(tpcc::TpccOptions),
    /// YCSB.
    Ycsb(YcsbBench),
    /// The LinkBench-like workload.
    LinkBench(linkbench::LinkBenchOptions),
}

impl Input {
    /// A workload at a scale, with databases in memory.
    fn new(workload: Workload, scale: Scale, seed: u64) -> Input {
        let (workload, transactions, buffer_bytes) = match workload {
            Workload::Tpcc => {
                let TpccSize { warehouses, items, customers, transactions, buffer } =
                    scale.tpcc(BUFFERED);
                let scale = tpcc::Scale { warehouses, items, customers };
                let options = tpcc::TpccOptions { scale, steady: false };
                (InputWorkload::Tpcc(options), transactions, buffer)
            }
            Workload::Ycsb100w => ycsb(NamedMix::UPDATES, scale.ycsb(OPERATIONS_100W)),
            Workload::Ycsb50w => ycsb(NamedMix::HALF_UPDATES, scale.ycsb(OPERATIONS_50W)),
            Workload::LinkBench => {
                let LinkBenchSize { nodes, transactions, buffer } = scale.linkbench();
                (
                    InputWorkload::LinkBench(linkbench::LinkBenchOptions { nodes }),
                    transactions,
                    buffer,
                )
            }
        };
        let bench = DatabaseBench {
            transactions: Some(transactions),
            buffer_bytes,
            seed,
            check: false,
            // The papers' systems write whole pages, and copy all valid ones.
            unit: 4096,
            rewriting: false,
            ..DatabaseBench::default()
        };
        Input { workload, bench }
    }

    /// The input whose page writes are recorded and replayed; it writes the same pages each time.
    pub(super) fn recorded(workload: Workload, scale: Scale, seed: u64) -> Input {
        let mut input = Input::new(workload, scale, seed);
        // The scheme does not change which pages are written.
        input.bench.schemes = vec!["nosep".to_string()];
        (input.bench.cleaning, input.bench.in_order) = (Cleaning::Inline, true);
        input
    }

    /// The input that runs with each of these schemes, on a device with limited bandwidth.
    pub(super) fn timed(
        workload: Workload,
        scale: Scale,
        seed: u64,
        bandwidth: u64,
        schemes: &[&str],
    ) -> Input {
        let mut input = Input::new(workload, scale, seed);
        // A single thread would wait for its reads most of the time. Inline cleaning keeps up with
        // the writes.
        (input.bench.threads, input.bench.cleaning) = (4, Cleaning::Inline);
        input.bench.speed = Speed { drive: None, bandwidth: Some(bandwidth) };
        input.bench.schemes = schemes.iter().map(ToString::to_string).collect();
        input
    }

    /// Runs the bench.
    pub(super) fn run(&self, monitor: &dyn Monitor) -> Result<DatabaseReport> {
        let report = match &self.workload {
            InputWorkload::Tpcc(options) => self.bench.run(options, monitor),
            InputWorkload::Ycsb(bench) => self.bench.run(bench, monitor),
            InputWorkload::LinkBench(options) => self.bench.run(options, monitor),
        };
        Ok(report?)
    }

    /// The arguments of the `frostline` command for the same run.
    pub fn command(&self) -> String {
        let DatabaseBench { device, transactions, buffer_bytes, seed, speed, .. } = &self.bench;
        let workload = match &self.workload {
            InputWorkload::Tpcc(tpcc::TpccOptions { scale, .. }) => {
                let tpcc::Scale { warehouses, items, customers } = scale;
                format!("tpcc --warehouses {warehouses} --items {items} --customers {customers}")
            }
            InputWorkload::Ycsb(YcsbBench { name, options }) => {
                let ycsb::YcsbOptions { records, value_bytes, .. } = options;
                format!("ycsb --workload {name} --records {records} --value-bytes {value_bytes}")
            }
            InputWorkload::LinkBench(linkbench::LinkBenchOptions { nodes }) => {
                format!("linkbench --nodes {nodes}")
            }
        };
        let transactions = transactions.unwrap_or_default();
        let mut text = format!(
            "bench {workload} --transactions {transactions} --buffer {buffer_bytes} --seed {seed} \
             --device {} --no-check",
            device.uri
        );
        if let Some(bandwidth) = speed.bandwidth {
            text +=
                &format!(" --bandwidth {} --threads {}", megabytes(bandwidth), self.bench.threads);
        }
        text += " --unit 4096 --cleaning inline --no-rewriting";
        text += if self.bench.in_order { " --in-order" } else { "" };
        text + " --scheme " + &self.bench.schemes.join(",")
    }
}

/// A bandwidth in the form of the command line.
pub(super) fn megabytes(bytes: u64) -> String {
    format!("{}MB", bytes / 1_000_000)
}

fn ycsb(mix: NamedMix, size: YcsbSize) -> (InputWorkload, u64, u64) {
    let YcsbSize { records, operations, buffer } = size;
    let bench = YcsbBench::new(mix);
    let options = ycsb::YcsbOptions { records, value_bytes: VALUE_BYTES, ..bench.options };
    (InputWorkload::Ycsb(YcsbBench { options, ..bench }), operations, buffer)
}

/// The recorded page writes of a workload.
pub(super) struct Recorded {
    /// The workload.
    pub(super) workload: Workload,
    /// The command that makes the same recording.
    pub(super) command: String,
    /// The page writes, with hotness records.
    pub(super) writes: Writes,
    /// Page writes of loading; only the later ones are counted.
    pub(super) loading: u64,
    /// Pages after loading, and at the end.
    pub(super) pages: (u64, u64),
}

/// Runs a workload, and returns its page writes, which are the same each time.
pub(super) fn record(
    workload: Workload,
    scale: Scale,
    seed: u64,
    directory: &Path,
    monitor: &dyn Monitor,
) -> Result<Recorded> {
    let mut input = Input::recorded(workload, scale, seed);
    let command = input.command();
    let trace = directory.join("trace.parquet");
    input.bench.record = Some(trace.clone());
    let report = input.run(monitor)?;
    let ([run], false) = (&report.runs[..], report.interrupted) else {
        return Err(Error::Stopped { what: None });
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
