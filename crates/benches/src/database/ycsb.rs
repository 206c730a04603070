//! YCSB as a bench.

use frostline_db::Db;
use frostline_workload::Contents;
use frostline_workload::ycsb::{LoadOrder, NamedMix, Ycsb, YcsbOptions};

use super::benchmark::{Benchmark, Opened, WorkloadError};

/// Bytes of a record in addition to its value; below, bytes of a page in addition to its records.
const BESIDE: u64 = 24;
const OF_PAGE: u64 = 200;

/// The longest value that is kept whole, in bytes; below, the size of a longer value's pieces.
const LONGEST: u64 = 892;
const PIECE: u64 = 1240;

/// Bytes of a page that holds only one piece, with its part of the inner pages.
const OF_PIECE: u64 = 4300;

/// How full pages are, in percent, if keys come in random order.
const FULL: u64 = 62;

/// YCSB with a mix of operations that has a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YcsbBench {
    /// The name of the mix, in reports.
    pub name: &'static str,
    /// All options.
    pub options: YcsbOptions,
}

impl YcsbBench {
    /// The mix with its distribution; other options have their defaults.
    pub fn new(mix: NamedMix) -> YcsbBench {
        let NamedMix { name, mix, distribution } = mix;
        YcsbBench { name, options: YcsbOptions { mix, distribution, ..YcsbOptions::default() } }
    }

    /// Bytes of pages for a record.
    fn record_bytes(&self) -> u64 {
        let of = |bytes: u64| 4096 * 100 / ((4096 - OF_PAGE) / (bytes + BESIDE) * FULL);
        match self.options.value_bytes as u64 {
            bytes if bytes <= LONGEST => of(bytes),
            bytes => of(BESIDE) + bytes.div_ceil(PIECE) * OF_PIECE,
        }
    }
}

impl Benchmark for YcsbBench {
    fn rate(&self) -> u64 {
        1_000_000
    }

    fn describe(&self) -> String {
        let YcsbOptions { distribution, records, value_bytes, .. } = self.options;
        let text =
            format!("ycsb {}, {distribution}, {records} records of {value_bytes} B", self.name);
        let text = match self.options.operations_per_transaction {
            1 => text,
            operations => format!("{text}, {operations} operations a transaction"),
        };
        let text = match self.options.load_order {
            LoadOrder::Hashed => text,
            LoadOrder::Keys => format!("{text}, loaded by key"),
        };
        match self.options.drawn_together {
            1 => text,
            together => format!("{text}, what {together} transactions need read together"),
        }
    }

    fn loaded_bytes(&self) -> u64 {
        self.options.records * self.record_bytes() + (1 << 20)
    }

    fn grown_bytes(&self) -> u64 {
        let YcsbOptions { mix, operations_per_transaction, .. } = self.options;
        let inserts = u64::from(mix.insert) * u64::from(operations_per_transaction);
        (inserts * self.record_bytes()).div_ceil(100)
    }

    fn counted_kind(&self) -> Option<usize> {
        None
    }

    fn contents(&self) -> Contents {
        self.options.contents()
    }

    fn open(&self, db: &Db) -> Result<Box<dyn Opened>, WorkloadError> {
        Ok(Box::new(Ycsb::open(db, self.options)?))
    }
}
