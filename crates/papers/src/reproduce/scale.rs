//! Sizes of the paper's workloads: the proportions of its setup (section 5.1), with less data.

/// Warehouses at scale 1; the paper has 100.
const WAREHOUSES: f64 = 4.0;

/// Transactions per warehouse: a compromise. They double a warehouse's pages after loading, and
/// write each page about 17 times. By the paper's mapping tables of 28 MiB (section 4.3) and the
/// 406 GiB written, pages become almost three times as many, and are written 14 times.
const TRANSACTIONS: f64 = 200_000.0;

/// Bytes of a warehouse's pages after loading.
const WAREHOUSE_BYTES: f64 = 85e6;

/// Records at scale 1. The paper has 336 million of 32 bytes on 10 GiB, that is a key of 8 and a
/// value of 24 bytes.
const RECORDS: f64 = 6_800_000.0;
/// Bytes of a record's value.
pub(super) const VALUE_BYTES: usize = 24;
/// Bytes of pages per record.
const RECORD_BYTES: f64 = 62.0;

/// Nodes of LinkBench at scale 1; below, bytes of pages per node.
const NODES: f64 = 200_000.0;
const NODE_BYTES: f64 = 402.0;
/// Transactions per node: they make the data about twice as large.
const OF_NODE: f64 = 20.0;

/// The share of the data that memory holds: 1 GiB of about 10.
pub(super) const BUFFERED: f64 = 0.1;

/// The least memory with which a database can work.
const LEAST_BUFFER: u64 = 1 << 20;

/// Zones that the data fill: 28 GiB in zones of 256 MiB.
const ZONES: u32 = 112;

/// The fewest pages in a zone, so that a zone of a quarter of them is valid, too.
const LEAST_ZONE: u32 = 64;

/// The size of everything; 1 by default.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(pub(super) f64);

/// A TPC-C database and its run.
pub(super) struct TpccSize {
    pub(super) warehouses: u32,
    pub(super) items: u32,
    pub(super) customers: u16,
    pub(super) transactions: u64,
    pub(super) buffer: u64,
}

/// A YCSB database and its run.
pub(super) struct YcsbSize {
    pub(super) records: u64,
    pub(super) operations: u64,
    pub(super) buffer: u64,
}

/// A LinkBench database and its run.
pub(super) struct LinkBenchSize {
    pub(super) nodes: u64,
    pub(super) transactions: u64,
    pub(super) buffer: u64,
}

impl Scale {
    /// The size of TPC-C. Below one warehouse, the warehouse has fewer items and customers.
    pub(super) fn tpcc(self, buffered: f64) -> TpccSize {
        let all = WAREHOUSES * self.0;
        let of_one = all.min(1.0);
        TpccSize {
            warehouses: all.round().max(1.0) as u32,
            items: (100_000.0 * of_one) as u32,
            customers: (3_000.0 * of_one) as u16,
            transactions: (TRANSACTIONS * all) as u64,
            buffer: buffer(WAREHOUSE_BYTES * all * buffered),
        }
    }

    /// The size of LinkBench, whose graph grows.
    pub(super) fn linkbench(self) -> LinkBenchSize {
        let nodes = NODES * self.0;
        LinkBenchSize {
            nodes: nodes as u64,
            transactions: (nodes * OF_NODE) as u64,
            buffer: buffer(nodes * NODE_BYTES * BUFFERED),
        }
    }

    /// The size of YCSB, with `operations` operations per record.
    pub(super) fn ycsb(self, operations: f64) -> YcsbSize {
        let records = RECORDS * self.0;
        YcsbSize {
            records: records as u64,
            operations: (records * operations) as u64,
            buffer: buffer(records * RECORD_BYTES * BUFFERED),
        }
    }
}

fn buffer(bytes: f64) -> u64 {
    (bytes as u64).max(LEAST_BUFFER).next_multiple_of(4096)
}

/// Pages in a zone, a power of two, for a volume with `pages` pages.
pub(super) fn zone_pages(pages: u32) -> u32 {
    let share = (pages / ZONES).max(LEAST_ZONE);
    1 << share.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_scale_is_one_small_warehouse_and_a_large_one_many() {
        let small = Scale(0.01).tpcc(BUFFERED);
        assert_eq!((small.warehouses, small.items, small.customers), (1, 4000, 120));
        let large = Scale(10.0).tpcc(BUFFERED);
        assert_eq!((large.warehouses, large.items, large.customers), (40, 100_000, 3000));
        assert_eq!(large.transactions, 1000 * small.transactions);
    }

    #[test]
    fn zones_are_about_a_hundredth_of_the_volume() {
        // The paper's volume: 28 GiB in pages of 4 KiB.
        assert_eq!(zone_pages(28 << 18), (256 << 20) / 4096);
        assert_eq!(zone_pages(300), 64);
    }
}
