//! The job of one engine.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::conditions::{Conditions, Placement};

/// The job of one engine, and its conditions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The engine's name.
    pub engine: String,
    /// The workload.
    pub load: Load,
    /// Operations, or transactions, that are measured.
    pub operations: u64,
    /// Operations before those.
    pub warm_up: u64,
    /// Operations between durable points.
    pub in_flight: usize,
    /// Threads.
    pub threads: usize,
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// All the engine's memory, in bytes.
    pub memory: u64,
    /// Bytes of a write-ahead log.
    pub log: u64,
    /// Past the page cache, where it can.
    pub direct: bool,
    /// Frostline's scheme.
    pub scheme: String,
    /// Frostline's garbage proportion.
    pub gp: f64,
    /// Frostline's space over data, in place of the garbage proportion.
    pub space: Option<f64>,
    /// Bytes of the units of Frostline's store.
    pub unit: u32,
    /// A directory of its own.
    pub directory: PathBuf,
}

/// A workload and its size.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Load {
    /// YCSB.
    Ycsb {
        /// Records.
        records: u64,
        /// Bytes of a value.
        value_bytes: usize,
        /// The mix's name.
        mix: String,
        /// The choice of records, if it is not the mix's own.
        distribution: Option<String>,
    },
    /// TPC-C.
    Tpcc {
        /// Warehouses.
        warehouses: u32,
    },
}

impl Job {
    /// The conditions for the engine.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            directory: self.directory.clone(),
            memory: self.memory,
            log: self.log,
            direct: self.direct,
            expected: self.expected_bytes(),
            placement: Placement {
                scheme: self.scheme.clone(),
                gp: self.gp,
                space: self.space,
                unit: self.unit,
            },
        }
    }

    /// About what keys, values and heads of records take in the end.
    fn expected_bytes(&self) -> u64 {
        /// The bytes that a warehouse takes at first, and those that a transaction adds.
        const WAREHOUSE: u64 = 90 << 20;
        const TRANSACTION: u64 = 1 << 10;
        let runs = self.operations + self.warm_up;
        match &self.load {
            Load::Ycsb { records, value_bytes, .. } => records * (*value_bytes as u64 + 16),
            Load::Tpcc { warehouses } => u64::from(*warehouses) * WAREHOUSE + runs * TRANSACTION,
        }
    }
}
