//! Runs a job on an engine, and measures it.

use std::collections::BTreeMap;
use std::time::Instant;

use frostline_db::Db;
use frostline_workload::tpcc::{Scale, Tpcc};
use frostline_workload::ycsb::{LoadOrder, NamedMix, Ycsb};
use frostline_workload::{Condition, LoadProgress, Loading, Workload, driver, tpcc, ycsb};
use serde::{Deserialize, Serialize};

use crate::counted::Counted;
#[cfg(feature = "rocksdb")]
use crate::engines::rocksdb::RocksDb;
use crate::engines::{
    Failure, Peer, bf_tree::BfTree, fjall::Fjall, lmdb::Lmdb, redb::Redb, sqlite::Sqlite,
};
use crate::job::{Job, Load};
use crate::samples::{Sampler, memory, space};

/// The measurements of one engine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// The engine's name.
    pub engine: String,
    /// The settings.
    pub settings: String,
    /// Operations, or transactions, done.
    pub operations: u64,
    /// Tries that ended with a conflict.
    pub retries: u64,
    /// Seconds that they took.
    pub seconds: f64,
    /// Seconds of processors that the process took, all its threads together.
    pub cpu_seconds: f64,
    /// Bytes that the user updated.
    pub updated_bytes: u64,
    /// Bytes that reached the device of the directory, of whomever.
    pub device_bytes: Option<u64>,
    /// Bytes that the process caused to be written.
    pub process_bytes: u64,
    /// Bytes that the engine says it wrote, by purpose.
    pub own_bytes: BTreeMap<String, u64>,
    /// The number of times that everything was made durable.
    pub durable_points: u64,
    /// Bytes of all keys and values in the end.
    pub data_bytes: u64,
    /// Bytes of all files in the end.
    pub space_bytes: u64,
    /// Most bytes of all files that were seen.
    pub most_space_bytes: u64,
    /// Most memory of the process that was seen and that no file backs.
    pub most_memory_bytes: u64,
    /// Microseconds until an operation was durable: median and 99th percentile.
    pub latency_us: [u64; 2],
    /// Seconds that loading took.
    pub load_seconds: f64,
    /// Conditions of the workload that were checked in the end; all held.
    pub conditions: usize,
}

/// Runs a job on its engine.
///
/// # Errors
/// There is no such engine, or it fails; a condition that must hold in the end does not.
pub fn run(job: &Job) -> Result<Measured, Failure> {
    match job.engine.as_str() {
        "bf-tree" if matches!(job.load, Load::Tpcc { .. }) => {
            Err("bf-tree has no transactions, which TPC-C needs: run it with ycsb".into())
        }
        "bf-tree" => on::<BfTree>(job),
        "fjall" => on::<Fjall>(job),
        "frostline" => on::<Db>(job),
        "lmdb" => on::<Lmdb>(job),
        "redb" => on::<Redb>(job),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => on::<RocksDb>(job),
        "sqlite" => on::<Sqlite>(job),
        other => Err(format!("no engine {other} was built in").into()),
    }
}

fn on<P: Peer>(job: &Job) -> Result<Measured, Failure> {
    let (peer, settings) = P::create(&job.conditions())?;
    let counted = Counted::new(&peer);
    let run = Run { job, peer: &peer, engine: &counted };
    let measured = match &job.load {
        Load::Ycsb { records, value_bytes, mix, distribution } => {
            let options = ycsb_options(*records, *value_bytes, mix, distribution.as_deref())?;
            let ycsb = Ycsb::open(&counted, options)?;
            let load = |loading| ycsb.load(&counted, loading, &mut |_| true);
            run.all(&ycsb, load, || ycsb.check(&counted))?
        }
        Load::Tpcc { warehouses } => {
            let options = tpcc::TpccOptions { scale: Scale::standard(*warehouses), steady: false };
            let tpcc = Tpcc::open(&counted, options)?;
            let load = |loading| tpcc.load(&counted, loading, &mut |_| true);
            run.all(&tpcc, load, || tpcc.check(&counted))?
        }
    };
    peer.close()?;
    Ok(Measured { settings, ..measured })
}

fn ycsb_options(
    records: u64,
    value_bytes: usize,
    mix: &str,
    other_distribution: Option<&str>,
) -> Result<ycsb::YcsbOptions, Failure> {
    let NamedMix { mix, mut distribution, .. } = mix.parse()?;
    if let Some(other) = other_distribution {
        distribution = other.parse()?;
    }
    let load_order = LoadOrder::Keys;
    Ok(ycsb::YcsbOptions {
        mix,
        distribution,
        records,
        value_bytes,
        load_order,
        ..ycsb::YcsbOptions::default()
    })
}

/// The result of a workload's function that runs on a watched `E`.
type Ran<'e, T, E> = frostline_workload::Result<T, Counted<'e, E>>;

/// One job on one engine.
struct Run<'r, 'e, P: Peer> {
    job: &'r Job,
    peer: &'r P,
    engine: &'r Counted<'e, P>,
}

impl<'e, P: Peer> Run<'_, 'e, P> {
    fn all<W: Workload<Counted<'e, P>>>(
        &self,
        workload: &W,
        load: impl FnOnce(Loading) -> Ran<'e, LoadProgress, P>,
        check: impl FnOnce() -> Ran<'e, Vec<Condition>, P>,
    ) -> Result<Measured, Failure>
    where
        P::Error: 'static,
    {
        let begin = Instant::now();
        load(Loading { threads: 1, seed: self.job.seed })?;
        let load_seconds = begin.elapsed().as_secs_f64();
        driver::run(self.engine, workload, self.options(self.job.warm_up, 1), |_| true)?;
        let measured = self.measure(workload)?;
        let conditions = check()?;
        if let Some(broken) = conditions.iter().find(|condition| !condition.ok) {
            return Err(format!("{}: {}", broken.name, broken.detail).into());
        }
        Ok(Measured { load_seconds, conditions: conditions.len(), ..measured })
    }

    fn options(&self, operations: u64, round: u64) -> driver::RunOptions {
        driver::RunOptions {
            threads: self.job.threads,
            until: driver::Until::Transactions(operations),
            in_flight: self.job.in_flight,
            seed: self.job.seed + round,
        }
    }

    fn measure<W: Workload<Counted<'e, P>>>(&self, workload: &W) -> Result<Measured, Failure> {
        let sampler = Sampler::new(&self.job.directory)?;
        let options = self.options(self.job.operations, 2);
        let (mut most_memory, mut most_space) = (0, 0);
        let before = self.counts()?;
        let sample = sampler.take()?;
        let report = driver::run(self.engine, workload, options, |_| {
            most_memory = most_memory.max(memory().unwrap_or(0));
            most_space = most_space.max(space(&self.job.directory).unwrap_or(0));
            true
        })?;
        let taken = sampler.take()?.since(&sample);
        let after = self.counts()?;
        let space_bytes = space(&self.job.directory)?;
        let latency = report.latency();
        Ok(Measured {
            engine: self.job.engine.clone(),
            operations: report.done(),
            retries: report.kinds.iter().map(|kind| kind.retries).sum(),
            seconds: report.elapsed.as_secs_f64(),
            cpu_seconds: taken.cpu.as_secs_f64(),
            updated_bytes: after.updated - before.updated,
            device_bytes: taken.device_bytes,
            process_bytes: taken.process_bytes,
            own_bytes: after.own_since(&before),
            durable_points: after.points - before.points,
            data_bytes: self.engine.data_bytes()?,
            space_bytes,
            most_space_bytes: most_space.max(space_bytes),
            most_memory_bytes: most_memory.max(memory()?),
            latency_us: [0.5, 0.99].map(|part| latency.value_at_quantile(part) / 1000),
            ..Measured::default()
        })
    }

    fn counts(&self) -> Result<Counts, Failure> {
        Ok(Counts {
            updated: self.engine.updated_bytes(),
            points: self.peer.durable_points()?,
            own: self.peer.own_counters()?,
        })
    }
}

/// The counts of engine and user up to a moment.
struct Counts {
    updated: u64,
    points: u64,
    own: Vec<(&'static str, u64)>,
}

impl Counts {
    /// The bytes that the engine says it wrote after an earlier moment.
    fn own_since(&self, earlier: &Counts) -> BTreeMap<String, u64> {
        let pairs = self.own.iter().zip(&earlier.own);
        pairs.map(|((name, now), (_, then))| (name.to_string(), now - then)).collect()
    }
}
