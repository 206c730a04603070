//! Runs a job on an engine, and measures it.

use std::collections::BTreeMap;
use std::time::Instant;

use frostline_db::Db;
use frostline_workload::tpcc::{Scale, Tpcc, TpccOptions};
use frostline_workload::ycsb::{LoadOrder, NamedMix, Ycsb, YcsbOptions};
use frostline_workload::{Condition, LoadProgress, Loading, Workload, driver};
use serde::{Deserialize, Serialize};

use crate::counted::Counted;
#[cfg(feature = "rocksdb")]
use crate::engines::rocksdb::RocksDb;
use crate::engines::{
    Failure, Peer, bf_tree::BfTree, fjall::Fjall, lmdb::Lmdb, redb::Redb, sqlite::Sqlite,
};
use crate::job::{Job, Load};
use crate::samples::{Sampler, cpu, memory, space};

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
    /// Microseconds until an operation was durable: median, 99th percentile and 99.9th.
    pub latency_us: [u64; 3],
    /// Seconds that loading took.
    pub load_seconds: f64,
    /// Conditions of the workload that were checked in the end; all held.
    pub conditions: usize,
    /// How the database was opened after its process was killed in the midst of more operations.
    pub opened: Option<Opened>,
}

/// An opening of a database.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// Seconds until the workload found its tables.
    pub seconds: f64,
    /// Seconds of processors that the process took for it.
    pub cpu_seconds: f64,
}

/// Runs a job on its engine, and closes it.
///
/// # Errors
/// There is no such engine, or it fails; a condition that must hold in the end does not.
pub fn run(job: &Job) -> Result<Measured, Failure> {
    on_engine(job, Measure { observer: None })
}

/// Runs a job on its engine, and a tenth of its operations more. Then `observer` gets the results,
/// and operations run on until the process is killed.
///
/// # Errors
/// As [`run`].
pub fn run_until_killed(job: &Job, mut observer: impl FnMut(&Measured)) -> Result<(), Failure> {
    on_engine(job, Measure { observer: Some(&mut observer) }).map(|_| ())
}

/// Opens the database that a process left when it was killed, and checks it then.
///
/// # Errors
/// As [`run`].
pub fn open(job: &Job) -> Result<Opened, Failure> {
    on_engine(job, Open)
}

/// A task for an engine of any type.
trait Task {
    type Done;

    fn on<P: Peer>(self, job: &Job) -> Result<Self::Done, Failure>;
}

fn on_engine<T: Task>(job: &Job, task: T) -> Result<T::Done, Failure> {
    match job.engine.as_str() {
        "bf-tree" if matches!(job.load, Load::Tpcc { .. }) => {
            Err("bf-tree has no transactions, which TPC-C needs: run it with ycsb".into())
        }
        "bf-tree" => task.on::<BfTree>(job),
        "fjall" => task.on::<Fjall>(job),
        "frostline" => task.on::<Db>(job),
        "lmdb" => task.on::<Lmdb>(job),
        "redb" => task.on::<Redb>(job),
        #[cfg(feature = "rocksdb")]
        "rocksdb" => task.on::<RocksDb>(job),
        "sqlite" => task.on::<Sqlite>(job),
        other => Err(format!("no engine {other} was built in").into()),
    }
}

/// Measures a run. If there is an observer, operations run on once it has the results.
struct Measure<'m> {
    observer: Option<&'m mut dyn FnMut(&Measured)>,
}

impl Task for Measure<'_> {
    type Done = Measured;

    fn on<P: Peer>(self, job: &Job) -> Result<Measured, Failure> {
        let (peer, settings) = P::open(&job.conditions())?;
        let counted = Counted::new(&peer);
        let run = Run { job, peer: &peer, engine: &counted, settings };
        let measured = match options(&job.load)? {
            Options::Ycsb(options) => {
                let ycsb = Ycsb::open(&counted, options)?;
                let load = |loading| ycsb.load(&counted, loading, &mut |_| true);
                run.all(&ycsb, load, || ycsb.check(&counted), self.observer)?
            }
            Options::Tpcc(options) => {
                let tpcc = Tpcc::open(&counted, options)?;
                let load = |loading| tpcc.load(&counted, loading, &mut |_| true);
                run.all(&tpcc, load, || tpcc.check(&counted), self.observer)?
            }
        };
        peer.close()?;
        Ok(measured)
    }
}

/// Measures how a database is opened, and checks it.
struct Open;

impl Task for Open {
    type Done = Opened;

    fn on<P: Peer>(self, job: &Job) -> Result<Opened, Failure> {
        let (begin, cpu) = (Instant::now(), cpu());
        let (peer, _) = P::open(&job.conditions())?;
        let opened = || Opened {
            seconds: begin.elapsed().as_secs_f64(),
            cpu_seconds: self::cpu().saturating_sub(cpu).as_secs_f64(),
        };
        let (opened, conditions) = match options(&job.load)? {
            Options::Ycsb(options) => {
                let ycsb = Ycsb::open(&peer, options)?;
                (opened(), ycsb.check(&peer)?)
            }
            Options::Tpcc(options) => {
                let tpcc = Tpcc::open(&peer, options)?;
                (opened(), tpcc.check(&peer)?)
            }
        };
        all_hold(&conditions)?;
        peer.close()?;
        Ok(opened)
    }
}

fn all_hold(conditions: &[Condition]) -> Result<(), Failure> {
    match conditions.iter().find(|condition| !condition.ok) {
        Some(broken) => Err(format!("{}: {}", broken.name, broken.detail).into()),
        None => Ok(()),
    }
}

/// The options of a workload.
enum Options {
    Ycsb(YcsbOptions),
    Tpcc(TpccOptions),
}

fn options(load: &Load) -> Result<Options, Failure> {
    match load {
        Load::Ycsb { records, value_bytes, mix, distribution: other } => {
            let NamedMix { mix, mut distribution, .. } = mix.parse()?;
            if let Some(other) = other {
                distribution = other.parse()?;
            }
            Ok(Options::Ycsb(YcsbOptions {
                mix,
                distribution,
                records: *records,
                value_bytes: *value_bytes,
                load_order: LoadOrder::Keys,
                ..YcsbOptions::default()
            }))
        }
        Load::Tpcc { warehouses } => {
            Ok(Options::Tpcc(TpccOptions { scale: Scale::standard(*warehouses), steady: false }))
        }
    }
}

/// The result of a workload's function that runs on a watched `E`.
type Ran<'e, T, E> = frostline_workload::Result<T, Counted<'e, E>>;

/// One job on one engine.
struct Run<'r, 'e, P: Peer> {
    job: &'r Job,
    peer: &'r P,
    engine: &'r Counted<'e, P>,
    settings: String,
}

impl<'e, P: Peer> Run<'_, 'e, P> {
    fn all<W: Workload<Counted<'e, P>>>(
        &self,
        workload: &W,
        load: impl FnOnce(Loading) -> Ran<'e, LoadProgress, P>,
        check: impl FnOnce() -> Ran<'e, Vec<Condition>, P>,
        observer: Option<&mut dyn FnMut(&Measured)>,
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
        all_hold(&conditions)?;
        let settings = self.settings.clone();
        let measured =
            Measured { settings, load_seconds, conditions: conditions.len(), ..measured };
        if let Some(observe) = observer {
            let more = self.options(self.job.operations / 10, 3);
            driver::run(self.engine, workload, more, |_| true)?;
            observe(&measured);
            driver::run(self.engine, workload, self.options(u64::MAX, 4), |_| true)?;
        }
        Ok(measured)
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
            latency_us: [0.5, 0.99, 0.999].map(|part| latency.value_at_quantile(part) / 1000),
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
