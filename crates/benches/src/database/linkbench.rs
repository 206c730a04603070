//! The LinkBench-like workload as a bench.

use frostline_db::{Db, Table};
use frostline_workload::linkbench::{LinkBench, LinkBenchOptions};
use frostline_workload::{Condition, Contents, LoadProgress, Loading};

use super::benchmark::{Benchmark, WorkloadError};

/// Bytes of pages for a node and its links: 402 were measured.
const OF_NODE: u64 = 480;

/// Bytes that a transaction adds to the pages: 23 were measured.
const GROWN: u64 = 32;

impl Benchmark for LinkBenchOptions {
    type Opened = LinkBench<Table>;

    const RATE: u64 = 1_000_000;

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

    fn open(&self, db: &Db) -> Result<LinkBench<Table>, WorkloadError> {
        LinkBench::open(db, *self)
    }

    fn load(
        &self,
        opened: &LinkBench<Table>,
        db: &Db,
        loading: Loading,
        observer: &mut dyn FnMut(LoadProgress) -> bool,
    ) -> Result<LoadProgress, WorkloadError> {
        opened.load(db, loading, observer)
    }

    fn check(&self, opened: &LinkBench<Table>, db: &Db) -> Result<Vec<Condition>, WorkloadError> {
        opened.check(db)
    }
}
