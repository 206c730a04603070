//! TPC-C as a bench.

use frostline_db::Db;
use frostline_workload::Contents;
use frostline_workload::tpcc::{NEW_ORDER, Scale, Tpcc, TpccOptions};

use super::benchmark::{Benchmark, Opened, WorkloadError};

/// Bytes of a warehouse's pages for the items; below, those for the customers of all its districts.
/// 41 MiB and 44 MiB were measured.
const OF_ITEMS: u64 = 42 << 20;
const OF_CUSTOMERS: u64 = 46 << 20;

/// Bytes that a transaction adds to the pages: 460 to 515 were measured.
const GROWN: u64 = 544;

impl Benchmark for TpccOptions {
    fn rate(&self) -> u64 {
        50_000
    }

    fn describe(&self) -> String {
        let Scale { warehouses, items, customers } = self.scale;
        let several = if warehouses == 1 { "" } else { "s" };
        let mut text = format!("tpcc, {warehouses} warehouse{several}");
        if self.scale != Scale::standard(warehouses) {
            text += &format!(" of {items} items and {customers} customers a district");
        }
        text + if self.steady { ", steady" } else { "" }
    }

    fn loaded_bytes(&self) -> u64 {
        let Scale { warehouses, items, customers } = self.scale;
        let items = OF_ITEMS * u64::from(items) / 100_000;
        let customers = OF_CUSTOMERS * u64::from(customers) / 3_000;
        // In the tables of a small scale, pages are half empty.
        u64::from(warehouses) * (items + customers) + (1 << 20)
    }

    fn grown_bytes(&self) -> u64 {
        if self.steady { 0 } else { GROWN }
    }

    fn counted_kind(&self) -> Option<usize> {
        Some(NEW_ORDER)
    }

    fn contents(&self) -> Contents {
        self.contents()
    }

    fn open(&self, db: &Db) -> Result<Box<dyn Opened>, WorkloadError> {
        Ok(Box::new(Tpcc::open(db, *self)?))
    }
}
