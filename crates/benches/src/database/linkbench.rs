//! The LinkBench-like workload as a bench.

use frostline_db::Db;
use frostline_workload::Contents;
use frostline_workload::linkbench::{LinkBench, LinkBenchOptions};

use super::benchmark::{Benchmark, Opened, WorkloadError};

/// Bytes of pages for a node and its links: 402 were measured.
const OF_NODE: u64 = 480;

/// Bytes that a transaction adds to the pages: 23 were measured.
const GROWN: u64 = 32;

impl Benchmark for LinkBenchOptions {
    fn rate(&self) -> u64 {
        1_000_000
    }

    fn describe(&self) -> String {
        format!("linkbench, {} nodes", self.nodes)
    }

    fn loaded_bytes(&self) -> u64 {
        self.nodes * OF_NODE + (1 << 20)
    }

    fn grown_bytes(&self) -> u64 {
        GROWN
    }

    fn counted_kind(&self) -> Option<usize> {
        None
    }

    fn contents(&self) -> Contents {
        self.contents()
    }

    fn open(&self, db: &Db) -> Result<Box<dyn Opened>, WorkloadError> {
        Ok(Box::new(LinkBench::open(db, *self)?))
    }
}
